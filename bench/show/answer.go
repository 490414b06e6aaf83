package show

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

const (
	// minGoodShare is the share of good requests from which on a load meets the objectives.
	minGoodShare = 0.99
	// nearPeakShare is the share of the most throughput from which on more load gains little.
	nearPeakShare = 0.9
	// notableFailures is the share of failures that is told with a figure.
	notableFailures = 0.01
)

// level is one load with its repeats.
type level struct {
	name  string // of its first repeat
	load  string
	steps []*result.Step // by their throughput
}

// middle is the repeat whose throughput is the median.
func (l level) middle() *result.Step { return l.steps[len(l.steps)/2] }

// levels are those of which something succeeded, from the least load to the most.
func levels(r *result.Report) []level {
	var all []level
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Account.Succeeded == 0 {
			continue
		}
		load := s.Step
		load.Repeat = 0
		n := slices.IndexFunc(all, func(l level) bool { return l.load == load.Name() })
		if n < 0 {
			n = len(all)
			all = append(all, level{name: words.Clean(s.Heading()), load: load.Name()})
		}
		all[n].steps = append(all[n].steps, s)
	}
	for _, l := range all {
		slices.SortStableFunc(l.steps, func(a, b *result.Step) int { return cmp.Compare(throughput(a), throughput(b)) })
	}
	slices.SortStableFunc(all, func(a, b level) int {
		x, y := a.steps[0], b.steps[0]
		return cmp.Or(cmp.Compare(x.Rate, y.Rate), cmp.Compare(x.Level(), y.Level()))
	})
	return all
}

func throughput(s *result.Step) float64 { return s.Whole.OutputThroughput }

// Answer says in a sentence or two what the sweep shows: up to which load the
// objectives were met, or where none were given which load brought the most output
// tokens, and at what latencies. Of a search for the capacity it is what the server
// carries.
func Answer(r *result.Report) string {
	if r.Capacity != nil {
		return capacityAnswer(r)
	}
	all := levels(r)
	if len(all) == 0 {
		return failedAnswer(r)
	}
	if r.Objectives.Any() {
		return metAnswer(all)
	}
	return peakAnswer(all)
}

// failedAnswer is of a report without a success.
func failedAnswer(r *result.Report) string {
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, reason := range s.Account.Reasons() {
			return words.Clean(fmt.Sprintf("No request succeeded. The first failure was %s: %s", reason, s.FailedAs[reason]))
		}
	}
	return "No request succeeded."
}

// metAnswer looks for the highest load below the first that misses the objectives.
func metAnswer(all []level) string {
	met := slices.IndexFunc(all, func(l level) bool { return missed(l) != "" })
	switch met {
	case 0:
		return fmt.Sprintf("No load met the objectives: at %s %s.", all[0].name, missed(all[0]))
	case -1:
		last := all[len(all)-1]
		return fmt.Sprintf("Every load met the objectives for %g %% of its requests, up to %s: %s. A higher load may do so too.",
			100*minGoodShare, last.name, carried(last.middle()))
	}
	return fmt.Sprintf("The objectives were met for %g %% of the requests up to %s: %s. At %s %s.",
		100*minGoodShare, all[met-1].name, carried(all[met-1].middle()), all[met].name, missed(all[met]))
}

// missed says how a load misses the objectives, by any of its repeats, and nothing
// where it meets them.
func missed(l level) string {
	least := 1.0
	for _, s := range l.steps {
		if s.Overloaded() {
			return "the server did not keep up with the rate"
		}
		good, known := s.Whole.GoodRatio()
		if !known {
			return "nothing tells how many met them"
		}
		least = min(least, good)
	}
	if least >= minGoodShare {
		return ""
	}
	return words.Percent(least) + " of the requests met them"
}

// peakAnswer tells of the load with the most output tokens, and of the least load that
// came near it.
func peakAnswer(all []level) string {
	peak, near := 0, 0
	for i, l := range all {
		if throughput(l.middle()) > throughput(all[peak].middle()) {
			peak = i
		}
	}
	for throughput(all[near].middle()) < nearPeakShare*throughput(all[peak].middle()) {
		near++
	}
	best := all[peak].middle()
	if len(all) == 1 {
		return fmt.Sprintf("%s: %s.", all[0].name, carried(best))
	}
	text := fmt.Sprintf("Most output at %s: %s.", all[peak].name, carried(best))
	if near < peak {
		s := all[near].middle()
		text += fmt.Sprintf(" %s gave %s of that%s.", all[near].name, words.Percent(throughput(s)/throughput(best)), cost(s))
	}
	if peak == len(all)-1 && near == peak {
		text += " It was the highest load: a higher one may give more."
	}
	return text
}

// carried is the throughput of a step, and at what cost.
func carried(s *result.Step) string {
	text := fmt.Sprintf("%s requests/s, %s output tokens/s", words.Number(s.Whole.RequestThroughput), words.Number(throughput(s)))
	if s.Overloaded() {
		text += " (the server did not keep up with the rate)"
	}
	return text + cost(s)
}

// cost is what a user saw of a step, and what failed of it.
func cost(s *result.Step) string {
	var parts words.List
	for _, m := range result.Main() {
		if m.Key != result.TTFT && m.Key != result.TPOT {
			continue
		}
		d := s.Whole.Of(m.Key)
		shown := tablePercentiles(s.Chosen, held(s))
		high := shown[len(shown)-1]
		parts.If(d.Count > 0, "%s %s ms (p%s %s)", m.Name, millis(d, median), words.Percentile(high), millis(d, high))
	}
	parts.If(s.Account.FailureRatio() >= notableFailures, "%s failed", words.Percent(s.Account.FailureRatio()))
	if len(parts) == 0 {
		return ""
	}
	return " at " + parts.String()
}
