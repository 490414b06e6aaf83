package detail

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

const (
	maxCells = 64 // of a list
	maxLabel = 64 // bytes
)

// absent reports whether a value says that there is none. Names and states are told
// by more words than numbers, so only numbers go through here.
func absent(value string) bool {
	if printed.Absent(value) {
		return true
	}
	for _, none := range [...]string{"unknown!", "not supported", "not support", "get failed", "failed"} {
		if strings.EqualFold(value, none) {
			return true
		}
	}
	first, unit, _ := strings.Cut(value, " ")
	return printed.Absent(first) && printed.IsSymbol(unit)
}

// match compares a key with that of a row, and returns what its * is.
func match(pattern, key string) (star string, ok bool) {
	if pattern == all {
		return snake(key)
	}
	before, after, glob := strings.Cut(pattern, "*")
	if !glob {
		return "", pattern == key
	}
	star, ok = strings.CutPrefix(key, before)
	if ok {
		star, ok = strings.CutSuffix(star, after)
	}
	_, isIndex := printed.Index(star)
	return star, ok && isIndex && len(star) <= 2 && (len(star) == 1 || star[0] != '0')
}

// snake makes a printed name a label: "LM75A_TE" is "lm75a_te". A name with anything
// but letters and digits between its parts is none.
func snake(name string) (string, bool) {
	s := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(name))
	return s, s != "" && len(s) <= maxLabel && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// read reads one value, and reports whether all of it makes sense: an absent value
// does.
func (r *Row) read(e *keyvalue.Entry, b *keyvalue.Block, star string) (readings []model.Reading, ok bool) {
	add := func(v float64, star string) {
		if labels, hasLabels := r.labels(b, star); hasLabels {
			readings = append(readings, model.Reading{Metric: r.Metric, Labels: labels, Value: v})
		} else {
			ok = false
		}
	}
	if r.Metric == "" || r.Form != Text && absent(e.Value) || e.Value == "" {
		return nil, true
	}
	ok = true
	switch r.Form {
	case Number:
		v, known, isNumber := r.number(e.Value, e.Unit)
		if ok = isNumber; known {
			add(v, star)
		}
	case List:
		cells, isList := list(e.Value)
		ok = isList
		for i, cell := range cells {
			v, known, isNumber := r.number(cell, e.Unit)
			if ok = ok && isNumber; known {
				add(v, strconv.Itoa(i+1))
			}
		}
	case Bits:
		flags, isHex := hex(e.Value)
		ok = isHex
		for _, lane := range r.lanes(b) {
			if isHex {
				add(float64(flags>>lane&1), strconv.Itoa(lane))
			}
		}
	case Hex:
		v, isHex := hex(e.Value)
		if ok = isHex; isHex {
			add(float64(v), star)
		}
	case Codes:
		for code := range strings.FieldsSeq(e.Value) {
			if _, isHex := hex("0x" + code); !isHex {
				return nil, false
			}
			add(1, strings.ToUpper(code))
		}
	case Text:
		if _, isWord := r.Words[strings.ToLower(e.Value)]; r.Words != nil && !isWord {
			return nil, false
		}
		if r.Words != nil || !printed.Absent(e.Value) {
			add(1, e.Value)
		}
	}
	return readings, ok
}

// number reads one number, or one of the row's words. Counters are whole numbers of 64
// bits, of which the largest half is what one below zero prints as, and of a number of
// pages 32.
func (r *Row) number(text, unit string) (v float64, known, ok bool) {
	const belowZero, belowZeroPages = 1 << 63, 1 << 31
	switch {
	case absent(text):
		return 0, false, true
	case r.Words != nil:
		v, ok = r.Words[strings.ToLower(text)]
	case r.Unit == printed.Count:
		n, err := strconv.ParseUint(text, 10, 64)
		v, ok = float64(n), err == nil && n < belowZero
	default:
		v, ok = r.Unit.Value(text, cmp.Or(unit, r.Assumed))
		if r.Unit == printed.Pages && v >= belowZeroPages {
			return 0, false, true
		}
	}
	return v, ok && !math.IsNaN(v) && (v != 0 || !r.Positive), ok
}

// labels fills in the row's labels, and reports whether they can be labels.
func (r *Row) labels(b *keyvalue.Block, star string) ([]string, bool) {
	if len(r.Labels) == 0 {
		return nil, true
	}
	labels := make([]string, len(r.Labels))
	for i, label := range r.Labels {
		if key, ok := strings.CutPrefix(label, "{"); ok {
			labels[i] = strings.Clone(beside(b, strings.TrimSuffix(key, "}")))
		} else {
			labels[i] = strings.ReplaceAll(label, "*", strings.Clone(star))
		}
		if !isLabel(labels[i]) {
			return nil, false
		}
	}
	return labels, true
}

// beside is the value behind another key of a block, "" where there is none.
func beside(b *keyvalue.Block, key string) string {
	for i := range b.Entries {
		if b.Entries[i].Key == key {
			return printed.Label(b.Entries[i].Value)
		}
	}
	return ""
}

// isLabel reports whether s is short and printable: what is not, no tool prints there.
func isLabel(s string) bool {
	return len(s) <= maxLabel && strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}

// list splits "[224    224    ]". One that is cut is none.
func list(value string) ([]string, bool) {
	inner, begins := strings.CutPrefix(value, "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if cells := strings.Fields(inner); begins && ends && len(cells) <= maxCells {
		return cells, true
	}
	return nil, false
}

// hex reads "0x1f".
func hex(s string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, ok && err == nil
}

// lanes are the numbers of the lanes that a value is printed for.
func (r *Row) lanes(b *keyvalue.Block) []int {
	var lanes []int
	for i := range b.Entries {
		star, ok := match(r.Lanes, b.Entries[i].Key)
		n, _ := printed.Index(star)
		if ok && !absent(b.Entries[i].Value) && n < 32 && !slices.Contains(lanes, n) {
			lanes = append(lanes, n)
		}
	}
	return lanes
}
