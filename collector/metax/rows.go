package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// card reads one of a card's two rows.
func (p *tableParser) card(cells []string) {
	header := p.upper
	if p.pending != nil {
		header = p.lower
	}
	if len(cells) != len(header) {
		p.dropPending("its second row has other cells than the header")
		p.warn("a row has %d cells where the header has %d: %.60q", len(cells), len(header), strings.Join(cells, "|"))
		return
	}
	if p.pending == nil {
		p.firstRow(cells)
		return
	}
	d := p.pending
	if i, _, ok := find(p.upper, colBusID); ok && boxtable.PCIAddress(cells[i]) {
		p.dropPending("its second row is missing")
		p.firstRow(cells)
		return
	}
	p.pending = nil
	p.readings(d, p.lower, cells)
	p.report.Devices = append(p.report.Devices, *d)
}

// firstRow starts a card when the row identifies one.
func (p *tableParser) firstRow(cells []string) {
	d := &model.Device{}
	id, okID := p.cell(p.upper, cells, colGPU)
	bus, okBus := p.cell(p.upper, cells, colBusID)
	if _, ok := boxtable.Index(id); !ok || !okID || !okBus || !boxtable.Absent(bus) && !boxtable.PCIAddress(bus) {
		p.warn("a row identifies no card: %.60q", strings.Join(cells, "|"))
		return
	}
	d.ID, d.BusID = id, boxtable.Label(bus)
	for _, other := range p.report.Devices {
		if other.ID == d.ID {
			p.warn("card %s is printed twice", d.ID)
			return
		}
	}
	if name, ok := p.cell(p.upper, cells, colName); ok {
		d.Name = boxtable.Label(name)
	}
	if board, ok := p.cell(p.upper, cells, colBoard); ok {
		d.Board = boxtable.Label(board)
	}
	p.readings(d, p.upper, cells)
	p.pending = d
}

// cell returns the value under a header word, and false when there is no such
// word or the cell's values do not line up with its words.
func (p *tableParser) cell(header [][]boxtable.Column, cells []string, word string) (string, bool) {
	i, j, ok := find(header, word)
	if !ok {
		return "", false
	}
	p.values, ok = boxtable.Values(p.values[:0], header[i], cells[i])
	if !ok {
		return "", false
	}
	return p.values[j], true
}

// readings reads every value of a row whose header word is known.
func (p *tableParser) readings(d *model.Device, header [][]boxtable.Column, cells []string) {
	for i, cols := range header {
		var aligned bool
		p.values, aligned = boxtable.Values(p.values[:0], cols, cells[i])
		for j, col := range cols {
			if value, ok := p.value(col, j, aligned, cells[i]); ok {
				p.reading(d, col, value)
			}
		}
	}
}

// value picks a column's value out of a cell. Where values and words do not line
// up, a value is still known by its unit, if it is the only one of that unit.
func (p *tableParser) value(col boxtable.Column, j int, aligned bool, cell string) (string, bool) {
	if aligned {
		return p.values[j], true
	}
	if cell == "" || !isReading(col.Word) {
		return "", false
	}
	found, n := "", 0
	for _, token := range boxtable.Tokens(cell, true) {
		if carriesUnit(col.Word, token) {
			found, n = token, n+1
		}
	}
	if n != 1 {
		p.warn("cannot tell which part of %.40q is %s", cell, col.Word)
		return "", false
	}
	return found, true
}

func isReading(word string) bool {
	switch word {
	case colUtil, colTemp, colPower, colPowerAndCap, colPerf, colMemory:
		return true
	}
	return false
}

func carriesUnit(word, token string) bool {
	used, _, _ := strings.Cut(token, "/")
	ok := false
	switch word {
	case colUtil:
		_, ok = unitNumber(token, "%")
	case colTemp:
		_, ok = unitNumber(token, "C")
	case colPower, colPowerAndCap:
		_, ok = unitNumber(used, "W")
	case colPerf:
		_, ok = level(token)
	case colMemory:
		ok = strings.HasSuffix(token, "MiB") && strings.Contains(token, "/")
	}
	return ok
}

// unitNumber reads a number that must carry its unit.
func unitNumber(s, unit string) (float64, bool) {
	s = strings.TrimSpace(s)
	if !strings.HasSuffix(s, unit) {
		return 0, false
	}
	return boxtable.Number(s, unit)
}

// level reads P<n>, the DPM level of the compute core: larger is faster.
func level(s string) (float64, bool) {
	n, ok := strings.CutPrefix(s, "P")
	if !ok {
		return 0, false
	}
	i, ok := boxtable.Index(n)
	return float64(i), ok
}

func (p *tableParser) reading(d *model.Device, col boxtable.Column, value string) {
	if h := health(value); h != nil && (col.Word == colState || h.OK || h.State == notAvailable) {
		d.Health = h // one release prints GPU-Util over the states
		return
	}
	if boxtable.Absent(value) {
		return
	}
	ok := true
	switch col.Word {
	case colUtil:
		d.UtilizationRatio, ok = percent(value)
	case colTemp:
		d.TemperatureCelsius, ok = reading(unitNumber(value, "C"))
	case colPower, colPowerAndCap:
		ok = power(d, value)
	case colPerf:
		d.PerformanceLevel, ok = reading(level(value))
	case colMemory:
		u, err := boxtable.ParseUsage(value, "")
		if ok = err == nil && strings.HasSuffix(value, "B"); ok {
			d.Memory = memory(u)
		}
	}
	if !ok {
		p.warn("card %s: cannot read %s from %.40q", d.ID, col.Word, value)
	}
}

func memory(u boxtable.Usage) []model.Memory {
	if u.Used == nil && u.Total == nil {
		return nil
	}
	return []model.Memory{{Type: "vram", UsedBytes: u.Used, TotalBytes: u.Total}}
}

func reading(v float64, ok bool) (*float64, bool) {
	if !ok {
		return nil, false
	}
	return &v, true
}

// percent reads "36%" as 0.36 and refuses what is no share.
func percent(s string) (*float64, bool) {
	v, ok := unitNumber(s, "%")
	return reading(v/100, ok && v >= 0 && v <= 100)
}

// power reads "71W", "69W/350W" and "97W/NA".
func power(d *model.Device, value string) bool {
	used, limit, _ := strings.Cut(value, "/")
	okUsed, okLimit := true, true
	if used = strings.TrimSpace(used); !boxtable.Absent(used) {
		w, ok := unitNumber(used, "W")
		d.PowerWatts, okUsed = reading(w, ok && w >= 0)
	}
	if limit = strings.TrimSpace(limit); !boxtable.Absent(limit) {
		w, ok := unitNumber(limit, "W")
		d.PowerLimitWatts, okLimit = reading(w, ok && w >= 0)
		if ok && w == 0 {
			d.PowerLimitWatts = nil // a limit of 0 is a total of 0: none is known
		}
	}
	return okUsed && okLimit
}

// The two states met so far.
const (
	available    = "Available"
	notAvailable = "Not Available"
)

// health reads a state word such as "Available" or
// "Not Available(MetaX Sysfs File Unaccessible)".
func health(s string) *model.Health {
	if boxtable.Absent(s) || !letterFirst(s) {
		return nil
	}
	state, reason, _ := strings.Cut(s, "(")
	state = strings.TrimSpace(state)
	return &model.Health{
		OK:     state == available,
		State:  state,
		Reason: strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reason), ")")),
	}
}

// slice reads a row of the sliced-GPU box.
func (p *tableParser) slice(cells []string) {
	if len(cells) != len(p.upper) {
		p.warn("a slice row has other cells than its header: %.60q", strings.Join(cells, "|"))
		return
	}
	gpu, okGPU := p.cell(p.upper, cells, colGPU)
	id, okID := p.cell(p.upper, cells, colSliceID)
	_, isGPU := boxtable.Index(gpu)
	_, isID := boxtable.Index(id)
	if !okGPU || !okID || !isGPU || !isID {
		p.warn("a slice row identifies no slice: %.60q", strings.Join(cells, "|"))
		return
	}
	s := model.Slice{Device: gpu, ID: id}
	for _, other := range p.report.Slices {
		if other.Device == s.Device && other.ID == s.ID {
			p.warn("slice %s of card %s is printed twice", id, gpu)
			return
		}
	}
	p.share(&s.ComputeQuotaRatio, cells, colCompute)
	p.share(&s.UtilizationRatio, cells, colSliceUtil)
	if quota, ok := p.cell(p.upper, cells, colQuota); ok {
		u, err := boxtable.ParseUsage(quota, "MiB")
		if err != nil {
			p.warn("slice %s of card %s: %v", id, gpu, err)
		}
		s.MemoryUsedBytes, s.MemoryQuotaBytes = u.Used, u.Total
	}
	p.report.Slices = append(p.report.Slices, s)
}

func (p *tableParser) share(dst **float64, cells []string, word string) {
	value, ok := p.cell(p.upper, cells, word)
	if !ok || boxtable.Absent(value) {
		return
	}
	ratio, ok := percent(value)
	if !ok {
		p.warn("slice: cannot read %s from %.40q", word, value)
		return
	}
	*dst = ratio
}

// process reads a row of the process box. A process on a slice has the card
// "0-s3": its memory is still the card's.
func (p *tableParser) process(cells []string) {
	row := strings.Join(cells, "|")
	if row == "" || strings.HasPrefix(row, "no process found") {
		return
	}
	gpu, okGPU := p.cell(p.upper, cells, colGPU)
	pid, okPID := p.cell(p.upper, cells, colPID)
	name, _ := p.cell(p.upper, cells, colProcess)
	mem, okMem := p.cell(p.upper, cells, colProcessMem)
	gpu, _, _ = strings.Cut(gpu, "-s")
	_, isGPU := boxtable.Index(gpu)
	_, isPID := boxtable.Index(pid)
	i, j, _ := find(p.upper, colProcessMem)
	if !okGPU || !okPID || !okMem || !isGPU || !isPID {
		p.warn("cannot read a process row: %.60q", row)
		return
	}
	if boxtable.Absent(mem) {
		return
	}
	bytes, ok := boxtable.Bytes(mem, p.upper[i][j].Unit)
	if !ok {
		p.warn("process %s on card %s: cannot read its memory from %.40q", pid, gpu, mem)
		return
	}
	p.report.Processes = append(p.report.Processes,
		model.Process{Device: gpu, PID: pid, Name: boxtable.Label(name), UsedBytes: bytes})
}
