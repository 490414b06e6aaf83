package smitext

import (
	"errors"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Entry is one value and the word that it stands under or behind.
type Entry struct {
	Path  string // the titles above the word: clocks > xcore
	Word  string // lower case, without the unit: single blanks in it in "key : value" text, none in a column table
	Unit  string // what stood in brackets behind the word, often empty
	Value string // trimmed, often empty
	Err   error  // why Value, the whole cell, is not the word's; nil where it is
}

// Block is the entries of one card, or of one chip, slice or process of it.
type Block struct {
	Card    string // behind GPU#, NPU ID, DEV ID, [devid or [device, or a query's index; "" where none is printed
	BusID   string // beside GPU# or XPU, or a query's pci.bus_id
	Chip    string // "" where none is printed
	MCU     bool   // of the board's controller and of no chip
	Chips   int    // how many the card is said to have, 0 where nothing is said
	Text    string // of a row of a drawn table: its cells as printed
	Entries []Entry
}

// Find returns the first entry of a word whose value is known, nil where there is none.
func (b *Block) Find(word string) *Entry {
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Word == word && e.Err == nil {
			return e
		}
	}
	return nil
}

// Value returns the value of a word, "" where there is none.
func (b *Block) Value(word string) string {
	if e := b.Find(word); e != nil {
		return e.Value
	}
	return ""
}

// Header words of the tables of processes, which vendors' tables give to the tool's own.
const (
	PID           = "pid"
	ProcessName   = "process name"
	ProcessMemory = "process memory"
)

var errOtherValues = errors.New("not as many values as the header has columns")

// Process reads a process, but for its card. It is not known where no memory is printed.
func (b *Block) Process() (p model.Process, known bool, err error) {
	pid, memory := b.Value(PID), b.Find(ProcessMemory)
	if !IsIndex(pid) || memory == nil {
		return p, false, CannotRead("a process", b.Text, errOtherValues)
	}
	bytes, known, err := Bytes.Parse(memory.Value, memory.Unit)
	if err != nil {
		return p, false, CannotRead(ProcessMemory, memory.Value, err)
	}
	return model.Process{PID: pid, Name: Label(b.Value(ProcessName)), UsedBytes: bytes}, known, nil
}

// AddProcess adds the process of a block to those of a report, on a card.
func (b *Block) AddProcess(r *model.Report, card string) {
	p, isKnown, err := b.Process()
	if err != nil {
		r.Warn("%v", err)
	}
	if p.Device = card; isKnown {
		r.Processes = append(r.Processes, p)
	}
}

// AddCard adds a card, with the readings of its block, to those of a table.
func (rows Rows) AddCard(r *model.Report, d model.Device, b *Block) {
	switch {
	case slices.ContainsFunc(r.Devices, func(other model.Device) bool { return other.ID == d.ID }):
		r.Warn("card %s is printed twice", d.ID)
	case len(r.Devices) == model.MaxDevices:
		r.Warn("more than %d cards", model.MaxDevices)
	default:
		d.Readings = make(model.Readings, 0, 8)
		rows.Read(b, &d, &d.Readings, func(err error) { r.Warn("card %s: %v", d.ID, err) })
		r.Devices = append(r.Devices, d)
	}
}

// CheckCards returns the report of a table that has a card. Else it fails with failure.NoDevice where the tool has printed
// that there is none, and with failure.Parse where that is not known.
func CheckCards(r model.Report, hasNone bool) (model.Report, error) {
	switch {
	case len(r.Devices) > 0:
		return r, nil
	case hasNone && r.Warnings.Count == 0:
		return model.Report{}, failure.Errorf(failure.NoDevice, "the tool lists no card")
	}
	return model.Report{}, failure.Errorf(failure.Parse, "no complete card in the output")
}

// Owner returns which of the cards a block is about, -1 for none.
type Owner func(b *Block, cards []model.Device) int

// FindCard is the Owner by the block's number and bus id, or by the one that is printed. Where they name two cards, the
// block is about neither: numbers move up when a card falls off the bus.
func FindCard(b *Block, cards []model.Device) int {
	named := model.Device{ID: b.Card, BusID: b.BusID}
	return slices.IndexFunc(cards, func(d model.Device) bool { return d.IsSame(&named) && (b.Card == "" || b.Card == d.ID) })
}

// ReadCards reads the cards' readings from the blocks of a command. A card of which a row found its word is in the
// report, also where nothing could be read. It fails with failure.Parse where no card is.
func (rows Rows) ReadCards(blocks []Block, owner Owner, cards []model.Device) (model.Report, error) {
	var report model.Report
	devices := make([]model.Device, len(cards))
	for i := range blocks {
		at := owner(&blocks[i], cards)
		if at < 0 {
			continue
		}
		warn := func(err error) { report.Warn("card %s: %v", cards[at].ID, err) }
		if rows.Read(&blocks[i], &cards[at], &devices[at].Readings, warn) {
			devices[at].ID = cards[at].ID
		}
	}
	for _, d := range devices {
		if d.ID != "" {
			report.Devices = append(report.Devices, d)
		}
	}
	if len(report.Devices) == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "nothing in the output is about the cards that were asked for")
	}
	return report, nil
}
