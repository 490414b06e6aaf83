package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// card reads a card's two rows. The first one has the card's number and bus id.
func (p *tableParser) card(first, second *smitext.Record) bool {
	id, okID := first.Index(colGPU)
	bus, okBus := first.Get(colBusID)
	memory, okMemory := second.Get(colMemory)
	if !okID || !okBus || !smitext.Absent(bus) && !smitext.PCIAddress(bus) || !okMemory || smitext.PCIAddress(memory) {
		return false
	}
	if p.cards[id] {
		p.report.Warn("card %s is printed twice", id)
		return true
	}
	p.cards[id] = true
	name, _ := first.Get(colName)
	board, _ := first.Get(colBoard)
	d := model.Device{
		ID: id, BusID: smitext.Label(bus), Name: smitext.Label(name), Board: smitext.Label(board),
		Readings: make(model.Readings, 0, 8),
	}
	warn := func(err error) { p.report.Warn("card %s: %v", id, err) }
	skip := func(c *smitext.Column, text string) bool { return c.Field.Metric.OfSlice() || isState(text) }
	first.Readings(&d.Readings, skip, warn)
	second.Readings(&d.Readings, skip, warn)
	for _, word := range []string{colState, colUtil} { // one release prints GPU-Util over the states
		state, ok := second.Get(word)
		if !ok || smitext.Absent(state) || word == colUtil && !isState(state) {
			continue
		}
		if d.Health = health(state); d.Health == nil {
			p.report.Warn("card %s: cannot read %s from %.40q", id, word, state)
		}
	}
	p.report.Devices = append(p.report.Devices, d)
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
func (p *tableParser) slice(row *smitext.Record) bool {
	gpu, okGPU := row.Index(colGPU)
	id, okID := row.Index(colSliceID)
	if !okGPU || !okID {
		return false
	}
	key := [2]string{gpu, id}
	if p.slices[key] {
		p.report.Warn("slice %s of card %s is printed twice", id, gpu)
		return true
	}
	p.slices[key] = true
	s := model.Slice{Device: gpu, ID: id}
	row.Readings(&s.Readings,
		func(c *smitext.Column, _ string) bool { return !c.Field.Metric.OfSlice() },
		func(err error) { p.report.Warn("slice %s of card %s: %v", id, gpu, err) })
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
func (p *tableParser) process(row *smitext.Record) bool {
	if text := strings.Trim(row.Text(), "|"); text == "" || strings.HasPrefix(text, "no process found") {
		return true
	}
	gpu, _ := row.Get(colGPU)
	gpu, _, onSlice := strings.Cut(gpu, "-s")
	if _, isGPU := smitext.Index(gpu); !isGPU {
		return false
	}
	process, known, err := row.Process()
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
