package result

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// From where on the figures are in doubt.
const (
	maxCPUShare     = 0.8              // of the load generator's cores
	fairPart        = 0.05             // of a latency, of the gap between requests, or of an objective
	negligibleDelay = time.Millisecond // of the client's own
	minKernelClock  = 0.99             // requests with the kernel's instants
	maxResent       = 0.01             // requests sent again
	minStart        = 50               // samples in the half that the start is held against
	maxStart        = 0.2              // by which the start may differ
	rareArrivals    = 0.001            // probability of gaps that differ so from those asked for
	maxTogether     = 0.05             // answers whose first text was read with later chunks
	maxChunkless    = 0.02             // tokens without a chunk of text of their own
	rounding        = 1e-6             // of what floating point makes of a percentile
	maxMissedHits   = 0.05             // by which the hit ratio is below the possible one
	// by which it is above the possible one, which does not hold what a chat template puts before all prompts.
	maxUnexplainedHits = 0.25
)

// sentences are warnings, each made of one format.
type sentences []string

func (all *sentences) add(applies bool, format string, args ...any) {
	if applies {
		*all = append(*all, fmt.Sprintf(format, args...))
	}
}

func ranks(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

// addWarnings says what makes the figures of a step doubtful, the gravest first.
func (d *stepData) addWarnings(s *Step) {
	var all sentences
	a, n := &s.Account, &d.counts
	limit, remedy := d.clientLimit(s)
	s.ClientLimit, s.Short = limit, d.short(s)
	all.add(s.Void != nil, "The step is void: machine %s was lost, so the load was not what was asked for.", ranks(s.Lost))
	all.add(s.Void == nil && s.Lost != nil, "Machine %s was lost, and its share of the load is missing from then on.", ranks(s.Lost))
	all.add(a.Unknown > 0, "What became of %d requests of a lost machine is not known.", a.Unknown)
	all.add(s.Stop != "" && d.counted != a.Attempted, "The log holds %d requests, and %d were sent: some are missing or counted twice.", a.Attempted, d.counted)
	all.add(s.Stop.Early(), "The step was stopped after %d requests (%s): it is shorter than was asked for.", a.Attempted, s.Stop)
	failures := make([]string, 0, len(a.Failed))
	for _, reason := range a.Reasons() {
		failures = append(failures, fmt.Sprintf("%s %d", openai.Excerpt(string(reason)), a.Failed[reason]))
	}
	failed := fmt.Sprintf("%d of %d requests failed (%s)", a.Failures(), a.Attempted-a.Canceled, strings.Join(failures, ", "))
	if a.Succeeded == 0 {
		all.add(a.Failures() > 0, "%s.", failed)
		all.add(limit != "", "The load generator was the limit: %s. %s.", limit, remedy)
		s.Warnings = all
		return
	}
	all.add(a.Failures() > 0, "%s: those that ended at once are in no latency, so read latencies beside this share.", failed)
	all.add(s.NotSteady != "", "No steady state (%s): all figures are of the whole step, ramp and drain included.", s.NotSteady)
	all.add(s.Short != "" && s.Steady != nil, "The load was less than the step is named by: %s.", s.Short)
	all.add(limit != "", "The load generator was the limit: %s. %s.", limit, remedy)
	all.add(s.Checks.Textless > 0, "%d of %d answers had no text: they have no latencies.", s.Checks.Textless, a.Succeeded)
	all.add(s.Checks.Broken > 0, "%d of %d answers (%.1f %%) are broken text, as an engine writes that computes wrongly: %s.", s.Checks.Broken, a.Succeeded, 100*float64(s.Checks.Broken)/float64(a.Succeeded), s.Checks.BrokenAs)
	all.add(float64(s.Checks.Resent) > maxResent*float64(a.Attempted), "%d of %d requests were sent again, as the server had closed their kept connection: it may have restarted, or close idle connections too early.", s.Checks.Resent, a.Attempted)
	for _, t := range s.Checks.Trends {
		label, percent := openai.Objective{Measure: t.Measure}.Label(), 100*s.SteadyOrWhole().Window.Duration().Hours()
		all.add(t.Clear && s.Steady != nil && s.Arrival != runlog.ArrivalReplay, "%s was not stationary: it changed by %+.0f ± %.0f %% over the steady part. Run longer, or look for what else happened.", label, percent*t.PerHour, percent*t.PlusMinus)
		all.add(!t.Clear && t.Start.Known() && s.Steady != nil && s.Arrival != runlog.ArrivalReplay, "%s was not stationary: in the first fifth of the steady part it was %+.0f %% off the second half. Send --num-warmups first, or run longer.", label, 100*t.Start)
	}
	all.add(float64(s.Checks.Arrivals) < rareArrivals && float64(s.Checks.ArrivalsOff) > fairPart, "Requests did not arrive as asked for: their gaps differ from the wanted distribution by %.0f %% (Kolmogorov-Smirnov, p=%.2g).",
		100*s.Checks.ArrivalsOff, s.Checks.Arrivals)
	chunks := float64(n.atOnce) / float64(max(1, n.together))
	all.add(float64(n.together) > maxTogether*float64(n.answered) && tooLong((chunks-1)*s.Whole.median(TPOT), s.Whole.median(TTFT)),
		"The first text of %d of %d answers was read together with later chunks, %.1f at once on the mean: their TTFT is late, unless the server or a proxy joins chunks.",
		n.together, n.answered, chunks)
	all.add(s.Checks.TokensWithoutChunk > maxChunkless, "%.1f %% of the output tokens have no chunk of text of their own, as they have no text or came together: ITL is the gap between chunks, so read TPOT or ITL a token for the time of a token.",
		100*s.Checks.TokensWithoutChunk)
	times := (s.Dataset.Passes + 1) * (s.Index + 1)
	all.add(d.parts[0].run.ReusePrompts && times > 1, "Prompts were sent up to %d times so far: the server's prefix cache may have served all but the first.", times)
	all.add(s.Dataset.Cut, "The trace has more records than the %d that were sent: give more --num-prompts to send them too.", s.Requests)
	if served := s.Cache.Served(); served != nil && s.Cache.Possible != nil {
		missed := s.Cache.Possible.Ratio - served.Ratio
		all.add(missed > maxMissedHits && a.FailureRatio() < fairPart, "The prefix cache served %.0f %% of the prompts' tokens, %.0f %% were possible: it is off, or too small for the prefixes, or several replicas have a cache each.",
			100*served.Ratio, 100*s.Cache.Possible.Ratio)
		all.add(-missed > maxUnexplainedHits, "The prefix cache served %.0f %% of the prompts' tokens, and %.0f %% were possible in this run: it had them from before. Restart the server, or give another --seed.",
			100*served.Ratio, 100*s.Cache.Possible.Ratio)
	}
	all.add(len(s.Cards) > 0 && len(s.Serving()) == 0, "None of the exporter's targets is this endpoint, so its cards and their energy are not known: name its target by host and port.")
	part := "the step"
	if s.Steady != nil {
		part = "the steady part"
	}
	highest, ttft := slices.Max(s.Percentiles), s.SteadyOrWhole().Of(TTFT)
	p, _ := ttft.At(highest)
	least := math.Ceil(100/(100-highest) - rounding)
	all.add(ttft.Count > 0 && float64(p.Independent) < least, "p%g takes %.0f independent requests, and %s has %.0f (%d requests): run more, or do not quote it.",
		highest, least, part, math.Floor(float64(p.Independent)), ttft.Count+ttft.Waiting)
	s.Warnings = all
}

// clientLimit says how the load generator was what limited a step, in a clause, and what to do; empty where it was
// not. A delay counts where it is in the latencies, or a fair part of the gap between requests or of an objective.
func (d *stepData) clientLimit(s *Step) (limit, remedy string) {
	const moreCores = "Give it more cores, or use more machines"
	for _, p := range d.parts {
		if cores := p.cores(); p.run.GOMAXPROCS > 0 && cores > maxCPUShare*float64(p.run.GOMAXPROCS) {
			return fmt.Sprintf("it used %.2f of the %d cores of %s", cores, p.run.GOMAXPROCS, p.run.Host), moreCores
		}
	}
	lag, late, gap := s.Checks.ClientLag, s.Whole.Of(Lateness).Mean, 0.0
	if n := len(d.units); n > 1 {
		gap = span{d.units[0].due, d.units[n-1].due}.seconds() / float64(n-1) // between requests as they were due
	}
	inAnswer := []Key{TPOT, ITL, openai.Failures} // which do not begin with the sending
	isLate := tooLong(late, gap) || slices.ContainsFunc(s.Objectives, func(r ObjectiveResult) bool {
		return !slices.Contains(inAnswer, r.Measure) && tooLong(late, r.Limit)
	})
	switch {
	case d.outOfFiles:
		return fmt.Sprintf("%d requests failed for want of file descriptors", d.localFailures), "Raise ulimit -n"
	case d.localFailures > 0:
		return fmt.Sprintf("%d requests failed for want of ports or memory for connections", d.localFailures), "Use more machines"
	case s.Checks.KernelClock < minKernelClock && tooLong(lag, s.Whole.median(ITL)):
		return fmt.Sprintf("it read what had arrived %.1f ms late on the mean, and took its own time for that of the arrival", 1000*lag), moreCores
	case s.Arrival != runlog.ArrivalClosed && isLate:
		return fmt.Sprintf("it sent requests %.1f ms late on the mean", 1000*late), moreCores
	}
	return "", ""
}

// tooLong reports whether a delay is a fair part of a time, both in seconds.
func tooLong(delay, time float64) bool {
	return time > 0 && delay > negligibleDelay.Seconds() && delay > fairPart*time
}

// short says by how much the load was less than the step is named by, in a clause; empty
// where it was not. A rate is held against when the requests arrived.
func (d *stepData) short(s *Step) string {
	if level := s.Concurrency; level > 0 && s.Checks.Achieved < minLoadShare*float64(level) {
		return fmt.Sprintf("%.1f of %d %s were in flight on the mean", s.Checks.Achieved, level, d.noun())
	}
	if s.Concurrency > 0 || s.Arrival == runlog.ArrivalBurst || s.Overloaded() || len(d.units) == 0 {
		return ""
	}
	first, last := d.units[0], d.units[len(d.units)-1]
	took, due := float64(last.arrival()-first.arrival()), float64(last.due-first.due)
	if due >= minLoadShare*took {
		return ""
	}
	return fmt.Sprintf("%s of %.1f s were sent in %.1f s", d.noun(), due/perSecond, took/perSecond)
}
