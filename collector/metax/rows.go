package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// card reads one of a card's two rows. Where the first one has the card's number
// and bus id, the second has a temperature and a pair of memory.
func (p *tableParser) card(cells []string) {
	p.row.Read(p.upper, cells)
	id, _ := p.row.Lead(colGPU)
	bus, okBus := p.row.Get(colBusID)
	_, isIndex := boxtable.Index(id)
	_, _, isPair := boxtable.CutPair(bus)
	if isIndex && !isPair || boxtable.PCIAddress(bus) {
		p.dropPending("its second row is missing")
	}
	switch {
	case p.pending != nil:
		p.secondRow(cells)
	case isIndex && okBus && (boxtable.Absent(bus) || boxtable.PCIAddress(bus)):
		p.firstRow(id, bus)
	default:
		p.warn("a row identifies no card: %.60q", strings.Join(cells, "|"))
	}
}

// firstRow starts a card.
func (p *tableParser) firstRow(id, bus string) {
	d := &model.Device{ID: id, BusID: boxtable.Label(bus)}
	if name, ok := p.row.Get(colName); ok {
		d.Name = boxtable.Label(name)
	}
	if board, ok := p.row.Get(colBoard); ok {
		d.Board = boxtable.Label(board)
	}
	p.readings(d)
	p.pending = d
}

func (p *tableParser) secondRow(cells []string) {
	d := p.pending
	if !p.row.Read(p.lower, cells) {
		p.dropPending("its second row has other cells than the header")
		return
	}
	p.pending = nil
	if p.known[d.ID] {
		p.warn("card %s is printed twice", d.ID)
		return
	}
	p.readings(d)
	p.known[d.ID] = true
	p.report.Devices = append(p.report.Devices, *d)
}

// readings reads every value of a row whose header word is known. Where values
// and words do not line up, a value is still known by its unit, if it is the
// only one of that unit.
func (p *tableParser) readings(d *model.Device) {
	for v := range p.row.Values() {
		switch {
		case v.Fits:
			p.reading(d, v.Column, v.Text)
		case v.Cell != "" && isReading(v.Column.Word):
			if value, ok := byUnit(v.Column.Word, v.Cell); ok {
				p.reading(d, v.Column, value)
			} else {
				p.warn("card %s: cannot tell which part of %.40q is %s", d.ID, v.Cell, v.Column.Word)
			}
		}
	}
}

func byUnit(word, cell string) (string, bool) {
	found, n := "", 0
	for _, token := range boxtable.Tokens(cell) {
		if carriesUnit(word, token) {
			found, n = token, n+1
		}
	}
	return found, n == 1
}

func isReading(word string) bool {
	switch word {
	case colUtil, colTemp, colPower, colPowerAndCap, colPerf, colMemory:
		return true
	}
	return false
}

func carriesUnit(word, token string) bool {
	ok := false
	switch word {
	case colUtil:
		_, ok = unitNumber(token, "%")
	case colTemp:
		_, ok = unitNumber(token, "C")
	case colPower, colPowerAndCap:
		used, _ := cutPower(token)
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

func (p *tableParser) reading(d *model.Device, col *boxtable.Column, value string) {
	if boxtable.Absent(value) {
		return
	}
	if col.Word == colState || strings.HasPrefix(value, available) || strings.HasPrefix(value, notAvailable) {
		d.Health = health(value) // one release prints GPU-Util over the states
		if d.Health == nil {
			p.warn("card %s: cannot read its state from %.40q", d.ID, value)
		}
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
		if ok = strings.HasSuffix(value, "B"); ok { // without a unit it is not memory
			u, err := boxtable.ParseUsage(value, "")
			d.Memory, ok = memory(u), err == nil
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

// power reads "71W", "69W / 350W" and "97W / NA".
func power(d *model.Device, value string) bool {
	used, limit := cutPower(value)
	okUsed, okLimit := true, true
	if !boxtable.Absent(used) {
		w, ok := unitNumber(used, "W")
		d.PowerWatts, okUsed = reading(w, ok && w >= 0)
	}
	if !boxtable.Absent(limit) {
		w, ok := unitNumber(limit, "W")
		d.PowerLimitWatts, okLimit = reading(w, ok && w >= 0)
		if ok && w == 0 {
			d.PowerLimitWatts = nil // a limit of 0 is a total of 0: none is known
		}
	}
	return okUsed && okLimit
}

func cutPower(value string) (used, limit string) {
	used, limit, ok := boxtable.CutPair(value)
	if !ok {
		return value, ""
	}
	return used, limit
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
	if end := strings.LastIndexByte(reason, ')'); end >= 0 {
		reason = reason[:end]
	}
	state = strings.TrimSpace(state)
	return &model.Health{OK: state == available, State: state, Reason: strings.TrimSpace(reason)}
}

// slice reads a row of the sliced-GPU box.
func (p *tableParser) slice(cells []string) {
	if !p.row.Read(p.upper, cells) {
		p.warn("a slice row has other cells than its header: %.60q", strings.Join(cells, "|"))
		return
	}
	gpu, okGPU := p.row.Get(colGPU)
	id, okID := p.row.Get(colSliceID)
	_, isGPU := boxtable.Index(gpu)
	_, isID := boxtable.Index(id)
	key := [2]string{gpu, id}
	switch {
	case !okGPU || !okID || !isGPU || !isID:
		p.warn("a slice row identifies no slice: %.60q", strings.Join(cells, "|"))
		return
	case p.sliced[key]:
		p.warn("slice %s of card %s is printed twice", id, gpu)
		return
	}
	p.sliced[key] = true
	s := model.Slice{Device: gpu, ID: id}
	p.share(&s, &s.ComputeQuotaRatio, colCompute)
	p.share(&s, &s.UtilizationRatio, colSliceUtil)
	if quota, ok := p.row.Get(colQuota); ok {
		u, err := boxtable.ParseUsage(quota, "MiB")
		if err != nil {
			p.warn("slice %s of card %s: %v", id, gpu, err)
		}
		s.MemoryUsedBytes, s.MemoryQuotaBytes = u.Used, u.Total
	}
	p.report.Slices = append(p.report.Slices, s)
}

func (p *tableParser) share(s *model.Slice, dst **float64, word string) {
	value, ok := p.row.Get(word)
	if !ok || boxtable.Absent(value) {
		return
	}
	ratio, ok := percent(value)
	if !ok {
		p.warn("slice %s of card %s: cannot read %s from %.40q", s.ID, s.Device, word, value)
		return
	}
	*dst = ratio
}

// process reads a row of the process box. A process on a slice has the card
// "0-s3": its memory is still the card's.
func (p *tableParser) process(cells []string) {
	row := strings.Join(cells, "|")
	if strings.Trim(row, "|") == "" || strings.HasPrefix(row, "no process found") {
		return
	}
	p.row.Read(p.upper, cells) // not with a bar in the name: a part of it would be taken for the memory
	gpu, okGPU := p.row.Get(colGPU)
	pid, okPID := p.row.Get(colPID)
	name, _ := p.row.Get(colProcess)
	mem, okMem := p.row.Get(colProcessMem)
	gpu, _, onSlice := strings.Cut(gpu, "-s")
	_, isGPU := boxtable.Index(gpu)
	_, isPID := boxtable.Index(pid)
	if !okGPU || !okPID || !okMem || !isGPU || !isPID {
		p.warn("cannot read a process row: %.60q", row)
		return
	}
	if boxtable.Absent(mem) {
		return
	}
	bytes, ok := boxtable.Bytes(mem, p.upper.Columns[p.upper.Find(colProcessMem)].Unit)
	if !ok {
		p.warn("process %s on card %s: cannot read its memory from %.40q", pid, gpu, mem)
		return
	}
	key := [2]string{gpu, pid}
	if at, twice := p.held[key]; twice && (onSlice || at.onSlice) {
		if onSlice && at.onSlice { // on two slices: it holds both
			p.report.Processes[at.index].UsedBytes += bytes
		}
		return // on the card and on a slice of it: the same memory
	}
	p.held[key] = holding{index: len(p.report.Processes), onSlice: onSlice}
	p.report.Processes = append(p.report.Processes,
		model.Process{Device: gpu, PID: pid, Name: boxtable.Label(name), UsedBytes: bytes})
}

// holding is where a process was met on a card.
type holding struct {
	index   int // in the report
	onSlice bool
}
