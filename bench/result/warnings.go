package result

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// From where on the figures are in doubt.
const (
	maxCPUShare     = 0.8              // of the load generator's cores
	fairPart        = 0.05             // of a latency, of the gap between requests, or of an objective
	negligibleDelay = time.Millisecond // of the client's own
	minKernelClock  = 0.99             // requests with the kernel's instants
	maxTogether     = 0.05             // answers whose first text was read with later chunks
	maxChunkless    = 0.02             // tokens without a chunk of text of their own
	rounding        = 1e-6             // of what floating point makes of a percentile
)

// sentences are warnings, each made of one format.
type sentences []string

func (all *sentences) add(applies bool, format string, args ...any) {
	if applies {
		*all = append(*all, fmt.Sprintf(format, args...))
	}
}

// warnings say what makes the figures of a step doubtful, the gravest first.
func (d *stepData) warnings(s *Step) []string {
	var all sentences
	a, n := &s.Account, &d.counts
	all.add(s.Stop != "" && d.counted != a.Attempted, "The log holds %d requests, and %d were sent: some are missing or counted twice.", a.Attempted, d.counted)
	all.add(s.Stop.Early(), "The step was stopped after %d requests (%s): it is shorter than was asked for.", a.Attempted, s.Stop)
	all.add(a.Failures() > 0, "%d of %d requests failed (%s): latencies are of those that did not, so read them beside this share.",
		a.Failures(), a.Attempted-a.Canceled, a.failureText())
	all.add(s.NotSteady != "", "The load never was steady, as %s: all figures are of the whole step, ramp and drain included.", s.NotSteady)
	all.add(s.Short != "" && s.Steady != nil, "The load was less than the step is named by: %s.", s.Short)
	all.add(s.ClientLimit != "", "The load generator was the limit: %s. Give it more cores, or use more machines.", s.ClientLimit)
	chunks := float64(n.atOnce) / float64(max(1, n.together))
	all.add(float64(n.together) > maxTogether*float64(n.answered) && tooLong((chunks-1)*s.Whole.median(TPOT), s.Whole.median(TTFT)),
		"The first text of %d of %d answers was read together with later chunks, %.1f at once on the mean: their TTFT is late, unless the server or a proxy joins chunks.",
		n.together, n.answered, chunks)
	all.add(s.Checks.TokensWithoutChunk > maxChunkless, "%.1f %% of the output tokens have no chunk of text of their own, as they have no text or came together: ITL is the gap between chunks, so read TPOT or ITL a token for the time of a token.",
		100*s.Checks.TokensWithoutChunk)
	if c := s.Cache; c.forgot() {
		all.add(true, "The prefix cache served %.0f %% of the prompts' tokens, %.0f %% were possible: it is off, or too small for the prefixes, or several replicas have a cache each.",
			100*c.Served().Ratio, 100*c.Possible.Ratio)
	} else if c.isWarm() {
		all.add(true, "The prefix cache served %.0f %% of the prompts' tokens, and %.0f %% were possible in this run: it had them from before. Restart the server, or give another --seed.",
			100*c.Served().Ratio, 100*c.Possible.Ratio)
	}
	all.add(len(s.Cards) > 0 && len(s.Serving()) == 0, "None of the exporter's targets is this endpoint, so its cards and their energy are not known: name its target by host and port.")
	highest, have := slices.Max(s.Chosen), s.SteadyOrWhole().Of(TTFT).Count
	part := "the step"
	if s.Steady != nil {
		part = "its steady part"
	}
	least := int64(math.Ceil(100/(100-highest) - rounding))
	all.add(have > 0 && have < least, "p%g takes %d requests and %s has %d: run more, or do not quote it.", highest, least, part, have)
	return all
}

// clientLimit says how the load generator was what limited a step, in a clause; empty where
// it was not. A delay in reading counts where it is in the latencies, one in sending where
// it is a fair part of the gap between requests or of an objective.
func (d *stepData) clientLimit(s *Step) string {
	for _, p := range d.parts {
		if cores := p.cores(); p.run.GOMAXPROCS > 0 && cores > maxCPUShare*float64(p.run.GOMAXPROCS) {
			return fmt.Sprintf("it used %.2f of the %d cores of %s", cores, p.run.GOMAXPROCS, p.run.Host)
		}
	}
	lag, late := s.Checks.ClientLag, s.Whole.Of(Lateness).Mean
	isLate := tooLong(late, 1/s.Rate) ||
		slices.ContainsFunc(s.Held, func(h Held) bool { return h.Percentile > 0 && tooLong(late, h.Limit.Limit) })
	switch {
	case d.local > 0:
		return fmt.Sprintf("%d requests failed as it had no more files or ports for connections", d.local)
	case s.Checks.KernelClock < minKernelClock && tooLong(lag, s.Whole.median(ITL)):
		return fmt.Sprintf("it read what had arrived %.1f ms late on the mean, and took its own time for that of the arrival", 1000*lag)
	case s.Arrival != runlog.ArrivalClosed && isLate:
		return fmt.Sprintf("it sent requests %.1f ms late on the mean", 1000*late)
	}
	return ""
}

// tooLong reports whether a delay is a fair part of a time, both in seconds.
func tooLong(delay, of float64) bool {
	return of > 0 && delay > negligibleDelay.Seconds() && delay > fairPart*of
}

// short says by how much the load was less than the step is named by, in a clause; empty
// where it was not. A rate is held against when the requests arrived.
func (d *stepData) short(s *Step) string {
	if level := s.Concurrency; level > 0 && s.Checks.Achieved < minLoadShare*float64(level) {
		return fmt.Sprintf("%.1f of %d %s were in flight on the mean", s.Checks.Achieved, level, d.noun())
	}
	if s.Rate == 0 || s.Overloaded() || len(d.units) == 0 {
		return ""
	}
	first, last := d.units[0], d.units[len(d.units)-1]
	took, due := float64(last.arrival()-first.arrival()), float64(last.due-first.due)
	if due >= minLoadShare*took {
		return ""
	}
	return fmt.Sprintf("%s of %.1f s were sent in %.1f s", d.noun(), due/perSecond, took/perSecond)
}
