package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// card reads one of a card's two rows. Where the first one has the card's number
// and bus id, the second has a temperature and a pair of memory.
func (p *tableParser) card(cells []string) {
	p.row.Read(p.upper, cells)
	id, _ := p.row.Lead(colGPU)
	bus, okBus := p.row.Get(colBusID)
	_, isIndex := printed.Index(id)
	_, _, isPair := printed.CutPair(bus)
	if isIndex && !isPair || printed.PCIAddress(bus) {
		p.dropPending("its second row is missing")
	}
	switch {
	case p.pending != nil:
		p.secondRow(cells)
	case isIndex && okBus && (printed.Absent(bus) || printed.PCIAddress(bus)) && p.isBoard():
		p.firstRow(id, bus)
	default:
		p.dropUnclosed(boxtable.BelowHeader)
		p.order.broken()
		p.report.Warn("a row identifies no card: %.60q", strings.Join(cells, "|"))
	}
}

// isBoard reports whether a board's number stands where there is one: what begins as
// another row does has something else there.
func (p *tableParser) isBoard() bool {
	board, _ := p.row.Get(colBoard)
	_, isIndex := printed.Index(board)
	return isIndex || printed.Absent(board)
}

// firstRow starts a card.
func (p *tableParser) firstRow(id, bus string) {
	p.dropUnclosed(boxtable.BehindRecord)
	d := &model.Device{ID: id, BusID: printed.Label(bus)}
	if name, ok := p.row.Get(colName); ok {
		d.Name = printed.Label(name)
	}
	if board, ok := p.row.Get(colBoard); ok {
		d.Board = printed.Label(board)
	}
	if !p.known[id] { // else it is left out after its second row
		d.Readings = make(model.Readings, 0, 8)
		p.readings(d)
	}
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
		p.order.broken()
		p.report.Warn("card %s is printed twice", d.ID)
		return
	}
	p.readings(d)
	p.known[d.ID] = true
	p.order.add()
	p.rules.EndRecord()
	p.report.Devices = append(p.report.Devices, *d)
}

// readings reads every value of a row whose header word is known. Where values
// and words do not line up, a value is still known by its unit, if it is the only
// one with that unit.
func (p *tableParser) readings(d *model.Device) {
	for v := range p.row.Values() {
		if ofSlice(v.Column) {
			continue
		}
		text := v.Text
		if !v.Fits {
			if v.Cell == "" || v.Column.Field == nil {
				continue
			}
			var ok bool
			if text, ok = onlyOne(v.Column.Field, v.Cell); !ok {
				p.report.Warn("card %s: cannot tell which part of %.40q is %s", d.ID, v.Cell, v.Column.Word)
				continue
			}
		}
		if v.Column.Word == colState || isState(text) { // one release prints GPU-Util over the states
			p.state(d, text)
			continue
		}
		if err := v.Column.Read(&d.Readings, text); err != nil {
			p.report.Warn("card %s: cannot read %s from %.40q: %v", d.ID, v.Column.Word, text, err)
		}
	}
}

// ofSlice reports whether a column holds a metric of slices: a word of one box may
// stand in another.
func ofSlice(c *boxtable.Column) bool {
	return c.Field != nil && c.Field.Metric.OfSlice()
}

// onlyOne finds the only part of a cell that has a field's unit.
func onlyOne(f *printed.Field, cell string) (text string, ok bool) {
	n := 0
	for _, token := range boxtable.Tokens(cell) {
		if f.Carries(token) {
			text, n = token, n+1
		}
	}
	return text, n == 1
}

func (p *tableParser) state(d *model.Device, text string) {
	if printed.Absent(text) {
		return
	}
	if d.Health = health(text); d.Health == nil {
		p.report.Warn("card %s: cannot read its state from %.40q", d.ID, text)
	}
}

// The two states met so far.
const (
	available    = "Available"
	notAvailable = "Not Available"
)

func isState(s string) bool {
	return strings.HasPrefix(s, available) || strings.HasPrefix(s, notAvailable)
}

// health reads a state word such as "Available" or
// "Not Available(MetaX Sysfs File Unaccessible)".
func health(s string) *model.Health {
	if printed.Absent(s) || !letterFirst(s) {
		return nil
	}
	state, reason, _ := strings.Cut(s, "(")
	if end := strings.LastIndexByte(reason, ')'); end >= 0 {
		reason = reason[:end]
	}
	state = strings.TrimSpace(state)
	if state != available && strings.HasPrefix(available, state) { // cut
		return nil
	}
	return &model.Health{OK: state == available, State: state, Reason: strings.TrimSpace(reason)}
}

// slice reads a row of the sliced-GPU box.
func (p *tableParser) slice(cells []string) {
	if !p.row.Read(p.upper, cells) {
		p.report.Warn("a slice row has other cells than its header: %.60q", strings.Join(cells, "|"))
		return
	}
	gpu, okGPU := p.row.Index(colGPU)
	id, okID := p.row.Index(colSliceID)
	key := [2]string{gpu, id}
	switch {
	case !okGPU || !okID:
		p.report.Warn("a slice row identifies no slice: %.60q", strings.Join(cells, "|"))
		return
	case p.sliced[key]:
		p.report.Warn("slice %s of card %s is printed twice", id, gpu)
		return
	}
	p.sliced[key] = true
	s := model.Slice{Device: gpu, ID: id}
	for v := range p.row.Values() {
		if !v.Fits || !ofSlice(v.Column) {
			continue
		}
		if err := v.Column.Read(&s.Readings, v.Text); err != nil {
			p.report.Warn("slice %s of card %s: cannot read %s from %.40q: %v", id, gpu, v.Column.Word, v.Text, err)
		}
	}
	p.report.Slices = append(p.report.Slices, s)
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
	pid, okPID := p.row.Index(colPID)
	name, _ := p.row.Get(colProcess)
	mem, okMem := p.row.Get(colProcessMem)
	gpu, _, onSlice := strings.Cut(gpu, "-s")
	_, isGPU := printed.Index(gpu)
	if !okGPU || !okPID || !okMem || !isGPU {
		p.report.Warn("cannot read a process row: %.60q", row)
		return
	}
	if printed.Absent(mem) {
		return
	}
	bytes, ok := printed.Bytes.Value(mem, p.upper.Columns[p.upper.Find(colProcessMem)].Unit)
	if !ok {
		p.report.Warn("process %s on card %s: cannot read its memory from %.40q", pid, gpu, mem)
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
		model.Process{Device: gpu, PID: pid, Name: printed.Label(name), UsedBytes: bytes})
}

// holding is where a process was met on a card.
type holding struct {
	index   int // in the report
	onSlice bool
}
