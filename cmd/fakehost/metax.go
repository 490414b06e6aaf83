package main

import (
	"io"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// The names of mx-smi's calls in a .fault file.
const (
	callTable    = "table"
	callList     = "list"
	callTopology = "topology"
	callSummary  = "summary"
	callCounters = "counters"
	callJSON     = "json"
)

func metaXNames() []string {
	return []string{callTable, callList, callTopology, callSummary, callCounters, callJSON}
}

func metaXAnswer(st state, name string, args []string) (answer, error) {
	usual := "2.2.9"
	if name == "ht-smi" {
		usual = "ht-2.2.9"
	}
	l, err := fakesmi.MetaXLayoutNamed(layout(st, name, usual))
	if err != nil {
		return answer{}, err
	}
	machine, faults, err := st.machine(name, func(load fakesmi.Load, faults fakesmi.Faults) model.Report {
		return fakesmi.MetaXMachine(l.Version, load, faults...)
	})
	if err != nil {
		return answer{}, err
	}
	a := answer{command: metaXCall(l, args)}
	switch a.command {
	case "":
		a.text = l.UnknownFlag(args)
		return a, nil
	case callSummary, callCounters, callJSON:
		life, err := st.life(name, faults, machine.Devices)
		if err != nil {
			return answer{}, err
		}
		seen := withoutLost(st, name, fakesmi.Available(machine))
		cards := fakesmi.MetaXCards(seen, faults, life)
		a.text, err = printed(func(w io.Writer) error {
			switch a.command {
			case callSummary:
				return l.PrintSummary(w, cards, time.Now())
			case callJSON:
				return l.PrintJSON(w, seen.Tool, cards, time.Now())
			}
			return l.PrintFlags(w, args, cards, time.Now())
		})
		return a, err
	}
	a.text, err = printed(func(w io.Writer) error {
		switch strings.Join(args, " ") {
		case "-L":
			return l.PrintList(w, machine)
		case "topo -m":
			return l.PrintTopology(w, machine, nil, time.Now())
		case "topo -n":
			return l.PrintTopology(w, machine, []string{"mlx5_0", "mlx5_1"}, time.Now())
		}
		return l.Print(w, withoutLost(st, name, l.Reduce(fakesmi.Available(machine))), time.Now())
	})
	return a, err
}

// metaXCall names a call, "" for one that the layout's tool does not know.
func metaXCall(l fakesmi.MetaXLayout, args []string) string {
	switch strings.Join(args, " ") {
	case "":
		return callTable
	case "-L":
		return callList
	case "topo -m", "topo -n":
		return callTopology
	case "-s":
		return callSummary
	case "-j":
		if l.KnowsJSON() {
			return callJSON
		}
	}
	if l.UnknownFlag(args) == "" {
		return callCounters
	}
	return ""
}

// withoutLost takes the last card off what is asked of the cards while the fault
// card_lost holds: the inventory commands still know it.
func withoutLost(st state, tool string, r model.Report) model.Report {
	if !losesCard(st.setting(tool + ".fault")) {
		return r
	}
	return fakesmi.WithoutLast(r)
}
