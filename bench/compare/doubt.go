package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// maxDifference is the relative difference from which two loads, or the lengths of
	// their texts, are not the same.
	maxDifference = 0.05
	// maxShareDifference is the same for shares.
	maxShareDifference = 0.01
)

// doubts are why the runs of two sides at one level cannot be compared as they
// stand.
func doubts(nameA string, a []*result.Step, nameB string, b []*result.Step) []string {
	var found words.List
	if what, of := loadOf(a[0].Step); of != nil {
		x, y := middle(a, of), middle(b, of)
		found.If(unlike(x, y), "%s: %s %s, %s %s%s. Throughput and latency are of different loads.",
			what, nameA, figure(x, 3), nameB, figure(y, 3), configured(a[0]))
	}
	x, y := failureShare(a), failureShare(b)
	found.If(math.Abs(x-y) > maxShareDifference, "failures: %s %s %%, %s %s %%. Latencies are of the requests that succeeded, which are not the same share.",
		nameA, figure(100*x, 2), nameB, figure(100*y, 2))
	for _, length := range []struct {
		what string
		of   result.Key
	}{{"mean prompt length", result.PromptLength}, {"mean answer length", result.OutputLength}} {
		mean := func(s *result.Step) float64 { return s.Whole.Of(length.of).Mean }
		x, y := middle(a, mean), middle(b, mean)
		found.If(unlike(x, y), "%s: %s %s, %s %s tokens. Latency and requests/s follow the length.", length.what, nameA, figure(x, 3), nameB, figure(y, 3))
	}
	x, knownX := cachedShare(a)
	y, knownY := cachedShare(b)
	found.If(knownX && knownY && math.Abs(x-y) > maxShareDifference, "prompt tokens from the server's prefix cache: %s %s %%, %s %s %%. The fuller cache flatters TTFT and throughput.",
		nameA, figure(100*x, 2), nameB, figure(100*y, 2))
	kernel := func(s *result.Step) float64 { return s.Checks.KernelClock }
	found.If((middle(a, kernel) >= 0.5) != (middle(b, kernel) >= 0.5), "clock: one side's instants are the kernel's, the other's this program's own, which are later.")
	n, m := cutShort(a), cutShort(b)
	found.If(n+m > 0, "cut short (killed, interrupted, too many failures, or the server gone): %s %d of %d runs, %s %d of %d.", nameA, n, len(a), nameB, m, len(b))
	return found
}

// loadOf is what of a step the load generator is to hold, so that it must be the
// same on both sides: under a bound the requests in flight, else their rate.
func loadOf(s runlog.Step) (what string, of func(*result.Step) float64) {
	switch {
	case s.Arrival == runlog.ArrivalClosed, s.Arrival == runlog.ArrivalBurst && s.MaxConcurrency > 0:
		return "achieved concurrency", func(s *result.Step) float64 { return s.Checks.Achieved }
	case s.Arrival == runlog.ArrivalBurst:
		return "", nil
	}
	return "achieved rate", func(s *result.Step) float64 { return s.Checks.AchievedRate }
}

func configured(s *result.Step) string {
	if what, _ := loadOf(s.Step); what == "achieved rate" {
		if s.Checks.ConfiguredRate > 0 {
			return " req/s of " + figure(s.Checks.ConfiguredRate, 3) + " configured"
		}
		return " req/s"
	}
	return fmt.Sprintf(" of %d configured", s.Checks.Configured)
}

// unlikeSettings are the settings in which side i is unlike the first, at the
// levels that both ran.
func unlikeSettings(sides []Side, levels []level, i int) []string {
	var found words.List
	for _, set := range settings() {
		a, b := set.of(sides[0], levels, 0, i), set.of(sides[i], levels, i, 0)
		found.If(!slices.Equal(a, b), "%s: %s %s, %s %s.", set.what, sideNamed(sides[0].Name), list(a), sideNamed(sides[i].Name), list(b))
	}
	return found
}

// setting is one thing that should be the same on all sides.
type setting struct {
	what string
	// of gives the distinct values on a side, ascending. Steps count only at levels
	// that the other side ran as well.
	of func(s Side, levels []level, side, other int) []string
}

func settings() []setting {
	run := func(what string, of func(runlog.Run) string) setting {
		return setting{what, func(s Side, _ []level, _, _ int) []string { return ofRuns(s, of) }}
	}
	step := func(what string, of func(runlog.Step) string) setting {
		return setting{what, func(_ Side, levels []level, side, other int) []string {
			var values []string
			for _, l := range levels {
				if len(l.runs[other]) == 0 {
					continue
				}
				for _, s := range l.runs[side] {
					values = append(values, of(s.Step))
				}
			}
			return distinct(values)
		}}
	}
	return []setting{
		run("different model", func(r runlog.Run) string { return r.Model }),
		run("different API", func(r runlog.Run) string { return string(r.API) }),
		run("different dataset", datasetOf),
		run("different seed", func(r runlog.Run) string { return strconv.FormatUint(r.Seed, 10) }),
		run("prompts sent again as they are", func(r runlog.Run) string { return yesNo(r.ReusePrompts) }),
		run("load from different machines", func(r runlog.Run) string { return r.Host }),
		run("different versions of accelbench", func(r runlog.Run) string { return r.Version }),
		step("different timeout of a request", func(s runlog.Step) string { return s.Timeout.String() }),
		step("different limit of answer tokens", func(s runlog.Step) string { return strconv.Itoa(s.MaxTokens) }),
		step("different number of requests", func(s runlog.Step) string { return strconv.Itoa(s.Requests) }),
		step("different warm-up", func(s runlog.Step) string { return strconv.Itoa(s.Warmups) + " requests" }),
		step("different duration", func(s runlog.Step) string { return s.Duration.String() }),
		step("different ramp", func(s runlog.Step) string { return s.RampUp.String() }),
	}
}

func datasetOf(r runlog.Run) string {
	if r.DatasetPath == "" {
		return r.Dataset
	}
	return r.Dataset + " " + filepath.Base(r.DatasetPath)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// notes are what a reader of the verdicts should know.
func (c *Comparison) notes(sides []Side) []string {
	var notes words.List
	notes.If(c.anyRow(func(_ Pair, r Row) bool { return r.Finding == TooFew }),
		"Too few runs: with 3 a side or fewer no difference can be told, however large. Repeat with --repeat 5.")
	notes.If(c.Tests > 0, "%d tests were made (Mann-Whitney U, two-sided, alpha %g). If nothing differed, up to %s of them would find a difference by chance.",
		c.Tests, alpha, figure(alpha*float64(c.Tests), 2))
	var warned words.List // sides with steps that have warnings of their own
	some := false
	for _, s := range sides {
		steps, n := 0, 0
		for _, r := range s.Reports {
			for _, step := range r.Steps {
				steps++
				if len(step.Warnings) > 0 || step.Account.Mismatch != "" {
					n++
				}
			}
		}
		some = some || n > 0
		warned = append(warned, fmt.Sprintf("%s %d of %d", sideNamed(s.Name), n, steps))
	}
	notes.If(some, "Steps with warnings of their own: %s. accelbench report shows them.", warned)
	return notes
}

// drift warns when all runs of the first side came before all of side i, or after:
// a test tells that they differ, but not that the sides are why.
func drift(sides []Side, levels []level, i int) (warnings words.List) {
	first, second, ok := inSequence(sides, levels, i)
	warnings.If(ok, "All runs of %s came before all of %s: what else changed between (heat, other users, a fuller cache) "+
		"looks like a difference. Interleave them with --side.", sideNamed(first), sideNamed(second))
	return warnings
}

// inSequence reports whether all repeats of one side came before all of the other.
func inSequence(sides []Side, levels []level, i int) (first, second string, ok bool) {
	var a, b []*result.Step
	repeated := false
	for _, l := range levels {
		if len(l.runs[0]) > 0 && len(l.runs[i]) > 0 {
			a, b = append(a, l.runs[0]...), append(b, l.runs[i]...)
			repeated = repeated || len(l.runs[0]) > 1 && len(l.runs[i]) > 1
		}
	}
	if !repeated {
		return "", "", false
	}
	early := func(x, y *result.Step) int { return x.Started.Compare(y.Started) }
	switch {
	case slices.MaxFunc(a, early).Started.Before(slices.MinFunc(b, early).Started):
		return sides[0].Name, sides[i].Name, true
	case slices.MaxFunc(b, early).Started.Before(slices.MinFunc(a, early).Started):
		return sides[i].Name, sides[0].Name, true
	}
	return "", "", false
}

// unlike reports whether two positive values are more than maxDifference apart. What is
// not known is like everything.
func unlike(x, y float64) bool {
	return x > 0 && y > 0 && max(x, y)/min(x, y) > 1+maxDifference
}

// middle is the median of a value over runs, 0 where no run has one.
func middle(runs []*result.Step, of func(*result.Step) float64) float64 {
	var values []float64
	for _, s := range runs {
		if v := of(s); v > 0 && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return estimate(values).Median
}

func failureShare(runs []*result.Step) float64 {
	failed, ended := 0, 0
	for _, s := range runs {
		failed += s.Account.Failures()
		ended += s.Account.Failures() + s.Account.Succeeded
	}
	return float64(failed) / float64(max(1, ended))
}

func cachedShare(runs []*result.Step) (share float64, known bool) {
	var cached, prompt int64
	for _, s := range runs {
		if !s.Checks.CacheKnown {
			return 0, false
		}
		cached += s.Checks.CachedTokens
		prompt += s.Checks.PromptTokens
	}
	return float64(cached) / float64(max(1, prompt)), prompt > 0
}

func cutShort(runs []*result.Step) int {
	n := 0
	for _, s := range runs {
		if s.Stop == "" || s.Stop.Early() {
			n++
		}
	}
	return n
}
