package show

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// levelTable has a row for each level of a search for the capacity.
func levelTable(r *result.Report) Table {
	c := capacity.FromReport(r)
	if c == nil {
		return Table{}
	}
	t := Table{
		Caption: "Levels, figures of the steady part where there is one",
		Head:    []string{c.Search.Variable, "objectives", "runs"},
	}
	for _, o := range c.Search.Objectives {
		t.Head = append(t.Head, objectiveText(o))
	}
	rates := Pick(rateColumns, "request_throughput", "output_throughput")
	t.Head = append(t.Head, titles(rates)...)
	for _, l := range c.Levels {
		s := c.Shown(l.Level)
		verdict := [...]string{capacity.Void: "not judged", capacity.Met: "met", capacity.Missed: "missed"}[l.Verdict]
		row := []string{number(l.Level), verdict, strconv.Itoa(len(l.Steps))}
		for _, o := range s.Objectives {
			row = append(row, figureText(o))
		}
		t.Rows = append(t.Rows, append(row, texts(rates, s, s.SteadyOrWhole())...))
	}
	return t
}

// objectiveTable has a row for each objective that each step is judged by.
func objectiveTable(r *result.Report) Table {
	t := Table{
		Caption: "Objectives: latencies of the steady part where there is one, failures of the whole step",
		Head:    []string{"", "objective", "figure", "verdict"},
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, o := range s.Objectives {
			if len(r.Runs[0].SLO) > 0 {
				verdict := map[bool]string{true: "met", false: "missed"}[o.Met()]
				t.Rows = append(t.Rows, []string{s.Label.Long, objectiveText(o.Objective), figureWithUnit(o), verdict})
			}
		}
	}
	return t
}

// Missed are the objectives that steps miss, in words.
func Missed(r *result.Report) []string {
	var all []string
	for _, row := range objectiveTable(r).Rows {
		if row[3] == "missed" {
			all = append(all, fmt.Sprintf("%s at %s: %s", row[1], row[0], row[2]))
		}
	}
	return all
}

func figureWithUnit(o result.ObjectiveResult) string {
	if !o.Value.Known() {
		return "no request has one"
	}
	return figureText(o) + " " + objectiveUnit(o.Objective).symbol
}

// figureText is the figure that an objective bounds.
func figureText(o result.ObjectiveResult) string {
	text := objectiveUnit(o.Objective).Text(float64(o.Value))
	if o.AtLeast {
		text = "> " + text
	}
	return text
}

// number writes a level or a limit.
func number[T ~float64](v T) string { return strconv.FormatFloat(float64(v), 'g', 5, 64) }

// objectiveUnit is what an objective and its figure are shown in.
func objectiveUnit(o openai.Objective) Unit {
	switch {
	case o.Measure == openai.Failures:
		return Share
	case o.Limit >= 2:
		return Seconds
	}
	return Milliseconds
}

// objectiveText is an objective in words: "TTFT p90 <2 s".
func objectiveText(o openai.Objective) string {
	unit := objectiveUnit(o)
	return fmt.Sprintf("%s <%s %s", o.Label(), number(unit.scaled(o.Limit)), unit.symbol)
}

// capacityAnswer is the answer of a search in a sentence, with its evidence.
func capacityAnswer(r *result.Report, c *capacity.Result) string {
	failed, void, why := c.Shown(c.FailedAt), c.Shown(c.VoidAt), ""
	if void != nil {
		why = capacity.Judge(void, c.Search).Why
	}
	carried := levelTitle(r, cmp.Or(c.Value, c.VoidAt, c.FailedAt)) + firmness(r, c)
	gone := map[bool]string{true: ", since the server did not answer any more"}[c.Gone]
	switch {
	case c.Refused != "":
		return "What the server carries is not known: it refuses the requests: " + Clean(c.Refused)
	case c.Value == 0 && c.Gone:
		return "What the server carries is not known: it did not answer any more"
	case c.Value == 0 && void != nil:
		return fmt.Sprintf("What the server carries is not known: %s could not be judged (%s)", carried, why)
	case c.Value == 0 && failed != nil:
		return fmt.Sprintf("carries none: %s missed %s", carried, missText(failed))
	case c.Value == 0:
		return "What the server carries is not known: no level was measured to its end"
	case !c.Finished:
		return fmt.Sprintf("carries at least %s, as far as it was measured%s; %s", carried, gone, evidence(c))
	case failed != nil:
		return fmt.Sprintf("carries %s; %s miss %s; %s", carried, number(c.FailedAt), missText(failed), evidence(c))
	case void != nil:
		return fmt.Sprintf("carries at least %s; %s could not be judged (%s); %s", carried, number(c.VoidAt), why, evidence(c))
	}
	return fmt.Sprintf("carries at least %s, the most that were tried; %s", carried, evidence(c))
}

// levelTitle is a level in words: "37 users", "24 conversations", "4.2 requests/s".
func levelTitle(r *result.Report, level capacity.Load) string {
	s := &r.Steps[0]
	return s.At(float64(level)).Label(s.Conversations > 0).Long
}

// firmness says between which levels the answer lies where runs or levels contradict each other: " (8 to 12: …)".
func firmness(r *result.Report, c *capacity.Result) string {
	low, high := c.Low, cmp.Or(c.High, capacity.Load(c.Search.To))
	if worse, better := capacity.Load(c.Contradiction[0]), capacity.Load(c.Contradiction[1]); better > 0 {
		return fmt.Sprintf(" (%s to %s: %s had better figures than %s, so the server or the machine changed meanwhile)",
			number(min(low, worse)), number(max(c.Value, better)), levelTitle(r, better), number(worse))
	}
	if c.Value > 0 && (low < c.Value || c.FailedAt > 0 && high > c.FailedAt) {
		return fmt.Sprintf(" (%s to %s: runs of one level do not agree)", number(low), number(high))
	}
	return ""
}

// evidence is what the server did at the answer.
func evidence(c *capacity.Result) string {
	s := c.Shown(c.Value)
	f := s.SteadyOrWhole()
	text := fmt.Sprintf("%s requests/s, %s tokens/s", Number.Text(f.RequestThroughput), Number.Text(f.OutputThroughput))
	var utilization []float64
	for _, card := range s.Serving() {
		utilization = append(utilization, measured(card.Utilization).Mean)
	}
	if mean := stat.Mean(utilization, nil); !math.IsNaN(mean) {
		text += fmt.Sprintf("; cards at %.0f %%", 100*mean)
	}
	return text
}

// missText is what a level misses by most: "TPOT p90 (104 ms of 100)".
func missText(s *result.Step) string {
	most := capacity.Worst(s)
	if most == nil {
		text := "as requests pile up"
		if !s.Overloaded() {
			text = "as its load does not become steady"
		}
		return fmt.Sprintf("the rate, %s (%s a second completed)", text, number(s.Whole.RequestThroughput))
	}
	unit := objectiveUnit(most.Objective)
	value, limit := unit.scaled(float64(most.Value)), number(unit.scaled(most.Limit))
	switch {
	case most.Measure == openai.Failures:
		return fmt.Sprintf("failures (%.4g %%, at most %s %%)", value, limit)
	case most.AtLeast:
		return fmt.Sprintf("%s (> %.4g %s of %s)", most.Label(), value, unit.symbol, limit)
	}
	return fmt.Sprintf("%s (%.4g %s of %s)", most.Label(), value, unit.symbol, limit)
}
