package show

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Capacity writes the levels that a search for the capacity ran, what makes them
// doubtful, and the answer.
func Capacity(w io.Writer, r *result.Report) error {
	var l lines
	l.line("")
	if r.Capacity == nil {
		l.line("No capacity was searched for: that is done by accelbench capacity.")
		return l.writeTo(w)
	}
	l.table(levelTable(r))
	l.warnings(warnings(r))
	l.line("")
	l.line("%s", Answer(r))
	return l.writeTo(w)
}

// evidenceColumns are what a level's figures are, beside those with limits.
func evidenceColumns() []Column {
	return Pick(append(WindowColumns(nil), StepColumns()...),
		"request_throughput", "output_throughput", "card_utilization_ratio", "joules_per_output_token")
}

// limitColumns are the figures that have limits, in their order.
func limitColumns(c *result.Capacity) []Column {
	var columns []Column
	for i, l := range c.Limits {
		columns = append(columns, Column{Head: l.Label(), Unit: limitUnit(l), Value: func(s *result.Step, _ *result.Figures) float64 {
			if i >= len(s.Held) || !s.Held[i].Known {
				return math.NaN()
			}
			return s.Held[i].Value
		}})
	}
	return columns
}

// levelTable are the levels of a search for the capacity.
func levelTable(r *result.Report) Table {
	c := r.Capacity
	t := Table{Caption: "Levels, figures of the steady part", Head: []string{c.Variable, "objectives", "runs"}}
	for _, l := range c.Limits {
		t.Head = append(t.Head, Objective(l))
	}
	columns := append(limitColumns(c), evidenceColumns()[:2]...)
	for _, column := range columns[len(c.Limits):] {
		t.Head = append(t.Head, column.Title())
	}
	for i := range c.Levels {
		l := &c.Levels[i]
		verdict := "not judged"
		if l.Met != nil {
			verdict = map[bool]string{true: "met", false: "missed"}[*l.Met]
		}
		row := []string{number(l.Level), verdict, strconv.Itoa(len(l.Steps))}
		for _, column := range columns {
			row = append(row, column.Unit.Text(valueAt(r, l, column)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// valueAt is a column at a level, of the steady part where there is one; NaN at none.
func valueAt(r *result.Report, l *result.CapacityLevel, c Column) float64 {
	if l == nil {
		return math.NaN()
	}
	s := &r.Steps[l.Shown]
	if s.Steady != nil {
		return c.Value(s, s.Steady)
	}
	return c.Value(s, &s.Whole)
}

// number writes a level or a limit.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// loadText is a level in words: "37 users", "4.2 requests/s".
func loadText(c *result.Capacity, level float64) string {
	switch {
	case c.Variable != runlog.VariableConcurrency:
		return number(level) + " requests/s"
	case level == 1:
		return "1 user"
	}
	return number(level) + " users"
}

// limitUnit is what a limit and its figure are shown in.
func limitUnit(l result.Limit) Unit {
	switch {
	case l.Name == runlog.LimitFailures:
		return Share
	case l.Limit >= 2:
		return Seconds
	}
	return Milliseconds
}

// Objective is a limit in words: "TTFT p90 <2 s".
func Objective(l result.Limit) string {
	unit := limitUnit(l)
	return fmt.Sprintf("%s <%s %s", l.Label(), number(l.Limit*unit.Scale()), unit.Shown())
}

// capacityAnswer is the answer of a search in a sentence, with its evidence.
func capacityAnswer(r *result.Report) string {
	c := r.Capacity
	failed, void := c.At(c.FailedAt), c.At(c.VoidAt)
	carried := loadText(c, c.Value)
	switch {
	case c.Value == 0 && void != nil:
		return fmt.Sprintf("What the server carries is not known: %s could not be judged (%s)", loadText(c, c.VoidAt), void.Why)
	case c.Value == 0 && failed != nil:
		return fmt.Sprintf("carries none: %s missed %s", loadText(c, c.FailedAt), missText(r, failed))
	case c.Value == 0:
		return "What the server carries is not known: no level was measured to its end"
	case c.Unfinished:
		return fmt.Sprintf("carries at least %s, as far as it was measured%s", carried, evidence(r))
	case failed != nil:
		return fmt.Sprintf("carries %s; %s miss %s%s", carried, number(c.FailedAt), missText(r, failed), evidence(r))
	case void != nil:
		return fmt.Sprintf("carries at least %s; %s could not be judged (%s)%s", carried, number(c.VoidAt), void.Why, evidence(r))
	}
	return fmt.Sprintf("carries at least %s, the most that were tried%s", carried, evidence(r))
}

// evidence is what the server did at the answer.
func evidence(r *result.Report) string {
	at := r.Capacity.At(r.Capacity.Value)
	var text string
	for i, format := range []string{"; %s requests/s", ", %s tokens/s", "; cards at %s %%", ", %s J a token"} {
		column := evidenceColumns()[i]
		switch v := valueAt(r, at, column); {
		case math.IsNaN(v):
		case column.Unit == Share:
			text += fmt.Sprintf(format, strconv.FormatFloat(100*v, 'f', 0, 64))
		default:
			text += fmt.Sprintf(format, column.Unit.Text(v))
		}
	}
	return text
}

// missText is what a level misses by most: "TPOT p90 (104 ms of 100)".
func missText(r *result.Report, l *result.CapacityLevel) string {
	text, most := "", 1.0
	for i, c := range limitColumns(r.Capacity) {
		limit := r.Capacity.Limits[i].Limit
		if v := valueAt(r, l, c); v/limit > most {
			text, most = fmt.Sprintf("%s (%.4g %s of %s)", c.Head, v*c.Unit.Scale(), c.Unit.Shown(), number(limit*c.Unit.Scale())), v/limit
		}
	}
	if text == "" {
		return fmt.Sprintf("the rate, as requests pile up (%s a second were over)", number(r.Steps[l.Shown].Whole.RequestThroughput))
	}
	return text
}

// jsonCapacity is the answer as report.json has it.
type jsonCapacity struct {
	Variable   string                 `json:"variable"`
	Value      *float64               `json:"value"`
	FailedAt   *float64               `json:"failed_at"`
	AtLeast    bool                   `json:"at_least"`
	Finished   bool                   `json:"finished"`
	Binding    string                 `json:"binding,omitempty"`
	Objectives []jsonObjective        `json:"objectives"`
	Levels     []result.CapacityLevel `json:"levels"`
}

type jsonObjective struct {
	runlog.Limit
	Value       *float64 `json:"value"`
	ValueFailed *float64 `json:"value_failed"`
}

// capacityObject is nil where no capacity was searched for.
func capacityObject(r *result.Report) any {
	c := r.Capacity
	if c == nil {
		return nil
	}
	out := jsonCapacity{Variable: c.Variable, AtLeast: c.AtLeast, Finished: !c.Unfinished, Binding: c.Binding, Levels: c.Levels}
	if c.Value > 0 {
		out.Value = &c.Value
	}
	if c.FailedAt > 0 {
		out.FailedAt = &c.FailedAt
	}
	for i, column := range limitColumns(c) {
		at := func(level float64) *float64 {
			if v := valueAt(r, c.At(level), column); !math.IsNaN(v) {
				return &v
			}
			return nil
		}
		out.Objectives = append(out.Objectives, jsonObjective{runlog.Limit(c.Limits[i]), at(c.Value), at(c.FailedAt)})
	}
	return out
}
