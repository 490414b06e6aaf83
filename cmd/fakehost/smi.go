package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// smi is one of the vendor tools.
type smi struct {
	name string
	// commands are what it prints, by its arguments.
	commands func(st state) (map[string]func(io.Writer) error, error)
	// noDevice and driver are error texts in the tool's own words.
	noDevice, driver string
	unknown          string // the answer to arguments it does not know
}

// tool finds a tool by name, nil when there is none of that name.
func tool(name string) *smi {
	switch name {
	case "mx-smi", "ht-smi":
		return &smi{
			name:     name,
			commands: func(st state) (map[string]func(io.Writer) error, error) { return metaXCommands(st, name) },
			noDevice: name + "  version: 2.2.9\n\nNo available devices were discovered\n",
			driver:   name + "  version: 2.2.9\n\nDriver is not loaded\n",
			unknown:  "PARSE ERROR: Argument: %s\n             Couldn't find match for argument\n",
		}
	case "npu-smi":
		return &smi{
			name:     name,
			commands: ascendCommands,
			noDevice: "There is no NPU card on this server.\n",
			driver:   "dcmi module initialize failed. ret is -8005\n",
			unknown:  "Error parameter of %s\nUsage: npu-smi info <watch|-h|-m|-l|-t type> [Options...]\n",
		}
	}
	return nil
}

// call prints what the tool prints, and misbehaves as the state folder says.
func (t *smi) call(st state, args []string, stdout io.Writer) int {
	var text bytes.Buffer
	commands, err := t.commands(st)
	command, known := commands[strings.Join(args, " ")]
	if known {
		err = command(&text)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stdout, "%s: %v\n", t.name, err)
		return 3
	case !known:
		fmt.Fprintf(stdout, t.unknown, strings.Join(args, " "))
		return 1
	}
	return misbehave(t, st.setting(t.name+".fault"), text.Bytes(), stdout)
}

// layout reads a tool's chosen layout, or its usual one.
func layout(st state, tool, usual string) string { return cmp.Or(st.setting(tool+".layout"), usual) }

func metaXCommands(st state, name string) (map[string]func(io.Writer) error, error) {
	usual := "2.2.9"
	if name == "ht-smi" {
		usual = "ht-2.2.9"
	}
	l, err := fakesmi.MetaXLayoutNamed(layout(st, name, usual))
	if err != nil {
		return nil, err
	}
	machine, err := st.machine(name, func(load fakesmi.Load, faults fakesmi.Faults) model.Report {
		return fakesmi.MetaXMachine(l.Version, load, faults...)
	})
	if err != nil {
		return nil, err
	}
	return map[string]func(io.Writer) error{
		"": func(w io.Writer) error {
			return l.Print(w, withoutLost(st, name, l.Reduce(fakesmi.Available(machine))), time.Now())
		},
		"-L":      func(w io.Writer) error { return l.PrintList(w, machine) },
		"topo -m": func(w io.Writer) error { return l.PrintTopology(w, machine, nil, time.Now()) },
		"topo -n": func(w io.Writer) error { return l.PrintTopology(w, machine, []string{"mlx5_0", "mlx5_1"}, time.Now()) },
	}, nil
}

func ascendCommands(st state) (map[string]func(io.Writer) error, error) {
	l, err := fakesmi.AscendLayoutNamed(layout(st, "npu-smi", "910b-23.0"))
	if err != nil {
		return nil, err
	}
	whole, err := st.machine("npu-smi", func(load fakesmi.Load, faults fakesmi.Faults) model.Report { return ascendMachine(l, load, faults) })
	if err != nil {
		return nil, err
	}
	machine := l.Reduce(whole)
	return map[string]func(io.Writer) error{
		"info":         func(w io.Writer) error { return l.Print(w, withoutLost(st, "npu-smi", machine)) },
		"info -m":      func(w io.Writer) error { return l.PrintMapping(w, machine) },
		"info -l":      func(w io.Writer) error { return l.PrintList(w, machine) },
		"info -t topo": func(w io.Writer) error { return l.PrintTopology(w, whole) },
	}, nil
}

// ascendMachine is a server with the chips that a layout is printed for.
func ascendMachine(l fakesmi.AscendLayout, load fakesmi.Load, faults fakesmi.Faults) model.Report {
	switch {
	case strings.HasPrefix(l.Name, "310"):
		return fakesmi.Ascend310PMachine(l.Version, load, faults...)
	case strings.HasPrefix(l.Name, "a3"):
		return fakesmi.AscendMachine(l.Version, 2, load, faults...)
	}
	return fakesmi.AscendMachine(l.Version, 1, load, faults...)
}

// withoutLost takes the last card off the table while the fault card_lost holds:
// the inventory commands still know it.
func withoutLost(st state, tool string, r model.Report) model.Report {
	if st.setting(tool+".fault") != faultCardLost {
		return r
	}
	return fakesmi.WithoutLast(r)
}
