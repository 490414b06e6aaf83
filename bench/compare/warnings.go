package compare

import (
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// maxDifference is the relative difference up to which two loads, or the lengths of
	// their texts, are the same, and maxFailures that of two shares of failures.
	maxDifference = 0.05
	maxFailures   = 0.01
)

// warnings are why the runs of two sides at one level cannot be compared as they
// stand.
func warnings(base, side []*result.Step) []string {
	var found []string
	compare := func(text string, value func(*result.Step) float64) {
		x, y := median(base, value), median(side, value)
		if least := min(x, y); least > 0 && max(x, y) > least*(1+maxDifference) {
			found = append(found, fmt.Sprintf("not alike: "+text, x, y))
		}
	}
	compare("prompts had %.4g and %.4g tokens", func(s *result.Step) float64 { return s.Whole.Of(result.PromptLength).Mean })
	compare("answers had %.4g and %.4g tokens", func(s *result.Step) float64 { return s.Whole.Of(result.OutputLength).Mean })
	switch base[0].Arrival {
	case runlog.ArrivalBurst: // its rate is only how fast this machine sent it
	case runlog.ArrivalClosed:
		compare("%.4g and %.4g were in flight", func(s *result.Step) float64 { return s.Checks.Achieved })
	default:
		compare("%.4g and %.4g requests a second were sent", func(s *result.Step) float64 { return s.Checks.AchievedRate })
	}
	failed := func(s *result.Step) float64 { return s.Account.FailureRatio() }
	x, y := median(base, failed), median(side, failed)
	if max(x, y)-min(x, y) > maxFailures {
		found = append(found, fmt.Sprintf("not alike: %.3g %% and %.3g %% of the requests failed", 100*x, 100*y))
	}
	if slices.ContainsFunc(slices.Concat(base, side), func(s *result.Step) bool { return s.Stop == "" || s.Stop.Early() }) {
		found = append(found, "some runs were cut short: killed, interrupted, too many failures, or the server gone")
	}
	return found
}

// median is the median of a figure over runs.
func median(runs []*result.Step, value func(*result.Step) float64) float64 {
	var values []float64
	for _, s := range runs {
		values = append(values, value(s))
	}
	return estimate(values).Median
}
