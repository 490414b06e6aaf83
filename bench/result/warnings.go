package result

import (
	"fmt"
	"math"
	"slices"
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
	maxTogether     = 0.05             // answers whose first text was read with later chunks
	maxChunkless    = 0.02             // tokens without a chunk of text of their own
	slackOthers     = 1                // request of others, or a percent, that the server answered
)

// sentences are warnings, each made of one format.
type sentences []string

func (all *sentences) add(applies bool, format string, args ...any) {
	if applies {
		*all = append(*all, fmt.Sprintf(format, args...))
	}
}

// warnings say what makes the figures of a step doubtful, the gravest first.
func (d *stepData) warnings(s *Step, opts Options) []string {
	var all sentences
	d.addLoadWarnings(&all, s)
	d.addFigureWarnings(&all, s, opts)
	return all
}

// addLoadWarnings are about the load that was put on.
func (d *stepData) addLoadWarnings(all *sentences, s *Step) {
	a := &s.Account
	all.add(a.Mismatch != "", "Requests are missing or counted twice: %s.", a.Mismatch)
	all.add(s.Stop.Early(), "The step was stopped after %d requests (%s): it is shorter than was asked for.", a.Attempted, s.Stop)
	all.add(a.Failures() > 0, "%d of %d requests failed (%s): latencies are of those that did not, so read them beside this share.",
		a.Failures(), a.Attempted-a.Canceled, a.FailureText())
	all.add(s.Overloaded(), "Only %d requests were over of %d that arrived while all were sent: latencies grow for as long as the load lasts, so lower the rate.", d.over, d.arrived)
	all.add(s.NotSteady != "" && !s.Overloaded(), "The load never was steady, as %s: all figures are of the whole step, ramp and drain included, so run a longer one.", s.NotSteady)
	all.add(s.Short != "" && s.Steady != nil, "The load was less than the step is named by: %s.", s.Short)
	all.add(s.ClientLimit != "", "The load generator was the limit: %s. Give it more cores, or use more machines.", s.ClientLimit)
}

// addFigureWarnings are about what single figures are worth.
func (d *stepData) addFigureWarnings(all *sentences, s *Step, opts Options) {
	c := &s.Checks
	together := d.checks.together
	chunks := float64(d.checks.atOnce) / float64(max(1, together))
	all.add(float64(together) > maxTogether*float64(d.checks.answered) && tooLong((chunks-1)*s.Whole.median(TPOT), s.Whole.median(TTFT)),
		"The first text of %d of %d answers was read together with later chunks, %.1f at once on the mean: their TTFT is late, unless the server or a proxy joins chunks.",
		together, d.checks.answered, chunks)
	others := s.othersRequests(len(d.requests))
	all.add(others > 0 && s.Stop != "", "The server answered %d other requests meanwhile: the load was not only ours, so run when nobody else uses the server.", others)
	all.add(c.TokensBy[openai.TokensChunks] > 0, "The server sent no usage for %d of %d answers, whose tokens are counted as one a chunk: tokens a second and TPOT are off where a chunk has more.",
		c.TokensBy[openai.TokensChunks], s.Account.Succeeded)
	all.add(c.Tokens.WithoutChunk() > maxChunkless, "%.1f %% of the output tokens have no chunk of text of their own, as they have no text or came together: ITL is the gap between chunks, so read TPOT or ITL a token for the time of a token.",
		100*c.Tokens.WithoutChunk())
	p, least, n := s.doubtfulPercentile(opts)
	all.add(p > 0, "p%g takes %d requests and there are %d that count: run more, or do not quote it.", p, least, n)
}

// othersRequests are those that the server answered beside ours, 0 where it does not tell
// of any.
func (s *Step) othersRequests(sent int) int {
	if s.Server == nil || s.Server.TTFT == nil {
		return 0
	}
	others := int(s.Server.TTFT.Count) - sent
	if others <= max(slackOthers, sent/100) {
		return 0
	}
	return others
}

// doubtfulPercentile is the first percentile that was asked for, or that has a limit, for
// which there are too few requests in the steady part, else in the step; 0 for none.
func (s *Step) doubtfulPercentile(opts Options) (p float64, least, n int64) {
	f := &s.Whole
	if s.Steady != nil {
		f = s.Steady
	}
	n = f.Of(TTFT).Count
	asked := percentilesOf(opts.limits)
	if len(asked) == 0 {
		asked = opts.Chosen
	}
	for _, p := range asked {
		if least := int64(math.Ceil(100/(100-p) - 1e-6)); n > 0 && n < least {
			return p, least, n
		}
	}
	return 0, 0, 0
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
	lag, late := s.Checks.ClientLag.Mean, s.Whole.Of(Lateness).Mean
	isLate := tooLong(late, 1/s.Checks.ConfiguredRate) ||
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
	if level := s.Level(); level > 0 && s.Checks.Achieved < minLoadShare*float64(level) {
		return fmt.Sprintf("%.1f of %d requests were in flight on the mean", s.Checks.Achieved, level)
	}
	if s.Checks.ConfiguredRate == 0 || s.Overloaded() || len(d.requests) == 0 {
		return ""
	}
	first, last := d.requests[0], d.requests[len(d.requests)-1]
	took, due := float64(last.arrival()-first.arrival()), float64(last.due-first.due)
	if due >= minLoadShare*took {
		return ""
	}
	return fmt.Sprintf("requests of %.1f s were sent in %.1f s", due/perSecond, took/perSecond)
}
