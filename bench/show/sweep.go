package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

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
	}
	steps := slices.DeleteFunc(byLoad(r.Steps), func(s result.Step) bool { return s.Account.Succeeded == 0 })
	missed := slices.IndexFunc(steps, func(s result.Step) bool {
		return s.Overloaded() || !(s.Whole.GoodRatio() >= minGoodShare)
	})
	switch failures := failureTable(r).Rows; {
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
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, reason := range s.Account.Reasons() {
			t.Rows = append(t.Rows, []string{
				s.Label.Short, Clean(string(reason)), strconv.Itoa(s.Account.Failed[reason]), Clean(s.FailedAs[reason]),
			})
		}
	}
	return t
}
