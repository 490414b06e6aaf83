// Package ascend reads what Huawei's npu-smi prints. Five families of the table
// of npu-smi info have been met, tool versions 20.2.0 to 26.0.rc2; they are told
// apart by their header rows alone, since the widths of different chips overlap.
package ascend

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Header words of the cells that tell a chip or a process, or its rows, apart.
const (
	colNPU        = "npu"
	colNPUID      = "npu id" // Ascend 950
	colName       = "name"
	colHealth     = "health"
	colTemp       = "temp"
	colChip       = "chip"
	colDevice     = "device"
	colPhyID      = "phy-id"
	colBusID      = "bus-id"
	colDDR        = "memory-usage"
	colHBM        = "hbm-usage"
	colPID        = "process id"
	colProcess    = "process name"
	colProcessMem = "process memory"
)

// vocabulary is one line for each header word that holds blanks, or has values
// that do, or is a metric.
func vocabulary() boxtable.Vocabulary {
	chip, ddr, hbm := []string{"chip"}, []string{"ddr"}, []string{"hbm"}
	return boxtable.Vocabulary{
		{Text: colNPUID},
		{Text: colName, Phrase: true},
		{Text: "power", Field: printed.Field{Metric: "power_watts", Unit: printed.Watts, Assumed: "W"}},
		{Text: colTemp, Field: printed.Field{Metric: "temperature_celsius", Labels: chip, Unit: printed.Celsius, Assumed: "C"}},
		{Text: "aicore", Field: printed.Field{Metric: "utilization_ratio", Unit: printed.Percent, Assumed: "%"}},
		{Text: "npu util", Field: printed.Field{Metric: "utilization_ratio", Unit: printed.Percent, Assumed: "%"}}, // Ascend 950
		{Text: "hugepages-usage", Field: printed.Field{Metric: "hugepages_used", Total: "hugepages_total", Unit: printed.Pages, Assumed: "page"}},
		{Text: colDDR, Field: printed.Field{Metric: "memory_used_bytes", Total: "memory_total_bytes", Labels: ddr, Unit: printed.Bytes}},
		{Text: colHBM, Field: printed.Field{Metric: "memory_used_bytes", Total: "memory_total_bytes", Labels: hbm, Unit: printed.Bytes}},

		{Text: colPID},
		{Text: "process id in container"},
		{Text: colProcess, Phrase: true},
		{Text: colProcessMem},
	}
}

// section is the table the parser is inside of.
type section uint8

const (
	outside section = iota
	devices
	processes
)

// record is one chip as printed, before its name among all chips is known.
type record struct {
	place
	number string // Device or Phy-ID, "" where there is none
	device model.Device
	broken bool // something is left out behind it
	doubt  bool // its rows may be two chips'
}

// owner is a process row and the chip it names.
type owner struct {
	place
	process model.Process
}

type infoParser struct {
	words        boxtable.Vocabulary
	section      section
	upper, lower *boxtable.Header // processes have only the upper
	row          boxtable.Record
	pending      *record
	records      []record
	owners       []owner
	report       model.Report
	headers      int
	dropped      map[string]bool // NPUs of which something is left out
	listed       []string        // NPUs of the process table, in its order
	rules        boxtable.Rules
}

// ParseInfo reads the output of npu-smi info. It fails with failure.Parse when the
// output is another program's or holds no whole chip.
func ParseInfo(out []byte) (model.Report, error) {
	p := &infoParser{words: vocabulary(), dropped: map[string]bool{}}
	for line := range boxtable.Lines(out) {
		if err := p.line(line); err != nil {
			return model.Report{}, err
		}
	}
	p.dropPending("the output ends before its second row")
	p.doubtJoined()
	p.name()
	switch {
	case p.headers == 0:
		return model.Report{}, failure.New(failure.Parse, "no device table in the output")
	case len(p.report.Devices) == 0:
		return model.Report{}, failure.New(failure.Parse, "no whole chip in the device table")
	}
	return p.report, nil
}

func (p *infoParser) line(line boxtable.Line) error {
	switch line.Kind {
	case boxtable.Torn:
		p.cut(line)
	case boxtable.Separator:
		p.dropPending("its second row is missing")
		p.rules.Met()
		if line.Elided {
			p.broken()
		}
	case boxtable.Row:
		if !line.Damaged || strings.HasPrefix(line.Cells[0], noProcesses) { // which is not padded everywhere
			return p.cells(line.Cells)
		}
		p.cut(line)
	case boxtable.Text:
		p.rules.Left()
	}
	return nil
}

// cut leaves out a row that lost something, and the chip it is of.
func (p *infoParser) cut(line boxtable.Line) {
	p.doubtUnclosed(boxtable.BehindRecord)
	p.dropPending("its second row is cut")
	p.broken()
	p.report.Warn("a row is cut: %.60q", line.Text)
}

func (p *infoParser) cells(cells []string) error {
	if p.header(cells) {
		return nil
	}
	switch p.section {
	case outside:
		return p.title(cells)
	case devices:
		p.device(cells)
	case processes:
		p.process(cells)
	}
	return nil
}

// header reports whether a row is a header row, by its words, and enters the table that
// it opens.
// The process table must be entered here: its rows look like a chip's.
func (p *infoParser) header(cells []string) bool {
	inRecord := p.section == devices && p.lower != nil // where the first cell may be blank
	if first := cells[0]; first == "" && inRecord || first != "" && '0' <= first[0] && first[0] <= '9' {
		return false
	}
	h := p.words.Header(cells)
	npu := h.Has(colNPU) || h.Has(colNPUID)
	switch {
	case npu && h.Has(colPID):
		p.doubtUnclosed(boxtable.BelowHeader)
		p.dropPending("its second row is missing")
		p.section, p.upper = processes, h
	case npu && h.Has(colHealth):
		p.doubtUnclosed(boxtable.BelowHeader)
		p.dropPending("its second row is missing")
		p.section, p.upper, p.lower, p.rules = devices, h, nil, boxtable.Rules{}
		p.headers++
	case p.section == devices && p.lower == nil && h.Has(colBusID):
		p.lower = h
	default:
		return false
	}
	return true
}

// title reads "npu-smi <tool version>   Version: <driver version>".
func (p *infoParser) title(cells []string) error {
	name, rest, _ := strings.Cut(cells[0], " ")
	if !strings.HasSuffix(strings.ToLower(name), "-smi") {
		return nil
	}
	if !strings.EqualFold(name, "npu-smi") {
		return failure.New(failure.Parse, "the title is that of %.40q, not of npu-smi", name)
	}
	version, driver, _ := strings.Cut(rest, "Version:")
	p.report.Tool = &model.Tool{
		Name:          "npu-smi",
		Version:       firstVersion(version),
		DriverVersion: firstVersion(driver),
	}
	return nil
}

func firstVersion(s string) string {
	if fields := strings.Fields(s); len(fields) > 0 {
		return printed.Label(fields[0])
	}
	return ""
}

// place is where a chip is; process rows name it so.
type place struct{ npu, chip string }

// name gives every chip the number a workload selects it by, and joins the
// processes to it.
func (p *infoParser) name() {
	ids := make(map[place]string, len(p.records))
	unique := true
	seen := make(map[string]bool, len(p.records))
	for _, r := range p.records {
		if _, twice := ids[r.place]; twice {
			p.report.Warn("chip %s of NPU %s is printed twice", r.chip, r.npu)
			continue
		}
		if r.doubt {
			ids[r.place] = ""
			continue
		}
		r.device.ID = r.number
		if r.number == "" {
			r.device.ID = r.npu
		}
		unique = unique && !seen[r.device.ID]
		seen[r.device.ID] = true
		ids[r.place] = r.device.ID
		p.report.Devices = append(p.report.Devices, r.device)
	}
	for i := range p.report.Devices {
		d := &p.report.Devices[i]
		if !unique {
			d.ID = strings.TrimSuffix(d.NPU+"."+d.Chip, ".")
			ids[place{d.NPU, d.Chip}] = d.ID
		}
	}
	for _, o := range p.owners {
		id := ids[o.place]
		if id == "" {
			p.report.Warn("process %s runs on a chip that the device table lacks", o.process.PID)
			continue
		}
		o.process.Device = id
		p.report.Processes = append(p.report.Processes, o.process)
	}
}

func (p *infoParser) dropPending(why string) {
	if p.pending != nil {
		p.report.Warn("NPU %s is left out: %s", p.pending.npu, why)
		p.dropped[p.pending.npu] = true
		p.pending = nil
		p.broken()
	}
}
