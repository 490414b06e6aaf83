package show

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// tablePercentiles are 50, 90 and those that were asked for, ascending.
func tablePercentiles(asked []float64) []float64 {
	all := append([]float64{50, 90}, asked...)
	slices.Sort(all)
	return slices.Compact(all)
}

func wholePart(s *result.Step) *result.Figures { return &s.Whole }

// summaryTable has the figures to look at first.
func summaryTable(r *result.Report) Table {
	keys := append([]string{"attempted", "failure_ratio"}, windowKeys(r)...)
	return sweepTable(r, "Whole steps, ramp and drain included", wholePart, append(keys, "joules_per_output_token"))
}

func windowKeys(r *result.Report) []string {
	high := percentileName(slices.Max(tablePercentiles(r.Percentiles)))
	return []string{
		"request_throughput", "output_throughput", "good_ratio",
		"ttft_p50", "ttft_" + high, "ttft_first_" + high, "ttft_later_" + high, "tpot_p50", "tpot_" + high, "e2el_" + high,
	}
}

// sweepTable has a row for each step and those of the columns that some step knows.
func sweepTable(r *result.Report, caption string, window func(*result.Step) *result.Figures, keys []string) Table {
	all := Columns(tablePercentiles(r.Percentiles)...)
	columns := slices.DeleteFunc(Pick(all, keys...), func(c Column) bool {
		return !slices.ContainsFunc(r.Steps, func(s result.Step) bool { return c.text(&s, window(&s)) != unknown })
	})
	t := Table{Caption: caption, Head: append([]string{"step"}, titles(columns)...)}
	for i := range r.Steps {
		s := &r.Steps[i]
		t.Rows = append(t.Rows, append([]string{s.Label.Short}, texts(columns, s, window(s))...))
	}
	return t
}

// byLoad are the steps from the least load to the most: one at --request-rate inf stands behind those at a rate.
func byLoad(steps []result.Step) []result.Step {
	rate := func(s *result.Step) float64 { return cmp.Or(s.Rate, math.Inf(1)) }
	return slices.SortedStableFunc(slices.Values(steps), func(a, b result.Step) int {
		return cmp.Or(cmp.Compare(rate(&a), rate(&b)), cmp.Compare(a.Level(), b.Level()))
	})
}

// minGoodShare is the share of good requests from which on a step meets the objectives.
const minGoodShare = 0.99

// Answer says in a sentence up to which load the objectives were met, or without any which load brought the most output
// tokens; of a search for the capacity what the server carries.
func Answer(r *result.Report) string {
	if c := capacity.FromReport(r); c != nil {
		return capacityAnswer(r, c)
	}
	ended := "" // how, where a failure ended the run early
	last := &r.Steps[len(r.Steps)-1]
	switch a := &last.Account; last.Stop {
	case runlog.StopUnreachable:
		unreached := a.Failed[openai.ReasonConnect] + a.Failed[openai.ReasonDNS] + a.Failed[openai.ReasonTLS]
		ended = fmt.Sprintf("The run ended early: the server could not be reached after %d requests. ", a.Attempted-a.Canceled-unreached)
	case runlog.StopFailureRatio:
		ended = fmt.Sprintf("The run ended early: %d of %d requests failed at %s. ", a.Failures(), a.Attempted-a.Canceled, last.Label.Long)
	case runlog.StopVoid:
		ended = fmt.Sprintf("The run ended early: a machine was lost at %s. ", last.Label.Long)
	}
	steps := slices.DeleteFunc(byLoad(r.Steps), func(s result.Step) bool { return s.Account.Succeeded == 0 || s.Void != nil })
	missed := slices.IndexFunc(steps, func(s result.Step) bool {
		return s.Overloaded() || !(s.Whole.GoodRatio() >= minGoodShare)
	})
	switch failures := failureTable(r).Rows; {
	case len(steps) == 0 && last.Void != nil:
		return strings.TrimSpace(ended)
	case len(steps) == 0 && len(failures) == 0:
		return ended + "No request succeeded."
	case len(steps) == 0:
		return fmt.Sprintf("%sNo request succeeded. The first failure was %s: %s", ended, failures[0][1], failures[0][3])
	case len(r.Objectives) == 0:
		peak := slices.MaxFunc(steps, func(a, b result.Step) int {
			return cmp.Compare(a.Whole.OutputThroughput, b.Whole.OutputThroughput)
		})
		return fmt.Sprintf("%sMost output: %s.", ended, outcome(&peak))
	case missed == 0:
		return fmt.Sprintf("%sNo load met the objectives, not even %s.", ended, outcome(&steps[0]))
	case missed < 0:
		return fmt.Sprintf("%sEvery load met the objectives, up to %s. A higher load may do so too.", ended, outcome(&steps[len(steps)-1]))
	}
	return fmt.Sprintf("%sThe objectives were met up to %s, and not at %s.", ended, outcome(&steps[missed-1]), steps[missed].Label.Long)
}

// outcome is a load, what it brought, and what a user saw of it.
func outcome(s *result.Step) string {
	f, high := &s.Whole, slices.Max(tablePercentiles(s.Percentiles))
	latency := func(key result.Key) string {
		column := Pick(Columns(high), string(key)+"_"+percentileName(high))[0]
		if text := column.text(s, f); text != unknown {
			return fmt.Sprintf("p%g %s ms", high, text)
		}
		return fmt.Sprintf("p%g not known", high)
	}
	return fmt.Sprintf("%s (%s requests/s, %s output tokens/s, TTFT %s, TPOT %s, %s %% failed)", s.Label.Long,
		Number.Text(f.RequestThroughput), Number.Text(f.OutputThroughput), latency(result.TTFT), latency(result.TPOT),
		Share.Text(s.Account.FailureRatio()))
}

// failureTable has a row for each reason for which requests of a step failed, with what the first of them said.
func failureTable(r *result.Report) Table {
	t := Table{Caption: "Failures", Head: []string{"step", "reason", "requests", "first"}, IsText: true}
	for _, s := range r.Steps {
		for _, reason := range s.Account.Reasons() {
			t.Rows = append(t.Rows, []string{
				s.Label.Short, Clean(string(reason)), strconv.Itoa(s.Account.Failed[reason]), Clean(s.FailedAs[reason]),
			})
		}
	}
	return t
}

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

func objectiveTable(r *result.Report) Table {
	t := Table{
		Caption: "Objectives: latencies of the steady part where there is one, failures of the whole step",
		Head:    []string{"", "objective", "figure", "verdict"},
	}
	for _, s := range r.Steps {
		for _, o := range s.SLO {
			verdict, figure := map[bool]string{true: "met", false: "missed"}[o.Met], "no request has one"
			if o.Value.Known() {
				figure = figureText(o) + " " + objectiveUnit(o.Objective).symbol
			}
			t.Rows = append(t.Rows, []string{s.Label.Long, objectiveText(o.Objective), figure, verdict})
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

func figureText(o result.ObjectiveResult) string {
	text := objectiveUnit(o.Objective).Text(float64(o.Value))
	if o.AtLeast {
		text = "> " + text
	}
	return text
}

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

func capacityAnswer(r *result.Report, c *capacity.Result) string {
	failed, void, why := c.Shown(c.FailedAt), c.Shown(c.VoidAt), ""
	if void != nil {
		why = capacity.Judge(void, c.Search).Why
	}
	carried := levelTitle(r, cmp.Or(c.Value, c.VoidAt, c.FailedAt))
	// Between which levels the answer lies where runs or levels contradict each other.
	low, high := c.Low, cmp.Or(c.High, capacity.Load(c.Search.To))
	if worse, better := capacity.Load(c.Contradiction[0]), capacity.Load(c.Contradiction[1]); better > 0 {
		carried += fmt.Sprintf(" (%s to %s: %s had better figures than %s, so the server or the machine changed meanwhile)",
			number(min(low, worse)), number(max(c.Value, better)), levelTitle(r, better), number(worse))
	} else if c.Value > 0 && (low < c.Value || c.FailedAt > 0 && high > c.FailedAt) {
		carried += fmt.Sprintf(" (%s to %s: runs of one level do not agree)", number(low), number(high))
	}
	isGone := errors.Is(c.Ended, capacity.ErrGone)
	gone := map[bool]string{true: ", since the server did not answer any more"}[isGone]
	switch {
	case errors.Is(c.Ended, capacity.ErrRefused):
		return "What the server carries is not known: " + Clean(c.Ended.Error())
	case c.Value == 0 && isGone:
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

// missText is what a level misses by most: "TPOT p90 (104 ms, limit 100)".
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
	text := fmt.Sprintf("%.4g %s, limit %s", unit.scaled(float64(most.Value)), unit.symbol, number(unit.scaled(most.Limit)))
	if most.AtLeast {
		text = "> " + text
	}
	return fmt.Sprintf("%s (%s)", most.Label(), text)
}
