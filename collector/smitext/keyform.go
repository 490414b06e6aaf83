package smitext

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Form is how a value is printed.
type Form uint8

// The forms.
const (
	FormNumber Form = iota // a number with its unit, or one of Words
	FormList               // [a b c]: one number a link, the first being 1
	FormBits               // 0x5: one bit a lane
	FormCodes              // words of hex digits: a label each, and 1
	FormText               // the whole value is a label, and 1; with Words, one of them
)

const maxLabel = 64 // bytes

// readings are what a row reads of one value, and whether all of it makes sense: an absent
// value does.
func (r *KeyRow) readings(e *Entry, star string, b *Block) (all []model.Reading, ok bool) {
	_, isWord := r.Words[strings.ToLower(e.Value)]
	if r.Metric == "" || !isWord && Absent(e.Value) {
		return nil, true
	}
	parts, ok := r.split(e.Value, star, b)
	for _, p := range parts {
		v, known, isNumber := r.number(p.number, e.Unit)
		labels, hasLabels := r.labelsOf(p.star, b)
		if ok = ok && isNumber && hasLabels; known && hasLabels {
			all = append(all, model.Reading{Metric: r.Metric, Labels: labels, Value: v})
		}
	}
	return all, ok
}

// part is one number of a value, and what the * in the labels is for it.
type part struct{ star, number string }

// split returns the parts of a value, false where it has another form than the row.
func (r *KeyRow) split(value, star string, b *Block) (parts []part, ok bool) {
	switch r.Form {
	case FormList:
		inner, begins := strings.CutPrefix(value, "[")
		inner, ends := strings.CutSuffix(inner, "]")
		if !begins || !ends {
			return nil, false
		}
		for i, cell := range strings.Fields(inner) {
			parts = append(parts, part{strconv.Itoa(i + 1), cell})
		}
	case FormBits:
		bits, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return nil, false
		}
		for _, lane := range lanes(b, r.Lanes) {
			parts = append(parts, part{strconv.Itoa(lane), strconv.FormatUint(bits>>lane&1, 10)})
		}
	case FormCodes:
		for code := range strings.FieldsSeq(value) {
			if _, err := strconv.ParseUint(code, 16, 64); err != nil {
				return nil, false
			}
			parts = append(parts, part{strings.ToUpper(code), "1"})
		}
	case FormText:
		if _, isWord := r.Words[strings.ToLower(value)]; r.Words != nil && !isWord {
			return nil, false
		}
		parts = []part{{value, "1"}}
	default:
		parts = []part{{star, value}}
	}
	return parts, true
}

// lanes are the numbers of the lanes for which a value is printed behind the keys.
func lanes(b *Block, keys string) []int {
	var all []int
	for i := range b.Entries {
		star, ok := matchKey(keys, b.Entries[i].Key)
		if n, _ := Index(star); ok && !Absent(b.Entries[i].Value) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// number reads one number, or one of the row's words. A count is a whole number of 64 bits;
// one of pages has 32, of which the highest is set when it went below zero.
func (r *KeyRow) number(text, unit string) (v float64, known, ok bool) {
	known = true
	switch {
	case Absent(text):
		return 0, false, true
	case r.Words != nil && r.Form == FormNumber:
		v, ok = r.Words[strings.ToLower(text)]
	case r.Unit == Count:
		n, err := parseCount(text)
		v, ok = float64(n), err == nil && (!r.Underflows || n < 1<<63)
	default:
		var err error
		v, known, err = r.Unit.parse(text, cmp.Or(unit, r.DefaultUnit))
		ok = err == nil
		known = known && (r.Unit != Pages || v < 1<<31)
	}
	return v, known && ok && !math.IsNaN(v) && (v != 0 || !r.WithoutZero), ok
}

func parseCount(text string) (uint64, error) {
	if digits, isHex := strings.CutPrefix(text, "0x"); isHex {
		return strconv.ParseUint(digits, 16, 64)
	}
	return strconv.ParseUint(text, 10, 64)
}

// labelsOf fills in the row's labels, and reports whether they can be labels: what is long
// or not printable, no tool prints there.
func (r *KeyRow) labelsOf(star string, b *Block) ([]string, bool) {
	if len(r.Labels) == 0 {
		return nil, true
	}
	labels := make([]string, len(r.Labels))
	for i, label := range r.Labels {
		if key, ok := strings.CutPrefix(label, "{"); ok {
			labels[i] = Label(b.Value(strings.TrimSuffix(key, "}")))
		} else {
			labels[i] = strings.ReplaceAll(label, "*", star)
		}
		if len(labels[i]) > maxLabel || strings.ContainsFunc(labels[i], func(c rune) bool { return c < ' ' || c > '~' }) {
			return nil, false
		}
	}
	return labels, true
}
