// Package metax reads what MetaX's mx-smi prints, and the same program under
// its OEM name ht-smi: versions 2.1.6 to 2.3.1 have been met.
//
// The layouts differ in order (power and temperature changed places in 2.2.9),
// in the number of cells and in words. So values are found by the words of the
// header rows and must carry the unit that belongs to them.
package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Header words of the cells that tell which card, slice or process it is.
const (
	colGPU        = "gpu"
	colName       = "name"
	colBoard      = "board"
	colBusID      = "bus-id"
	colMemory     = "memory-usage"
	colState      = "gpu-state"
	colSliceID    = "sgpu-id"
	colPID        = "pid"
	colProcess    = "process name"
	colProcessMem = "gpu memory"
)

// vocabulary is one line for each header word that holds blanks, or has values
// that do, or is a metric.
func vocabulary() boxtable.Vocabulary {
	vram, chip := []string{"vram"}, []string{"chip"}
	return boxtable.Vocabulary{
		{Text: colName, Phrase: true},
		{Text: colState, Phrase: true},
		{Text: "gpu-util", Field: printed.Field{Metric: "utilization_ratio", Unit: printed.Percent}},
		{Text: "temp", Field: printed.Field{Metric: "temperature_celsius", Labels: chip, Unit: printed.Celsius}},
		{Text: "power", Field: printed.Field{Metric: "power_watts", Limit: "power_limit_watts", Unit: printed.Watts}},
		{Text: "pwr:usage/cap", Field: printed.Field{Metric: "power_watts", Limit: "power_limit_watts", Unit: printed.Watts}},
		{Text: "perf", Field: printed.Field{Metric: "performance_level", Unit: printed.Level}},
		{Text: colMemory, Field: printed.Field{Metric: "memory_used_bytes", Total: "memory_total_bytes", Labels: vram, Unit: printed.Bytes}},

		{Text: "compute", Field: printed.Field{Metric: "slice_compute_quota_ratio", Unit: printed.Percent}},
		{Text: "vram quota", Field: printed.Field{Metric: "slice_memory_used_bytes", Total: "slice_memory_quota_bytes", Unit: printed.Bytes}},
		{Text: "sgpu-util", Field: printed.Field{Metric: "slice_utilization_ratio", Unit: printed.Percent}},

		{Text: colProcess, Phrase: true},
		{Text: colProcessMem},
	}
}

// section is the box the parser is inside of.
type section uint8

const (
	outside section = iota
	cards
	slices
	processes
)

type tableParser struct {
	report  model.Report
	words   boxtable.Vocabulary
	section section
	// upper and lower are the header rows of the current box; only cards have two.
	upper, lower *boxtable.Header
	row          boxtable.Record
	// pending is the card whose first row was read, until its second row.
	pending *model.Device
	known   map[string]bool       // cards read
	sliced  map[[2]string]bool    // card and slice read
	held    map[[2]string]holding // by card and process
	headers int                   // card headers met
	none    bool                  // "Attached GPUs : 0"
	order   cardOrder
	rules   boxtable.Rules
}

// ParseTable reads the output of mx-smi without arguments. It fails with
// failure.Parse when the output is another program's or holds no whole card, and
// with failure.NoDevice when the table says that no GPU is attached.
func ParseTable(out []byte) (model.Report, error) {
	p := &tableParser{held: map[[2]string]holding{}, words: vocabulary(), known: map[string]bool{}, sliced: map[[2]string]bool{}}
	for line := range boxtable.Lines(out) {
		if err := p.line(line); err != nil {
			return model.Report{}, err
		}
	}
	p.dropPending("the output ends before its second row")
	p.dropJoined()
	switch {
	case len(p.report.Devices) == 0 && p.none:
		return model.Report{}, failure.New(failure.NoDevice, "the tool says that no GPU is attached")
	case p.headers == 0:
		return model.Report{}, failure.New(failure.Parse, "no card table in the output")
	case len(p.report.Devices) == 0:
		return model.Report{}, failure.New(failure.Parse, "no whole card in the table")
	}
	return p.report, nil
}

func (p *tableParser) line(line boxtable.Line) error {
	switch line.Kind {
	case boxtable.Text:
		p.rules.Left()
		return p.text(line.Text)
	case boxtable.Torn:
		p.cut(line)
	case boxtable.Separator:
		p.dropPending("its second row is missing")
		p.rules.Met()
		if line.Elided {
			p.order.broken()
		}
	case boxtable.Row:
		if !line.Damaged {
			return p.cells(line.Cells)
		}
		p.cut(line)
	}
	return nil
}

// cut leaves out a row that lost something, and the card it is of.
func (p *tableParser) cut(line boxtable.Line) {
	p.dropUnclosed(boxtable.BehindRecord)
	p.dropPending("its second row is cut")
	p.order.broken()
	p.report.Warn("a row is cut: %.60q", line.Text)
}

// text reads the lines outside the boxes.
func (p *tableParser) text(s string) error {
	if count, ok := strings.CutPrefix(s, "Attached GPUs"); ok {
		_, count, _ = strings.Cut(count, ":")
		if n, ok := printed.Index(strings.TrimSpace(count)); ok {
			p.report.Announced, p.none = n, n == 0
		}
		return nil
	}
	return checkBanner(s)
}

// checkBanner returns an error for a banner or title of another tool.
func checkBanner(s string) error {
	if before, ok := strings.CutSuffix(strings.Trim(s, "= "), "System Management Interface Log"); ok {
		if brand := strings.TrimSpace(before); brand != "MetaX" && brand != "Mars" {
			return failure.New(failure.Parse, "the banner is that of %.40q, not of MetaX or Mars", brand)
		}
	}
	if name, rest, _ := strings.Cut(s, " "); strings.HasSuffix(name, "-smi") && !isTool(name) &&
		strings.HasPrefix(strings.TrimSpace(rest), "version:") {
		return failure.New(failure.Parse, "the output is that of %.40q, not of mx-smi or ht-smi", name)
	}
	return nil
}

func isTool(name string) bool {
	return strings.EqualFold(name, "mx-smi") || strings.EqualFold(name, "ht-smi")
}

func (p *tableParser) cells(cells []string) error {
	if p.header(cells) {
		return nil
	}
	switch p.section {
	case outside:
		return p.title(cells)
	case cards:
		p.card(cells)
	case slices:
		p.slice(cells)
	case processes:
		p.process(cells)
	}
	return nil
}

// header reports whether a row is a header row, by its words, and enters the box that it
// opens.
func (p *tableParser) header(cells []string) bool {
	if len(cells) == 1 && (cells[0] == "Process:" || cells[0] == "Sliced GPU") {
		p.leave()
		return true
	}
	if !letterFirst(cells[0]) { // data rows start with a number, whatever a process is called
		return false
	}
	h := p.words.Header(cells)
	switch {
	case h.Has(colGPU) && h.Has(colBusID):
		p.leave()
		p.section, p.upper, p.lower, p.rules = cards, h, nil, boxtable.Rules{}
		p.headers++
	case p.section == cards && h.Has(colMemory):
		p.lower = h
	case h.Has(colSliceID) && h.Has(colGPU):
		p.leave()
		p.section, p.upper = slices, h
	case h.Has(colPID) && h.Has(colGPU):
		p.leave()
		p.section, p.upper = processes, h
	case p.section == processes && len(cells) == 1 && strings.HasPrefix(cells[0], "Usage("):
		p.memoryUnit(h.Columns[0].Unit)
	default:
		return false
	}
	return true
}

// memoryUnit joins the second header row of the process box, which holds
// nothing but the unit of the memory column.
func (p *tableParser) memoryUnit(unit string) {
	if i := p.upper.Find(colProcessMem); i >= 0 {
		p.upper.Columns[i].Unit = unit
	}
}

func (p *tableParser) leave() {
	p.dropUnclosed(boxtable.BelowHeader)
	p.dropPending("its second row is missing")
	p.section = outside
}

func letterFirst(s string) bool {
	return s != "" && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// title reads the rows above the header: names and versions.
func (p *tableParser) title(cells []string) error {
	var t model.Tool
	if p.report.Tool != nil {
		t = *p.report.Tool
	}
	for _, cell := range cells {
		first, rest, _ := strings.Cut(cell, " ")
		switch {
		case isTool(first):
			t.Name, t.Version = strings.ToLower(first), version(rest)
		case strings.HasSuffix(strings.ToUpper(first), "-SMI"):
			return failure.New(failure.Parse, "the title is that of %.40q, not of mx-smi or ht-smi", first)
		}
		for _, f := range []struct {
			label string
			value *string
		}{
			{"Kernel Mode Driver Version:", &t.DriverVersion},
			{"MACA Version:", &t.RuntimeVersion},
			{"HPCC Version:", &t.RuntimeVersion},
			{"BIOS Version:", &t.FirmwareVersion},
		} {
			if _, after, ok := strings.Cut(cell, f.label); ok && version(after) != "" {
				*f.value = version(after)
			}
		}
	}
	if t != (model.Tool{}) {
		p.report.Tool = &t
	}
	return nil
}

// version is the first word of s. One without a digit is no version: it is
// "unknown", or the next label where the value is empty.
func version(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	if !strings.ContainsAny(word, "0123456789") {
		return ""
	}
	return word
}

func (p *tableParser) dropPending(why string) {
	if p.pending != nil {
		p.report.Warn("card %s is left out: %s", p.pending.ID, why)
		p.pending = nil
		p.order.broken()
	}
}
