package main

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// callWatch is npu-smi info watch, beside the types of info -t.
const (
	callWatch   = "watch"
	callMapping = "mapping"
)

func ascendNames() []string {
	return append([]string{callTable, callList, callMapping, callTopology, callWatch}, fakesmi.AscendTypes()...)
}

// ascendHost is what npu-smi and hccn_tool are asked about.
type ascendHost struct {
	layout  fakesmi.AscendLayout
	machine model.Report
	faults  fakesmi.Faults
}

func (st state) ascendHost() (ascendHost, error) {
	l, err := fakesmi.AscendLayoutNamed(layout(st, "npu-smi", "910b-23.0"))
	if err != nil {
		return ascendHost{}, err
	}
	machine, faults, err := st.machine("npu-smi", func(load fakesmi.Load, faults fakesmi.Faults) model.Report { return l.Machine(load, faults...) })
	return ascendHost{l, machine, faults}, err
}

// cards are all that the deeper commands tell. Both tools tell of the same life.
func (h ascendHost) cards(st state) ([]fakesmi.AscendCard, error) {
	life, err := st.life("npu-smi", h.faults, h.machine.Devices)
	if err != nil {
		return nil, err
	}
	return h.layout.AscendCards(withoutLost(st, "npu-smi", h.machine), h.faults, life), nil
}

func ascendAnswer(st state, args []string) (answer, error) {
	h, err := st.ascendHost()
	if err != nil {
		return answer{}, err
	}
	l, shown := h.layout, h.layout.Reduce(h.machine)
	for _, c := range []struct {
		args, name string
		print      func(io.Writer) error
	}{
		{"info", callTable, func(w io.Writer) error { return l.Print(w, withoutLost(st, "npu-smi", shown)) }},
		{"info -m", callMapping, func(w io.Writer) error { return l.PrintMapping(w, shown) }},
		{"info -l", callList, func(w io.Writer) error { return l.PrintList(w, shown) }},
		{"info -t topo", callTopology, func(w io.Writer) error { return l.PrintTopology(w, h.machine) }},
	} {
		if c.args == strings.Join(args, " ") {
			text, err := printed(c.print)
			return answer{command: c.name, text: text}, err
		}
	}
	switch {
	case len(args) > 1 && args[0] == "info" && args[1] == "watch":
		return h.watch(st, args[2:])
	case len(args) > 1 && args[0] == "info":
		return h.query(st, args[1:])
	}
	return answer{}, nil
}

// query answers info -t TYPE -i NPU [-c CHIP], in any order.
func (h ascendHost) query(st state, args []string) (answer, error) {
	var q fakesmi.AscendQuery
	q.Type, args = option(args, "-t")
	q.NPU, args = option(args, "-i")
	q.Chip, args = option(args, "-c")
	switch {
	case len(args) > 0:
		return answer{text: args[0]}, nil
	case !slices.Contains(fakesmi.AscendTypes(), q.Type):
		return answer{text: "-t"}, nil
	case q.NPU == "":
		return answer{text: "-i"}, nil
	}
	cards, err := h.cards(st)
	if err != nil {
		return answer{}, err
	}
	said := h.layout.Query(q, cards)
	return answer{command: q.Type, card: q.NPU, text: said.Text, isError: said.Errs, status: said.Status}, nil
}

// watch answers info watch [-i NPU] [-c CHIP] [-d SECONDS] [-s COLUMNS], without an end.
func (h ascendHost) watch(st state, args []string) (answer, error) {
	npu, args := option(args, "-i")
	chip, args := option(args, "-c")
	delay, args := option(args, "-d")
	letters, args := option(args, "-s")
	every := time.Second
	if n, err := strconv.ParseUint(delay, 10, 8); err == nil && n >= 1 && n <= 100 {
		every *= time.Duration(n)
	} else if delay != "" {
		return answer{text: "-d"}, nil
	}
	switch {
	case len(args) > 0:
		return answer{text: args[0]}, nil
	case !h.layout.KnowsColumns(letters):
		return answer{text: "-s"}, nil
	}
	round := func() (string, error) {
		now, err := st.ascendHost()
		if err != nil {
			return "", err
		}
		cards, err := now.cards(st)
		var b strings.Builder
		for i := range cards {
			if c := &cards[i]; (npu == "" || c.NPU == npu) && (chip == "" || c.Chip == chip) {
				b.WriteString(now.layout.WatchLine(letters, c))
			}
		}
		return b.String(), err
	}
	first, err := round()
	if err == nil && first == "" {
		return answer{text: "-i"}, nil
	}
	return answer{command: callWatch, card: npu, text: h.layout.WatchHeader(letters) + first, again: round, every: every}, err
}
