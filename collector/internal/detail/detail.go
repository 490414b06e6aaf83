// Package detail turns what a deeper command printed into readings of cards. What
// is read is a vendor's table of rows; whose it is, the vendor's Owner says.
package detail

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Row is one key of a command's text and the metric that is read behind it, none for a
// key that proves whose text it is. Several rows may read the same key; where two tell
// the same metric, the first row holds.
//
// A * in Key is a number up to 99, without leading zeros, or all of the key. In
// Labels it is what the * in Key was, or what the Form says, and {key} is the value
// behind another key of the same block.
type Row struct {
	Section string // the titles above it, "" for wherever it stands
	Key     string // lower case, without the unit
	MCU     bool   // of the board's controller and of no chip
	printed.Field
	Form  Form
	Words map[string]float64 // by value, lower case: what it stands for, NaN for none; other values are not read
	Lanes string             // of Bits: the keys whose values say what lanes there are, with their number as *

	Positive bool                       // 0 is how a failed query prints
	Gate     bool                       // where it is 0, no other row of the block holds
	When     func(d *model.Device) bool // nil for every card
}

// Key is a row for a number behind a key; a table tells what is different with its
// methods.
func Key(key string, m model.Metric, u printed.Unit, labels ...string) Row {
	return Row{Key: key, Field: printed.Field{Metric: m, Labels: labels, Unit: u}}
}

// Under returns the row for a key that stands below titles.
func (r Row) Under(section string) Row { r.Section = section; return r }

// As returns the row for values of another form.
func (r Row) As(f Form) Row { r.Form = f; return r }

// Of returns the row for words.
func (r Row) Of(words map[string]float64) Row { r.Words = words; return r }

// In returns the row for values without a unit, in that of the symbol.
func (r Row) In(symbol string) Row { r.Assumed = symbol; return r }

// NotZero returns the row for values of which 0 is none.
func (r Row) NotZero() Row { r.Positive = true; return r }

// If returns the row for those cards only.
func (r Row) If(when func(d *model.Device) bool) Row { r.When = when; return r }

// Form is how a value is printed.
type Form uint8

// The forms.
const (
	Number Form = iota // a number with its unit, or one of Words
	List               // [a b c]: one number a link, the first being 1
	Bits               // 0x5: one bit a lane
	Hex                // 0xff3000
	Codes              // words of hex digits: a label each, and 1
	Text               // the whole value is a label, and 1; with Words, one of them
)

// all is a Key that is every key's.
const all = "*"

const (
	maxReadings = 512 // of a card: a real text has up to 70
	maxWarnings = 5
)

// Owner returns which of the cards a block is about, -1 for none. An error means
// that the whole text is about others than the cards that were asked for.
type Owner func(b *keyvalue.Block, cards []model.Device) (int, error)

// Parse reads blocks into readings, by rows. A card of which a row found its key is
// told, also where nothing could be read. It fails with failure.Parse where no card
// is.
func Parse(blocks []keyvalue.Block, rows []Row, owner Owner, cards []model.Device) ([]smi.Told, error) {
	p := newParser(rows, cards)
	for i := range blocks {
		at, err := owner(&blocks[i], cards)
		if err != nil {
			return nil, failure.New(failure.Parse, "%w", err)
		}
		if at >= 0 {
			p.block(&blocks[i], at)
		}
	}
	var told []smi.Told
	for i := range p.cards {
		if c := &p.cards[i]; c.known {
			told = append(told, smi.Told{Device: cards[i].ID, Readings: p.readings(c), Warnings: c.warnings})
		}
	}
	if len(told) == 0 {
		return nil, failure.New(failure.Parse, "nothing in the output is about the cards that were asked for")
	}
	return told, nil
}

type parser struct {
	rows    []Row
	exact   map[string][]int // rows by key
	globs   []int            // rows with a * in their key
	devices []model.Device
	cards   []card // one a device
}

// card is what was found of one device.
type card struct {
	known    bool
	found    []found
	warnings []string
}

type found struct {
	row int
	model.Reading
}

func newParser(rows []Row, devices []model.Device) *parser {
	p := &parser{rows: rows, exact: map[string][]int{}, devices: devices, cards: make([]card, len(devices))}
	for i := range rows {
		if strings.Contains(rows[i].Key, "*") {
			p.globs = append(p.globs, i)
		} else {
			p.exact[rows[i].Key] = append(p.exact[rows[i].Key], i)
		}
	}
	return p
}

// block reads the entries of one card. Where a key is there twice, the line between two
// cards was lost, and none of them is data.
func (p *parser) block(b *keyvalue.Block, at int) {
	c := &p.cards[at]
	begin, closed := len(c.found), false
	seen := map[place]bool{}
	for i := range b.Entries {
		e := &b.Entries[i]
		for _, row := range slices.Concat(p.exact[e.Key], p.globs) {
			r := &p.rows[row]
			star, ok := match(r.Key, e.Key)
			if !ok || !r.isFor(e, b, &p.devices[at]) {
				continue
			}
			if c.known = true; seen[place{row, star}] {
				c.found = c.found[:begin]
				c.warn("card %s: %s is there twice", p.devices[at].ID, e.Key)
				return
			}
			seen[place{row, star}] = true
			values, ok := r.read(e, b, star)
			if !ok && r.Key != all {
				c.warn("card %s: cannot read %s from %.40q", p.devices[at].ID, e.Key, e.Value)
			}
			for _, v := range values {
				c.found = append(c.found, found{row, v})
				closed = closed || r.Gate && v.Value == 0
			}
		}
	}
	if closed {
		kept := slices.DeleteFunc(c.found[begin:], func(f found) bool { return !p.rows[f.row].Gate })
		c.found = c.found[:begin+len(kept)]
	}
}

// place is a row and what its * is.
type place struct {
	row  int
	star string
}

// isFor reports whether a row reads a key where it stands.
func (r *Row) isFor(e *keyvalue.Entry, b *keyvalue.Block, d *model.Device) bool {
	return r.MCU == b.MCU && (r.Section == "" || strings.EqualFold(r.Section, e.Section)) && (r.When == nil || r.When(d))
}

func (c *card) warn(format string, args ...any) {
	if len(c.warnings) < maxWarnings {
		c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
	}
}

// readings are a card's in the order of the rows, each metric once for the same
// labels. What is used of a total needs that total.
func (p *parser) readings(c *card) model.Readings {
	slices.SortStableFunc(c.found, func(a, b found) int { return cmp.Compare(a.row, b.row) })
	var rs model.Readings
	add := func(ofTotal bool) {
		for _, f := range c.found {
			total := p.rows[f.row].Total
			if (total != "") != ofTotal || len(rs) >= maxReadings {
				continue
			}
			if whole, ok := rs.Get(total, f.Labels...); !ofTotal || ok && f.Value <= whole {
				rs.Add(f.Reading)
			}
		}
	}
	add(false)
	add(true)
	return rs
}
