package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
	"github.com/accelerator-exporter/accelerator_exporter/bench/side"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// bound are the sides of a comparison of bindings: the server's command under each that
// the exporter's page asks for. shown is the command as the log may tell it.
func (s *compareFlags) bound(ctx context.Context, stderr io.Writer) (sides []side.Side, shown string, err error) {
	command, err := side.ParseTemplate(s.bindings)
	if err != nil {
		return nil, "", usage(fmt.Errorf("--bindings: %w", err))
	}
	machine, err := s.machine.read(ctx)
	if err != nil {
		return nil, "", err
	}
	bindings, err := machine.Sides()
	if err != nil {
		return nil, "", fmt.Errorf("--bindings: %w", err)
	}
	for _, b := range bindings {
		sides = append(sides, side.Side{Name: b.Name, Argv: command.With(b.Prefix), Binding: b.Meaning, Recommended: b.Recommended})
	}
	if sides[1].Argv[0] == "numactl" { // else it is looked for elsewhere, as in a container
		if _, err := process.LookPath("numactl"); err != nil {
			return nil, "", fmt.Errorf("--bindings: numactl is needed and is not on the PATH: install it (yum install numactl, apt install numactl): %w", err)
		}
	}
	var names []string
	for i, one := range sides {
		name := one.Name
		if bindings[i].Recommended {
			name += " (the node of the cards)"
		}
		names = append(names, name)
	}
	fmt.Fprintf(stderr, "accelbench: %d bindings, %d starts of the server: %s\n", len(sides), len(sides)*s.repeat, strings.Join(names, ", "))
	tell(stderr, placement.Judge(machine).Remarks) // no progress, which --quiet is of: it may say that a side will be killed
	shown = side.Side{Argv: command.With([]string{"{}"})}.String()
	return sides, strings.TrimPrefix(shown, "="), nil
}
