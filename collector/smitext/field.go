package smitext

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Field is what stands under a header word or behind a key: one line in a vendor's
// table. One with a Total or a Limit is printed as a pair with a slash.
type Field struct {
	Metric  model.Metric
	Labels  []string // values of the metric's own labels
	Unit    Unit
	Assumed string       // symbol of the unit where neither value nor header has one
	Total   model.Metric // "used / total"; under a total of 0, which a failed query prints, both are unknown
	Limit   model.Metric // "value / limit", or the value alone; a limit of 0 is unknown
}

// isPair reports whether a slash is expected in the values.
func (f *Field) isPair() bool { return f.Total != "" || f.Limit != "" }

// Read adds the readings in text; their unit stands behind the number, else it is
// headerUnit, else the assumed one. An absent value is no error; a part that
// cannot be read costs only itself.
func (f *Field) Read(to *model.Readings, text, headerUnit string) error {
	if Absent(text) {
		return nil
	}
	headerUnit = cmp.Or(headerUnit, f.Assumed)
	if f.Total != "" {
		return f.readUsage(to, text, headerUnit)
	}
	value, limit, isPair := CutPair(text)
	if !isPair || f.Limit == "" {
		value, limit = text, ""
	}
	v, known, err := f.Unit.parse(value, headerUnit)
	f.add(to, f.Metric, v, known)
	v, known, errLimit := f.Unit.parse(limit, headerUnit)
	f.add(to, f.Limit, v, known && v != 0)
	return cmp.Or(err, inPart("its limit", errLimit))
}

func (f *Field) readUsage(to *model.Readings, text, headerUnit string) error {
	used, total, isPair := CutPair(text)
	if !isPair {
		return errNoPair
	}
	_, unit := cutUnit(total)
	unit = cmp.Or(unit, headerUnit)
	all, knownAll, err := f.Unit.parse(total, unit)
	if err != nil || knownAll && all == 0 {
		return inPart("its total", err)
	}
	part, knownPart, err := f.Unit.parse(used, unit)
	err = inPart("its used part", err)
	if knownPart && knownAll && part > all {
		knownPart, err = false, errUsedAbove
	}
	_, hasPart := to.Get(f.Metric, f.Labels...)
	_, hasAll := to.Get(f.Total, f.Labels...)
	if hasPart || hasAll { // halves of two pairs are no pair
		return err
	}
	f.add(to, f.Metric, part, knownPart)
	f.add(to, f.Total, all, knownAll)
	return err
}

// inPart says which part of a pair an error is about.
func inPart(part string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", part, err)
}

func (f *Field) add(to *model.Readings, m model.Metric, v float64, known bool) {
	if known {
		to.Add(model.Reading{Metric: m, Labels: f.Labels, Value: v})
	}
}

// CutPair cuts "used / total" at the slash that is not part of an "N/A".
func CutPair(cell string) (used, total string, ok bool) {
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
