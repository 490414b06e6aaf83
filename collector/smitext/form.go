package smitext

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Form is how a value is printed.
type Form uint8

// The forms.
const (
	FormNumber Form = iota // a number with its unit, or one of Words
	FormUsage              // used / total, or used(total); under a total of 0, which a failed query prints, both are unknown
	FormLimit              // value / limit, or the value alone; a limit of 0 is unknown
	FormList               // [a b c]: one number a link, the first being 1
	FormBits               // 0x5: one bit a lane
	FormCodes              // words of hex digits: a label each, and 1
	FormText               // the whole value is a label, and 1; with Words, one of them
	FormPhrase             // free text in a drawn table, which may hold blanks; at most one column of a cell
)

// isPair reports whether a slash is expected in the values.
func (f Form) isPair() bool { return f == FormUsage || f == FormLimit }

var (
	errNoPair    = errors.New("no pair with a slash")
	errUsedAbove = errors.New("used is more than the total")
	errNoWord    = errors.New("no known word")
	errOtherForm = errors.New("of another form")
)

// readings are what a row reads of one value. A part that cannot be read costs only itself.
func (m *matcher) readings(e *Entry, wildcard string) (all []model.Reading, err error) {
	_, isWord := m.Words[strings.ToLower(e.Value)]
	switch {
	case m.Metric == "":
		return nil, nil
	case e.Err != nil:
		return nil, e.Err
	case !isWord && Absent(e.Value):
		return nil, nil
	case m.Form.isPair():
		return m.pair(e)
	}
	parts, err := m.split(e.Value, wildcard)
	for _, p := range parts {
		v, known, errNumber := m.number(p.number, e.Unit)
		labels, errLabels := m.labelsFor(p.wildcard)
		err = cmp.Or(err, errNumber, errLabels)
		if known && errLabels == nil {
			all = append(all, model.Reading{Metric: m.Metric, Labels: labels, Value: v})
		}
	}
	return all, err
}

// part is one number of a value, and what the * in the labels is for it.
type part struct{ wildcard, number string }

// split returns the parts of a value.
func (m *matcher) split(value, wildcard string) (parts []part, err error) {
	switch m.Form {
	case FormList:
		inner, begins := strings.CutPrefix(value, "[")
		inner, ends := strings.CutSuffix(inner, "]")
		if !begins || !ends {
			return nil, errOtherForm
		}
		for i, cell := range strings.Fields(inner) {
			parts = append(parts, part{strconv.Itoa(i + 1), cell})
		}
		return parts, nil
	case FormBits:
		bits, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return nil, errOtherForm
		}
		for _, lane := range m.lanes {
			parts = append(parts, part{strconv.Itoa(lane), strconv.FormatUint(bits>>lane&1, 10)})
		}
		return parts, nil
	case FormCodes:
		for code := range strings.FieldsSeq(value) {
			if _, err := strconv.ParseUint(code, 16, 64); err != nil {
				return nil, errOtherForm
			}
			parts = append(parts, part{strings.ToUpper(code), "1"})
		}
		return parts, nil
	case FormText:
		if _, isWord := m.Words[strings.ToLower(value)]; m.Words != nil && !isWord {
			return nil, errNoWord
		}
		return []part{{value, "1"}}, nil
	}
	return []part{{wildcard, value}}, nil
}

// number reads one number, or one of the row's words.
func (r *Row) number(text, symbol string) (v float64, known bool, err error) {
	if r.Words != nil && r.Form == FormNumber {
		v, isWord := r.Words[strings.ToLower(text)]
		if !isWord {
			return 0, false, errNoWord
		}
		return v, !math.IsNaN(v), nil
	}
	v, known, err = r.Unit.Parse(text, cmp.Or(symbol, r.Symbol))
	if r.Underflow && v >= 1<<63 {
		return 0, false, errOutOfRange
	}
	return v, known && (v != 0 || !r.NotZero), err
}

// pair reads a value and what stands behind the slash. The unit of a total goes for the part too.
func (m *matcher) pair(e *Entry) (all []model.Reading, err error) {
	first, second, isPair := cutPair(e.Value)
	symbol := cmp.Or(e.Unit, m.Symbol)
	if m.Form == FormUsage {
		_, printed := cutUnit(second)
		symbol = cmp.Or(printed, symbol)
	} else if !isPair {
		first = e.Value
	}
	v, known, err := m.Unit.Parse(first, symbol)
	total, knownTotal, errTotal := m.Unit.Parse(second, symbol)
	if m.Form == FormUsage {
		switch {
		case !isPair:
			return nil, errNoPair
		case errTotal != nil || knownTotal && total == 0:
			return nil, errTotal
		case known && knownTotal && v > total && !m.MayExceed:
			known, err = false, errUsedAbove
		}
	}
	if known {
		all = append(all, model.Reading{Metric: m.Metric, Labels: m.labels, Value: v})
	}
	if knownTotal && total != 0 {
		all = append(all, model.Reading{Metric: m.Total, Labels: m.labels, Value: total})
	}
	return all, cmp.Or(err, errTotal)
}

// cutPair cuts "used / total" at the slash that is not part of an "N/A", and "used(total)" at its parentheses.
func cutPair(cell string) (used, total string, ok bool) {
	if used, total, ok := strings.Cut(cell, "("); ok {
		total, isClosed := strings.CutSuffix(total, ")")
		return strings.TrimSpace(used), strings.TrimSpace(total), isClosed
	}
	const none = "n/a"
	from := 0
	if len(cell) >= len(none) && strings.EqualFold(cell[:len(none)], none) {
		from = len(none)
	}
	slash := strings.IndexByte(cell[from:], '/')
	if slash < 0 {
		return "", "", false
	}
	return strings.TrimSpace(cell[:from+slash]), strings.TrimSpace(cell[from+slash+1:]), true
}
