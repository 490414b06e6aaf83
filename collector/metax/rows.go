package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// card reads a card's two rows. The first one has the card's number and bus id.
func (p *tableParser) card(b *smitext.Block) bool {
	id, bus, memory := b.Value(colGPU), b.Find(colBusID), b.Find(colMemory)
	if !smitext.IsIndex(id) || memory == nil || smitext.PCIAddress(memory.Value) ||
		bus == nil || !smitext.Absent(bus.Value) && !smitext.PCIAddress(bus.Value) {
		return false
	}
	d := model.Device{ID: id, BusID: smitext.Label(bus.Value), Name: smitext.Label(b.Value(colName)), Board: smitext.Label(b.Value(colBoard))}
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Word == colUtil && isState(e.Value) { // one release prints the word over the states
			e.Word = colState
		}
	}
	if state := b.Value(colState); !smitext.Absent(state) {
		if d.Health = health(state); d.Health == nil {
			p.report.Warn("card %s: cannot read %s from %.40q", id, colState, state)
		}
	}
	cardRows.AddCard(&p.report, d, b)
	return true
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
	if smitext.Absent(s) || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return nil
	}
	state, reason, _ := strings.Cut(s, "(")
	if end := strings.LastIndexByte(reason, ')'); end >= 0 {
		reason = reason[:end]
	}
	state = strings.TrimSpace(state)
	return &model.Health{OK: state == available, State: state, Reason: strings.TrimSpace(reason)}
}

// slice reads a row of the table of sliced GPUs.
func (p *tableParser) slice(b *smitext.Block) bool {
	s := model.Slice{Device: b.Value(colGPU), ID: b.Value(colSliceID)}
	if !smitext.IsIndex(s.Device) || !smitext.IsIndex(s.ID) {
		return false
	}
	key := [2]string{s.Device, s.ID}
	if p.slices[key] {
		p.report.Warn("slice %s of card %s is printed twice", s.ID, s.Device)
		return true
	}
	p.slices[key] = true
	sliceRows.Read(b, nil, &s.Readings, func(err error) { p.report.Warn("slice %s of card %s: %v", s.ID, s.Device, err) })
	p.report.Slices = append(p.report.Slices, s)
	return true
}

// holding is where a process was met on a card.
type holding struct {
	index   int // in the report
	onSlice bool
}

// process reads a row of the table of processes. A process on a slice has the card
// "0-s3": its memory is still the card's.
func (p *tableParser) process(b *smitext.Block) bool {
	if text := strings.Trim(b.Text, "|"); text == "" || strings.HasPrefix(text, "no process found") {
		return true
	}
	gpu, _, onSlice := strings.Cut(b.Value(colGPU), "-s")
	if !smitext.IsIndex(gpu) {
		return false
	}
	process, known, err := b.Process()
	if err != nil {
		p.report.Warn("card %s: %v", gpu, err)
	}
	if !known {
		return true
	}
	key := [2]string{gpu, process.PID}
	if at, twice := p.holdings[key]; twice && (onSlice || at.onSlice) {
		if onSlice && at.onSlice { // on two slices: it holds both
			p.report.Processes[at.index].UsedBytes += process.UsedBytes
		}
		return true // on the card and on a slice of it: the same memory
	}
	p.holdings[key] = holding{index: len(p.report.Processes), onSlice: onSlice}
	process.Device = gpu
	p.report.Processes = append(p.report.Processes, process)
	return true
}
