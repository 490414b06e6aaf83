package smitext

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// KeyRow is one key of a command's text and the metric that is read behind it, none for a
// key that only proves whose text it is. Several rows may read the same key; where two read
// the same metric, the first row holds.
//
// A * in Key is a number up to 99, without leading zeros, or all of the key. In Labels it
// is what the * in Key was, or what the Form says, and {key} is the value behind another
// key of the same block.
type KeyRow struct {
	Section string // the titles above it, "" for wherever it stands
	Key     string // lower case, without the unit
	Metric  model.Metric
	Unit    Unit
	Labels  []string // values of the metric's own labels

	DefaultUnit string             // symbol of the unit where neither value nor key has one
	Form        Form               // how the value is printed
	Words       map[string]float64 // by value, lower case: what it stands for, NaN for none; other values are not read
	Lanes       string             // of FormBits: the keys whose values say what lanes there are, with their number as *
	Total       model.Metric       // an earlier row's, without which, or above which, the value is not read

	OfMCU       bool                          // of the board's controller and of no chip
	WithoutZero bool                          // 0 is how a failed query prints
	Underflows  bool                          // a value of 2^63 and more is one below zero
	Applies     func(card *model.Device) bool // nil for every card
}

// Under returns the row for a key below titles.
func (r KeyRow) Under(section string) KeyRow { r.Section = section; return r }

// InUnit returns the row for values without a unit, in that of the symbol.
func (r KeyRow) InUnit(symbol string) KeyRow { r.DefaultUnit = symbol; return r }

// WithForm returns the row for values of another form.
func (r KeyRow) WithForm(f Form) KeyRow { r.Form = f; return r }

// WithWords returns the row for words.
func (r KeyRow) WithWords(words map[string]float64) KeyRow { r.Words = words; return r }

// WithLaneBits returns the row for hex of one bit a lane. What lanes there are, the keys say
// that have a value, with the lane's number as *.
func (r KeyRow) WithLaneBits(lanes string) KeyRow { r.Form, r.Lanes = FormBits, lanes; return r }

// NotZero returns the row for values of which 0 is none.
func (r KeyRow) NotZero() KeyRow { r.WithoutZero = true; return r }

// NoUnderflow returns the row for counters that a tool lets go below zero.
func (r KeyRow) NoUnderflow() KeyRow { r.Underflows = true; return r }

// Within returns the row for a value that is part of an earlier row's total.
func (r KeyRow) Within(total model.Metric) KeyRow { r.Total = total; return r }

// OnlyFor returns the row for those cards only.
func (r KeyRow) OnlyFor(applies func(card *model.Device) bool) KeyRow { r.Applies = applies; return r }

// Key is a row for a number behind a key, wherever it stands.
func Key(key string, m model.Metric, u Unit, labels ...string) KeyRow {
	return KeyRow{Key: key, Metric: m, Unit: u, Labels: labels}
}

// Owner returns which of the cards a block is about, -1 for none.
type Owner func(b *Block, cards []model.Device) int

// maxReadings bounds what one text adds to a card: a real one has up to 70.
const maxReadings = 512

// ParseKeys reads the cards' readings from blocks, by rows. A card of which a row found its
// key is in the report, also where nothing could be read. It fails with failure.Parse
// where no card is.
func ParseKeys(blocks []Block, rows []KeyRow, owner Owner, cards []model.Device) (model.Report, error) {
	var report model.Report
	devices := make([]model.Device, len(cards))
	for i := range blocks {
		at := owner(&blocks[i], cards)
		if at < 0 {
			continue
		}
		for j := range rows {
			if rows[j].readBlock(&blocks[i], &cards[at], &devices[at].Readings, &report.Warnings) {
				devices[at].ID = cards[at].ID
			}
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

// readBlock adds what a row reads of a card, and reports whether its key is there.
func (r *KeyRow) readBlock(b *Block, card *model.Device, to *model.Readings, warnings *model.Warnings) (found bool) {
	if r.OfMCU != b.MCU || r.Applies != nil && !r.Applies(card) {
		return false
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		star, ok := matchKey(r.Key, e.Key)
		if !ok || r.Section != "" && !strings.EqualFold(r.Section, e.Section) {
			continue
		}
		found = true
		readings, ok := r.readings(e, star, b)
		if !ok && r.Key != anyKey { // of what is read whatever its name, nothing is expected
			warnings.Add("card %s: cannot read %s from %.40q", card.ID, e.Key, e.Value)
		}
		for _, reading := range readings {
			total, hasTotal := to.Get(r.Total, reading.Labels...)
			if (r.Total == "" || hasTotal && reading.Value <= total) && len(*to) < maxReadings {
				to.Add(reading)
			}
		}
	}
	return found
}

const anyKey = "*"

// matchKey compares a key with that of a row, and returns what its * is.
func matchKey(pattern, key string) (star string, ok bool) {
	if pattern == anyKey {
		return snakeCase(key)
	}
	before, after, hasStar := strings.Cut(pattern, "*")
	if !hasStar {
		return "", pattern == key
	}
	star, ok = strings.CutPrefix(key, before)
	if ok {
		star, ok = strings.CutSuffix(star, after)
	}
	_, isIndex := Index(star)
	return star, ok && isIndex && len(star) <= 2
}

var blanksAndDashes = strings.NewReplacer(" ", "_", "-", "_")

// snakeCase makes a printed name a label: "LM75A_TE" is "lm75a_te". A name with anything
// but letters and digits between its parts is none.
func snakeCase(name string) (string, bool) {
	s := blanksAndDashes.Replace(strings.ToLower(name))
	return s, s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
