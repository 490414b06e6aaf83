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
	FormUsage              // used / total; under a total of 0, which a failed query prints, both are unknown
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
func (m *matcher) readings(e *Entry, star string) (all []model.Reading, err error) {
	_, isWord := m.Words[strings.ToLower(e.Value)]
	switch {
	case m.Metric == "":
		return nil, nil
	case e.Err != nil:
		return nil, e.Err
	case !isWord && Absent(e.Value):
		return nil, nil
	case m.Form == FormUsage:
		return m.usage(e)
	}
	parts, err := m.split(e.Value, star)
	for _, p := range parts {
		v, known, errNumber := m.number(p.number, e.Unit)
		labels, errLabels := m.labelsFor(p.star)
		err = cmp.Or(err, errNumber, errLabels)
		if known && errLabels == nil && (v != 0 || p.metric == m.Metric) {
			all = append(all, model.Reading{Metric: p.metric, Labels: labels, Value: v})
		}
	}
	return all, err
}

// part is one number of a value, its metric, and what the * in the labels is for it.
type part struct {
	metric       model.Metric
	star, number string
}

// split returns the parts of a value.
func (m *matcher) split(value, star string) (parts []part, err error) {
	switch m.Form {
	case FormLimit:
		first, limit, isPair := cutPair(value)
		if isPair {
			return []part{{m.Metric, star, first}, {m.Total, star, limit}}, nil
		}
	case FormList:
		inner, begins := strings.CutPrefix(value, "[")
		inner, ends := strings.CutSuffix(inner, "]")
		if !begins || !ends {
			return nil, errOtherForm
		}
		for i, cell := range strings.Fields(inner) {
			parts = append(parts, part{m.Metric, strconv.Itoa(i + 1), cell})
		}
		return parts, nil
	case FormBits:
		bits, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return nil, errOtherForm
		}
		for _, lane := range m.lanes {
			parts = append(parts, part{m.Metric, strconv.Itoa(lane), strconv.FormatUint(bits>>lane&1, 10)})
		}
		return parts, nil
	case FormCodes:
		for code := range strings.FieldsSeq(value) {
			if _, err := strconv.ParseUint(code, 16, 64); err != nil {
				return nil, errOtherForm
			}
			parts = append(parts, part{m.Metric, strings.ToUpper(code), "1"})
		}
		return parts, nil
	case FormText:
		if _, isWord := m.Words[strings.ToLower(value)]; m.Words != nil && !isWord {
			return nil, errNoWord
		}
		return []part{{m.Metric, value, "1"}}, nil
	}
	return []part{{m.Metric, star, value}}, nil
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

// usage reads a part and its total, of which the unit of the total goes for both.
func (m *matcher) usage(e *Entry) (all []model.Reading, err error) {
	used, total, isPair := cutPair(e.Value)
	if !isPair {
		return nil, errNoPair
	}
	_, printed := cutUnit(total)
	symbol := cmp.Or(printed, e.Unit, m.Symbol)
	whole, knownWhole, err := m.Unit.Parse(total, symbol)
	if err != nil || knownWhole && whole == 0 {
		return nil, err
	}
	part, knownPart, err := m.Unit.Parse(used, symbol)
	if knownPart && knownWhole && part > whole {
		knownPart, err = false, errUsedAbove
	}
	if knownPart {
		all = append(all, model.Reading{Metric: m.Metric, Labels: m.labels, Value: part})
	}
	if knownWhole {
		all = append(all, model.Reading{Metric: m.Total, Labels: m.labels, Value: whole})
	}
	return all, err
}

// cutPair cuts "used / total" at the slash that is not part of an "N/A".
func cutPair(cell string) (used, total string, ok bool) {
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
