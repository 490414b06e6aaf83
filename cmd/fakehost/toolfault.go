package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// toolFault is what a tool does wrong: in every call, in those of one command or in
// those about one card.
type toolFault struct {
	command, card string
	kind          string
	wait          time.Duration // of those that take one
}

type toolFaults []toolFault

// The faults that take a time: one alone, one beside another fault.
const (
	faultSlow  = "slow"
	faultDelay = "delay"
	usualSlow  = 8 * time.Second
)

// parseFaults reads one fault a line: "hang", "ecc hang", "card 3 slow 2s", "delay 500ms".
func (t *smi) parseFaults(text string) (toolFaults, error) {
	var all toolFaults
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		f, err := t.parseFault(words)
		if err != nil {
			return nil, fmt.Errorf("reading the fault %q: %w", strings.TrimSpace(line), err)
		}
		all = append(all, f)
	}
	return all, nil
}

func (t *smi) parseFault(words []string) (toolFault, error) {
	var f toolFault
	switch {
	case words[0] == "card" && len(words) > 1:
		if !t.asksCards {
			return f, fmt.Errorf("no call of %s is about one card", t.name)
		}
		f.card, words = words[1], words[2:]
	case slices.Contains(t.commands, words[0]):
		f.command, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return f, fmt.Errorf("no fault named")
	}
	f.kind, words = words[0], words[1:]
	if !slices.Contains(toolFaultKinds(), f.kind) {
		return f, fmt.Errorf("unknown fault %q, and no command of that name; there are %s, and the commands %s",
			f.kind, strings.Join(toolFaultKinds(), ", "), strings.Join(t.commands, ", "))
	}
	if f.kind == faultCardLost && f.command+f.card != "" {
		return f, fmt.Errorf("%s is of the whole tool", f.kind)
	}
	return f, f.takeTime(words)
}

// takeTime reads what stands behind a fault: a time, where it takes one.
func (f *toolFault) takeTime(words []string) (err error) {
	switch {
	case f.kind != faultSlow && f.kind != faultDelay:
		if len(words) > 0 {
			return fmt.Errorf("%s takes nothing more", f.kind)
		}
		return nil
	case len(words) == 0 && f.kind == faultSlow:
		f.wait = usualSlow
		return nil
	case len(words) == 1:
		f.wait, err = time.ParseDuration(words[0])
	}
	if len(words) != 1 || err != nil || f.wait < 0 {
		return fmt.Errorf("%s takes a time such as 500ms", f.kind)
	}
	return nil
}

// of is how long a call waits, and what it does wrong then.
func (all toolFaults) of(command, card string) (wait time.Duration, kind string) {
	for _, f := range all {
		if f.command != "" && f.command != command || f.card != "" && f.card != card {
			continue
		}
		wait += f.wait
		if f.kind != faultSlow && f.kind != faultDelay {
			kind = f.kind
		}
	}
	return wait, kind
}

// losesCard reports whether card_lost is among a tool's faults.
func losesCard(text string) bool { return slices.Contains(strings.Fields(text), faultCardLost) }
