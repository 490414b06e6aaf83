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
	var sorted []*result.Step
	for i := range steps {
		sorted = append(sorted, &steps[i])
	}
	slices.SortStableFunc(sorted, func(a, b *result.Step) int {
		return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(bound(&a.Step), bound(&b.Step)),
			cmp.Compare(a.Whole.OutputThroughput, b.Whole.OutputThroughput))
	})
	var all []level
	for _, s := range sorted {
		load := s.Step
		load.Repeat = 0
		if len(all) == 0 || all[len(all)-1].load.Name() != load.Name() {
			all = append(all, level{load: load})
		}
		last := &all[len(all)-1]
		last.steps = append(last.steps, s)
	}
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
		return objectivesAnswer(all)
	}
	return peakAnswer(all)
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
func objectivesAnswer(all []level) string {
	missed := slices.IndexFunc(all, func(l level) bool { return !l.meets() })
	switch missed {
	case 0:
		return fmt.Sprintf("No load met the objectives, not even %s (%s).", all[0].heading(), all[0].outcome())
	case -1:
		last := all[len(all)-1]
		return fmt.Sprintf("Every load met the objectives, up to %s (%s). A higher load may do so too.", last.heading(), last.outcome())
	}
	met := all[missed-1]
	return fmt.Sprintf("The objectives were met up to %s (%s), and not at %s.", met.heading(), met.outcome(), all[missed].heading())
}

// meets reports whether all repeats kept up with their rate and met the objectives.
func (l level) meets() bool {
	return !slices.ContainsFunc(l.steps, func(s *result.Step) bool {
		good, _ := s.Whole.GoodRatio()
		return s.Overloaded() || good < minGoodShare
	})
}

// peakAnswer names the load with the most output tokens, and the least load that came
// near it.
func peakAnswer(all []level) string {
	peak := slices.MaxFunc(all, func(a, b level) int { return cmp.Compare(a.throughput(), b.throughput()) })
	enough := all[slices.IndexFunc(all, func(l level) bool { return l.throughput() >= nearPeakShare*peak.throughput() })]
	switch {
	case len(all) == 1:
		return fmt.Sprintf("%s: %s.", peak.heading(), peak.outcome())
	case enough.heading() != peak.heading():
		return fmt.Sprintf("Most output at %s: %s. %s gave %s of that: %s.", peak.heading(), peak.outcome(),
			enough.heading(), formatPercent(enough.throughput()/peak.throughput()), enough.outcome())
	}
	return fmt.Sprintf("Most output at %s: %s.", peak.heading(), peak.outcome())
}

// outcome is what a load brought, and what a user saw of it.
func (l level) outcome() string {
	s := l.middle()
	high := highest(s.Chosen)
	return fmt.Sprintf("%s requests/s, %s output tokens/s, TTFT %s %s ms, TPOT %s %s ms, %s failed",
		formatNumber(s.Whole.RequestThroughput), formatNumber(s.Whole.OutputThroughput),
		percentileName(high), Milliseconds.Text(percentile(s.Whole.Of(result.TTFT), high)),
		percentileName(high), Milliseconds.Text(percentile(s.Whole.Of(result.TPOT), high)), formatPercent(s.Account.FailureRatio()))
}
