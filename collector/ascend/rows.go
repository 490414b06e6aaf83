package ascend

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// device reads one of a chip's two rows: the first has a health word where the
// second has a bus id.
func (p *infoParser) device(cells []string) {
	h := p.upper
	if p.pending != nil {
		h = p.lower
	}
	if len(cells) != len(h) {
		p.dropPending("its second row has other cells than the header")
		p.warn("a row has %d cells where the header has %d: %.60q", len(cells), len(h), strings.Join(cells, "|"))
		return
	}
	if p.pending == nil {
		p.firstRow(cells)
		return
	}
	bus, ok := p.cell(p.lower, cells, colBusID)
	if !ok || !boxtable.Absent(bus) && !boxtable.PCIAddress(bus) {
		p.dropPending("its second row is missing")
		p.firstRow(cells)
		return
	}
	p.secondRow(cells, bus)
}

func (p *infoParser) firstRow(cells []string) {
	npu, ok := p.cell(p.upper, cells, colNPU)
	if !ok {
		npu, ok = p.cell(p.upper, cells, colNPUID)
	}
	state, okState := p.cell(p.upper, cells, colHealth)
	_, isIndex := boxtable.Index(npu)
	switch {
	case okState && boxtable.PCIAddress(state):
		p.warn("a chip is left out: its first row is missing before %.60q", strings.Join(cells, "|"))
		return
	case !ok || !okState || !isIndex || !isState(state):
		p.warn("a row identifies no NPU: %.60q", strings.Join(cells, "|"))
		return
	}
	r := &record{npu: npu, device: model.Device{NPU: npu, Health: health(state)}}
	if name, ok := p.cell(p.upper, cells, colName); ok {
		r.device.Name = boxtable.Label(name)
	}
	p.readings(r, p.upper, cells)
	p.pending = r
}

// isState accepts a word or nothing: a number there means that the row is not a
// device's.
func isState(s string) bool {
	return boxtable.Absent(s) || s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z'
}

// health reads the Health column: OK, Warning, Alarm, Critical, or UNKNOWN for a
// device that is absent or not started, which is a state and not a lack of one.
func health(s string) *model.Health {
	if boxtable.Absent(s) && !strings.EqualFold(s, "unknown") {
		return nil
	}
	return &model.Health{OK: s == "OK", State: s}
}

func (p *infoParser) secondRow(cells []string, bus string) {
	r := p.pending
	p.pending = nil
	r.device.BusID = boxtable.Label(bus)
	if p.lower.has(colChip) {
		chip, ok := p.cell(p.lower, cells, colChip)
		if i, j, _ := p.lower.find(colChip); !ok && j == 0 {
			chip = firstToken(cells[i]) // the number beside it is not printed
		}
		if _, ok := boxtable.Index(chip); !ok {
			p.warn("NPU %s is left out: its chip is not printed in %.60q", r.npu, strings.Join(cells, "|"))
			return
		}
		r.chip, r.device.Chip = chip, chip
	}
	for _, word := range []string{colPhyID, colDevice} {
		if number, ok := p.cell(p.lower, cells, word); ok {
			if _, ok := boxtable.Index(number); ok {
				r.number = number
			}
		}
	}
	p.readings(r, p.lower, cells)
	p.checkQueried(&r.device)
	p.records = append(p.records, *r)
}

func firstToken(cell string) string {
	token, _, _ := strings.Cut(cell, " ")
	return token
}

// checkQueried drops the readings of a chip that npu-smi could not ask: every
// field, the health among them, then keeps its zero, and a zero health prints as OK.
func (p *infoParser) checkQueried(d *model.Device) {
	zero := func(v *float64) bool { return v == nil || *v == 0 }
	if d.TemperatureCelsius == nil || *d.TemperatureCelsius != 0 || !zero(d.PowerWatts) || !zero(d.UtilizationRatio) ||
		len(d.Memory) > 0 || d.Health == nil || !d.Health.OK {
		return
	}
	p.warn("NPU %s: every reading is zero, which is what a failed query prints", d.NPU)
	d.TemperatureCelsius, d.PowerWatts, d.UtilizationRatio, d.Health = nil, nil, nil, nil
}

// cell returns the value under a header word, and false when there is no such
// word or the cell's values do not line up with its words.
func (p *infoParser) cell(h header, cells []string, word string) (string, bool) {
	i, j, ok := h.find(word)
	if !ok || i >= len(cells) {
		return "", false
	}
	p.values, ok = boxtable.Values(p.values[:0], h[i], cells[i])
	if !ok {
		return "", false
	}
	return p.values[j], true
}

// readings reads every value of a row whose header word is known.
func (p *infoParser) readings(r *record, h header, cells []string) {
	for i, cols := range h {
		var aligned bool
		p.values, aligned = boxtable.Values(p.values[:0], cols, cells[i])
		if !aligned && cells[i] != "" && len(cols) > 0 && !isIdentity(cols[0].Word) {
			p.warn("NPU %s: %.60q has other values than its header has words", r.npu, cells[i])
			continue
		}
		for j, value := range p.values {
			p.reading(r, cols[j], value)
		}
	}
}

// isIdentity tells the cells that say which chip it is: a number may be missing
// there without harm.
func isIdentity(word string) bool {
	return word == colNPU || word == colNPUID || word == colChip
}

func (p *infoParser) reading(r *record, col boxtable.Column, value string) {
	if boxtable.Absent(value) {
		return
	}
	d, ok := &r.device, true
	switch col.Word {
	case colPower:
		d.PowerWatts, ok = atLeastZero(boxtable.Number(value, col.Unit))
	case colTemp:
		v, isNumber := boxtable.Number(value, col.Unit)
		d.TemperatureCelsius, ok = reading(v, isNumber)
	case colAICore, colNPUUtil:
		v, isNumber := boxtable.Number(value, "%")
		d.UtilizationRatio, ok = reading(v/100, isNumber && v >= 0 && v <= 100)
	case colHugepages:
		var u boxtable.Usage
		u, ok = p.usage(r, col, value)
		d.HugepagesUsed, d.HugepagesTotal = u.Used, u.Total
	case colDDR, colHBM:
		var u boxtable.Usage
		u, ok = p.usage(r, col, value)
		addMemory(d, col.Word, u)
	}
	if !ok {
		p.warn("NPU %s: cannot read %s from %.40q", r.npu, col.Word, value)
	}
}

func (p *infoParser) usage(r *record, col boxtable.Column, value string) (boxtable.Usage, bool) {
	u, err := boxtable.ParseUsage(value, col.Unit)
	if err != nil {
		p.warn("NPU %s: %s: %v", r.npu, col.Word, err)
	}
	return u, true
}

func addMemory(d *model.Device, word string, u boxtable.Usage) {
	if u.Used == nil && u.Total == nil {
		return
	}
	kind := "ddr"
	if word == colHBM {
		kind = "hbm"
	}
	d.Memory = append(d.Memory, model.Memory{Type: kind, UsedBytes: u.Used, TotalBytes: u.Total})
}

func reading(v float64, ok bool) (*float64, bool) {
	if !ok {
		return nil, false
	}
	return &v, true
}

func atLeastZero(v float64, ok bool) (*float64, bool) {
	return reading(v, ok && v >= 0)
}

// process reads a row of the process table. Its last column, where there is one,
// is the process id inside a container; the host's is the one that is kept.
func (p *infoParser) process(cells []string) {
	row := strings.Join(cells, "|")
	if row == "" || strings.HasPrefix(row, "No running processes found") {
		return
	}
	if len(cells) != len(p.upper) {
		p.warn("a process row has other cells than its header: %.60q", row)
		return
	}
	npu, ok := p.cell(p.upper, cells, colNPU)
	if !ok {
		npu, ok = p.cell(p.upper, cells, colNPUID)
	}
	chip, _ := p.cell(p.upper, cells, colChip)
	pid, okPID := p.cell(p.upper, cells, colPID)
	name, _ := p.cell(p.upper, cells, colProcess)
	mem, okMem := p.cell(p.upper, cells, colProcessMem)
	_, isPID := boxtable.Index(pid)
	if !ok || !okPID || !okMem || !isPID {
		p.warn("cannot read a process row: %.60q", row)
		return
	}
	if boxtable.Absent(mem) {
		return
	}
	i, j, _ := p.upper.find(colProcessMem)
	bytes, ok := boxtable.Bytes(mem, p.upper[i][j].Unit)
	if !ok {
		p.warn("process %s: cannot read its memory from %.40q", pid, mem)
		return
	}
	p.owners = append(p.owners, owner{npu: npu, chip: chip,
		process: model.Process{PID: pid, Name: boxtable.Label(name), UsedBytes: bytes}})
}
