package show

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// levelTable are the levels of a search for the capacity.
func levelTable(r *result.Report) Table {
	c := r.Capacity
	t := Table{Caption: "Levels, figures of the steady part where there is one", Head: []string{c.Variable, "objectives", "runs"}}
	for _, limit := range c.Limits {
		t.Head = append(t.Head, objective(limit))
	}
	rates := Pick(rateColumns, "request_throughput", "output_throughput")
	for _, column := range rates {
		t.Head = append(t.Head, column.Title())
	}
	for i := range c.Levels {
		t.Rows = append(t.Rows, levelRow(r, &c.Levels[i], rates))
	}
	return t
}

func levelRow(r *result.Report, l *capacity.Level, rates []Column) []string {
	s := r.Shown(l)
	verdict := [...]string{capacity.Void: "not judged", capacity.Met: "met", capacity.Missed: "missed"}[l.Verdict]
	row := []string{number(l.Level), verdict, strconv.Itoa(len(l.Trials))}
	for _, h := range s.Held {
		row = append(row, limitUnit(h.Limit).Text(known(h.Value, h.Known)))
	}
	for _, column := range rates {
		row = append(row, column.text(s, s.SteadyOrWhole()))
	}
	return row
}

// number writes a level or a limit.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// limitUnit is what a limit and its figure are shown in.
func limitUnit(l runlog.Limit) Unit {
	switch {
	case l.Name == runlog.LimitFailures:
		return Share
	case l.Limit >= 2:
		return Seconds
	}
	return Milliseconds
}

// objective is a limit in words: "TTFT p90 <2 s".
func objective(l runlog.Limit) string {
	unit := limitUnit(l)
	return fmt.Sprintf("%s <%s %s", l.Label(), number(unit.scaled(l.Limit)), unit.symbol)
}

// capacityAnswer is the answer of a search in a sentence, with its evidence.
func capacityAnswer(r *result.Report) string {
	c := r.Capacity
	failed, void, why := c.At(c.FailedAt), c.At(c.VoidAt), ""
	if void != nil {
		_, why = r.Shown(void).Verdict()
	}
	carried := loadText(r, cmp.Or(c.Value, c.VoidAt, c.FailedAt))
	switch {
	case c.Value == 0 && void != nil:
		return fmt.Sprintf("What the server carries is not known: %s could not be judged (%s)", carried, why)
	case c.Value == 0 && failed != nil:
		return fmt.Sprintf("carries none: %s missed %s", carried, missText(r.Shown(failed)))
	case c.Value == 0:
		return "What the server carries is not known: no level was measured to its end"
	case c.Unfinished:
		return fmt.Sprintf("carries at least %s, as far as it was measured; %s", carried, evidence(r))
	case failed != nil:
		return fmt.Sprintf("carries %s; %s miss %s; %s", carried, number(c.FailedAt), missText(r.Shown(failed)), evidence(r))
	case void != nil:
		return fmt.Sprintf("carries at least %s; %s could not be judged (%s); %s", carried, number(c.VoidAt), why, evidence(r))
	}
	return fmt.Sprintf("carries at least %s, the most that were tried; %s", carried, evidence(r))
}

// loadText is a level in words: "37 users", "24 conversations", "4.2 requests/s".
func loadText(r *result.Report, level float64) string {
	words, isRate := r.Steps[0].Words(), r.Capacity.Variable != runlog.VariableConcurrency
	switch {
	case isRate && r.Steps[0].Conversations == 0:
		return number(level) + " requests/s"
	case isRate:
		return fmt.Sprintf(words.Rate, number(level))
	case level == 1:
		return words.One
	}
	return fmt.Sprintf(words.Many, number(level))
}

// evidence is what the server did at the answer.
func evidence(r *result.Report) string {
	s := r.Shown(r.Capacity.At(r.Capacity.Value))
	text := fmt.Sprintf("%s requests/s, %s tokens/s", Number.Text(s.SteadyOrWhole().RequestThroughput), Number.Text(s.SteadyOrWhole().OutputThroughput))
	if cards := cardUtilization(s); !math.IsNaN(cards) {
		text += fmt.Sprintf("; cards at %.0f %%", 100*cards)
	}
	return text
}

// missText is what a level misses by most: "TPOT p90 (104 ms of 100)".
func missText(s *result.Step) string {
	most := s.Worst()
	if most == nil {
		return fmt.Sprintf("the rate, as requests pile up (%s a second completed)", number(s.Whole.RequestThroughput))
	}
	unit := limitUnit(most.Limit)
	if most.Name == runlog.LimitFailures {
		return fmt.Sprintf("failures (%.4g %%, at most %s %%)", unit.scaled(most.Value), number(unit.scaled(most.Limit.Limit)))
	}
	return fmt.Sprintf("%s (%.4g %s of %s)", most.Label(), unit.scaled(most.Value), unit.symbol, number(unit.scaled(most.Limit.Limit)))
}

// jsonCapacity is the answer as report.json has it.
type jsonCapacity struct {
	Variable   string           `json:"variable"`
	Value      *float64         `json:"value"`
	FailedAt   *float64         `json:"failed_at"`
	AtLeast    bool             `json:"at_least"`
	Finished   bool             `json:"finished"`
	Binding    string           `json:"binding,omitempty"`
	Objectives []jsonObjective  `json:"objectives"`
	Levels     []capacity.Level `json:"levels"`
}

type jsonObjective struct {
	runlog.Limit
	Value       *float64 `json:"value"`
	ValueFailed *float64 `json:"value_failed"`
}

// newJSONCapacity is nil where no capacity was searched for.
func newJSONCapacity(r *result.Report) *jsonCapacity {
	c := r.Capacity
	if c == nil {
		return nil
	}
	out := &jsonCapacity{
		Variable: c.Variable, Value: orNull(nonZero(c.Value)), FailedAt: orNull(nonZero(c.FailedAt)), AtLeast: c.AtLeast,
		Finished: !c.Unfinished, Binding: c.Binding, Levels: c.Levels,
	}
	for i, limit := range c.Limits {
		out.Objectives = append(out.Objectives, jsonObjective{limit, orNull(heldAt(r, c.Value, i)), orNull(heldAt(r, c.FailedAt, i))})
	}
	return out
}

// heldAt is what has limit i at a level, NaN where it is not known.
func heldAt(r *result.Report, level float64, i int) float64 {
	l := r.Capacity.At(level)
	if l == nil {
		return math.NaN()
	}
	h := r.Shown(l).Held[i]
	return known(h.Value, h.Known)
}
