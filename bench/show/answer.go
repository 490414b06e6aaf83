package show

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// minGoodShare is the share of good requests from which on a load meets the objectives.
	minGoodShare = 0.99
	// nearPeakShare is the share of the most throughput from which on more load gains little.
	nearPeakShare = 0.9
)

// level is one load with its repeats, in the order of their throughput.
type level struct {
	load  runlog.Step // as the first of them
	steps []*result.Step
}

// middle is the repeat whose throughput is the median.
func (l level) middle() *result.Step { return l.steps[len(l.steps)/2] }

func (l level) throughput() float64 { return l.middle().Whole.OutputThroughput }

func (l level) heading() string { return clean(l.load.Title()) }

// levels are the loads of a report, from the least to the most.
func levels(steps []result.Step) []level {
	var all []level
	for i := range steps {
		load := steps[i].Step
		load.Repeat = 0
		n := slices.IndexFunc(all, func(l level) bool { return l.load.Name() == load.Name() })
		if n < 0 {
			n = len(all)
			all = append(all, level{load: load})
		}
		all[n].steps = append(all[n].steps, &steps[i])
	}
	for _, l := range all {
		slices.SortStableFunc(l.steps, func(a, b *result.Step) int {
			return cmp.Compare(a.Whole.OutputThroughput, b.Whole.OutputThroughput)
		})
	}
	slices.SortStableFunc(all, func(a, b level) int {
		return cmp.Or(cmp.Compare(a.load.Rate, b.load.Rate), cmp.Compare(a.load.Level(), b.load.Level()))
	})
	return all
}

// Answer says in a sentence or two what the sweep shows: up to which load the
// objectives were met, or where none were given which load brought the most output
// tokens, and at what latencies. Of a search for the capacity it is what the server
// carries.
func Answer(r *result.Report) string {
	if r.Capacity != nil {
		return capacityAnswer(r)
	}
	all := levels(slices.DeleteFunc(slices.Clone(r.Steps), func(s result.Step) bool { return s.Account.Succeeded == 0 }))
	switch {
	case len(all) == 0:
		return failedAnswer(r)
	case r.Objectives.Any():
		return objectivesAnswer(r, all)
	}
	return peakAnswer(r, all)
}

// failedAnswer is of a report without a success.
func failedAnswer(r *result.Report) string {
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, reason := range s.Account.Reasons() {
			return clean(fmt.Sprintf("No request succeeded. The first failure was %s: %s", reason, s.FailedAs[reason]))
		}
	}
	return "No request succeeded."
}

// objectivesAnswer looks for the highest load below the first that misses the objectives.
func objectivesAnswer(r *result.Report, all []level) string {
	for i, l := range all {
		miss := l.miss()
		switch {
		case miss == "":
			continue
		case i == 0:
			return fmt.Sprintf("No load met the objectives: at %s %s.", l.heading(), miss)
		}
		return fmt.Sprintf("The objectives were met for %g %% of the requests up to %s: %s. At %s %s.",
			100*minGoodShare, all[i-1].heading(), cost(r, all[i-1]), l.heading(), miss)
	}
	last := all[len(all)-1]
	return fmt.Sprintf("Every load met the objectives for %g %% of its requests, up to %s: %s. A higher load may do so too.",
		100*minGoodShare, last.heading(), cost(r, last))
}

// miss says how a load misses the objectives by any of its repeats, empty where it
// meets them.
func (l level) miss() string {
	least := 1.0
	for _, s := range l.steps {
		if s.Overloaded() {
			return "the server did not keep up with the rate"
		}
		good, _ := s.Whole.GoodRatio()
		least = min(least, good)
	}
	if least >= minGoodShare {
		return ""
	}
	return formatPercent(least) + " of the requests met them"
}

// peakAnswer names the load with the most output tokens, and the least load that came
// near it.
func peakAnswer(r *result.Report, all []level) string {
	peak := slices.MaxFunc(all, func(a, b level) int { return cmp.Compare(a.throughput(), b.throughput()) })
	near := all[slices.IndexFunc(all, func(l level) bool { return l.throughput() >= nearPeakShare*peak.throughput() })]
	switch {
	case len(all) == 1:
		return fmt.Sprintf("%s: %s.", peak.heading(), cost(r, peak))
	case near.heading() != peak.heading():
		return fmt.Sprintf("Most output at %s: %s. %s gave %s of that: %s.", peak.heading(), cost(r, peak),
			near.heading(), formatPercent(near.throughput()/peak.throughput()), cost(r, near))
	case peak.heading() == all[len(all)-1].heading():
		return fmt.Sprintf("Most output at %s: %s. It was the highest load: a higher one may give more.", peak.heading(), cost(r, peak))
	}
	return fmt.Sprintf("Most output at %s: %s.", peak.heading(), cost(r, peak))
}

// cost is what a load brought, and what a user saw of it.
func cost(r *result.Report, l level) string {
	s := l.middle()
	shown := tablePercentiles(r)
	high := shown[len(shown)-1]
	ms := func(key result.Key, p float64) string { return Milliseconds.Text(percentile(s.Whole.Of(key), p)) }
	return fmt.Sprintf("%s requests/s, %s output tokens/s at TTFT %s ms (%s %s), TPOT %s ms (%s %s), %s failed",
		formatNumber(s.Whole.RequestThroughput), formatNumber(s.Whole.OutputThroughput),
		ms(result.TTFT, median), percentileName(high), ms(result.TTFT, high),
		ms(result.TPOT, median), percentileName(high), ms(result.TPOT, high), formatPercent(s.Account.FailureRatio()))
}
