package ascend

import (
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// device reads one of a chip's two rows: the first has a health word where the
// second has a bus id.
func (p *infoParser) device(cells []string) {
	if p.pending == nil {
		p.firstRow(cells)
		return
	}
	aligned := p.row.Read(p.lower, cells)
	bus, ok := p.row.Get(colBusID)
	switch {
	case !aligned:
		p.dropPending("its second row has other cells than the header")
	case ok && (printed.PCIAddress(bus) || printed.Absent(bus) && p.hasUsage()):
		p.secondRow(bus)
	default:
		p.dropPending("its second row is missing")
		p.firstRow(cells)
	}
}

// hasUsage and hasTemperature report whether a row is a chip's second or its first
// where neither has a word in its second cell: under the same columns, one has a
// pair and the other a number.
func (p *infoParser) hasUsage() bool {
	for _, word := range []string{colDDR, colHBM} {
		if value, ok := p.row.Get(word); ok {
			_, _, isPair := printed.CutPair(value)
			return isPair
		}
	}
	return false
}

func (p *infoParser) hasTemperature() bool {
	value, ok := p.row.Get(colTemp)
	_, isNumber := printed.Celsius.Value(value, "C")
	return ok && (isNumber || printed.Absent(value))
}

func (p *infoParser) firstRow(cells []string) {
	p.row.Read(p.upper, cells)
	npu, ok := p.npu()
	state, okState := p.row.Get(colHealth)
	_, isIndex := printed.Index(npu)
	switch {
	case okState && (printed.PCIAddress(state) || health(state) == nil && !p.hasTemperature()):
		p.doubtUnclosed(boxtable.BelowHeader)
		p.broken()
		p.report.Warn("a chip is left out: its first row is missing before %.60q", strings.Join(cells, "|"))
		return
	case !ok || !okState || !isIndex || !isState(state):
		p.doubtUnclosed(boxtable.BelowHeader)
		p.broken()
		p.report.Warn("a row identifies no NPU: %.60q", strings.Join(cells, "|"))
		return
	}
	p.doubtUnclosed(boxtable.BehindRecord)
	r := &record{place: place{npu: npu}, device: model.Device{NPU: npu, Health: health(state), Readings: make(model.Readings, 0, 8)}}
	if name, ok := p.row.Get(colName); ok {
		r.device.Name = printed.Label(name)
	}
	p.readings(r)
	p.pending = r
}

func (p *infoParser) npu() (string, bool) {
	if npu, ok := p.row.Get(colNPU); ok {
		return npu, true
	}
	return p.row.Get(colNPUID)
}

// isState reports whether s is a word or nothing: a number there means that the row
// is not a device's.
func isState(s string) bool {
	return printed.Absent(s) || 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z'
}

// health reads the Health column: OK, Warning, Alarm, Critical, or UNKNOWN for a
// device that is absent or not started, which is a state and not a lack of one.
func health(s string) *model.Health {
	if printed.Absent(s) && !strings.EqualFold(s, "unknown") {
		return nil
	}
	return &model.Health{OK: s == "OK", State: s}
}

func (p *infoParser) secondRow(bus string) {
	r := p.pending
	p.pending = nil
	r.device.BusID = printed.Label(bus)
	if p.lower.Has(colChip) {
		chip, _ := p.row.Lead(colChip)
		if _, ok := printed.Index(chip); !ok {
			p.broken()
			p.dropped[r.npu] = true
			p.report.Warn("NPU %s is left out: its chip is not printed in %.60q", r.npu, p.row.Cell(colChip))
			return
		}
		r.chip, r.device.Chip = chip, chip
	}
	for _, word := range []string{colPhyID, colDevice} {
		if number, ok := p.row.Index(word); ok {
			r.number = number
		}
	}
	p.readings(r)
	p.checkQueried(&r.device)
	p.records = append(p.records, *r)
	p.rules.EndRecord()
}

// checkQueried drops the readings of a chip that npu-smi could not ask: every
// field then keeps its zero, the health too, and a zero health prints as OK. Huge
// pages come from another query.
func (p *infoParser) checkQueried(d *model.Device) {
	temperature, ok := d.Readings.Get("temperature_celsius", "chip")
	asked := func(r model.Reading) bool { return !strings.HasPrefix(string(r.Metric), "hugepages_") }
	if !ok || temperature != 0 || slices.ContainsFunc(d.Readings, func(r model.Reading) bool { return asked(r) && r.Value != 0 }) {
		return
	}
	p.report.Warn("NPU %s: every reading is zero, which is what a failed query prints", d.NPU)
	d.Readings = slices.DeleteFunc(d.Readings, asked)
	if d.Health != nil && d.Health.OK {
		d.Health = nil
	}
}

// readings reads every value of a row whose header word is known.
func (p *infoParser) readings(r *record) {
	for v := range p.row.Values() {
		switch c := v.Column; {
		case v.Fits:
			if err := c.Read(&r.device.Readings, v.Text); err != nil {
				p.report.Warn("NPU %s: cannot read %s from %.40q: %v", r.npu, c.Word, v.Text, err)
			}
		case v.First && v.Cell != "" && !isIdentity(c.Word):
			p.report.Warn("NPU %s: %.60q has other values than its header has words", r.npu, v.Cell)
		}
	}
}

// isIdentity reports whether a cell says which chip it is: a number may be missing
// there without harm.
func isIdentity(word string) bool {
	return word == colNPU || word == colNPUID || word == colChip
}

// noProcesses begins a row of the process table that has no process.
const noProcesses = "No running processes found"

// process reads a row of the process table. Its last column, where there is one,
// is the process id inside a container; the host's is the one that is kept.
func (p *infoParser) process(cells []string) {
	row := strings.Join(cells, "|")
	if rest, ok := strings.CutPrefix(row, noProcesses); ok {
		if npu, ok := strings.CutPrefix(rest, " in NPU "); ok {
			p.list(npu)
		}
		return
	}
	if strings.Trim(row, "|") == "" {
		return
	}
	if !p.row.Read(p.upper, cells) {
		p.report.Warn("a process row has other cells than its header: %.60q", row)
		return
	}
	npu, ok := p.npu()
	chip, _ := p.row.Get(colChip)
	pid, okPID := p.row.Index(colPID)
	name, _ := p.row.Get(colProcess)
	mem, okMem := p.row.Get(colProcessMem)
	if !ok || !okPID || !okMem {
		p.report.Warn("cannot read a process row: %.60q", row)
		return
	}
	p.list(npu)
	if printed.Absent(mem) {
		return
	}
	bytes, ok := printed.Bytes.Value(mem, p.upper.Columns[p.upper.Find(colProcessMem)].Unit)
	if !ok {
		p.report.Warn("process %s: cannot read its memory from %.40q", pid, mem)
		return
	}
	p.owners = append(p.owners, owner{
		place:   place{npu, chip},
		process: model.Process{PID: pid, Name: printed.Label(name), UsedBytes: bytes},
	})
}
