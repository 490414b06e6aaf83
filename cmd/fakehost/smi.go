package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// smi is one of the vendor tools.
type smi struct {
	name   string
	answer func(st state, args []string) (text []byte, ok bool, err error)
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
			answer:   func(st state, args []string) ([]byte, bool, error) { return answerMetaX(st, name, args) },
			noDevice: name + "  version: 2.2.9\n\nNo available devices were discovered\n",
			driver:   name + "  version: 2.2.9\n\nDriver is not loaded\n",
			unknown:  "PARSE ERROR: Argument: %s\n             Couldn't find match for argument\n",
		}
	case "npu-smi":
		return &smi{
			name:     name,
			answer:   answerAscend,
			noDevice: "There is no NPU card on this server.\n",
			driver:   "dcmi module initialize failed. ret is -8005\n",
			unknown:  "Error parameter of %s\nUsage: npu-smi info <watch|-h|-m|-l|-t type> [Options...]\n",
		}
	}
	return nil
}

// call prints what the tool prints, and misbehaves as the state folder says.
func (t *smi) call(st state, args []string, stdout io.Writer) int {
	text, known, err := t.answer(st, args)
	if err != nil {
		fmt.Fprintf(stdout, "%s: %v\n", t.name, err)
		return 3
	}
	if !known {
		fmt.Fprintf(stdout, t.unknown, strings.Join(args, " "))
		return 1
	}
	return misbehave(t, st.setting(t.name+".fault"), text, stdout)
}

// layout reads a tool's chosen layout, or its usual one.
func layout(st state, tool, usual string) string {
	if name := st.setting(tool + ".layout"); name != "" {
		return name
	}
	return usual
}

func answerMetaX(st state, name string, args []string) ([]byte, bool, error) {
	usual := "2.2.9"
	if name == "ht-smi" {
		usual = "ht-2.2.9"
	}
	l, err := fakesmi.MetaXLayoutNamed(layout(st, name, usual))
	if err != nil {
		return nil, true, err
	}
	faults, err := st.cardFaults(name)
	if err != nil {
		return nil, true, err
	}
	machine := fakesmi.MetaXMachine(l.Version, st.load(), faults...)
	if err := faults.Check(machine.Devices); err != nil {
		return nil, true, err
	}
	var b bytes.Buffer
	switch strings.Join(args, " ") {
	case "":
		err = l.Print(&b, withoutLost(st, name, l.Reduce(fakesmi.Available(machine))), time.Now())
	case "-L":
		err = l.PrintList(&b, machine)
	case "topo -m":
		err = l.PrintTopology(&b, machine, nil, time.Now())
	case "topo -n":
		err = l.PrintTopology(&b, machine, []string{"mlx5_0", "mlx5_1"}, time.Now())
	default:
		return nil, false, nil
	}
	return b.Bytes(), true, err
}

func answerAscend(st state, args []string) ([]byte, bool, error) {
	l, err := fakesmi.AscendLayoutNamed(layout(st, "npu-smi", "910b-23.0"))
	if err != nil {
		return nil, true, err
	}
	faults, err := st.cardFaults("npu-smi")
	if err != nil {
		return nil, true, err
	}
	whole := ascendMachine(l, st.load(), faults)
	if err := faults.Check(whole.Devices); err != nil {
		return nil, true, err
	}
	machine := l.Reduce(whole)
	var b bytes.Buffer
	switch strings.Join(args, " ") {
	case "info":
		err = l.Print(&b, withoutLost(st, "npu-smi", machine))
	case "info -m":
		err = l.PrintMapping(&b, machine)
	case "info -l":
		err = l.PrintList(&b, machine)
	case "info -t topo":
		err = l.PrintTopology(&b, whole)
	default:
		return nil, false, nil
	}
	return b.Bytes(), true, err
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
