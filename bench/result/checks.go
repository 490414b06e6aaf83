package result

import (
	"fmt"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// checker counts what tells how far the figures can be trusted, over all of a
// step.
type checker struct {
	Checks
	lags             samples
	ends             moments // lags of the last read of each answer, after which a user goes on
	answered, kernel int     // requests with an answer, and those with the kernel's instants
	cut              limitedAnswers
}

func (c *checker) take(r *runlog.Request) {
	t := &r.Trace
	c.cut.take(r)
	for _, lag := range t.Lags {
		c.lags.add(int64(lag))
	}
	if n := len(t.Lags); n > 0 {
		c.ends.add(max(0, t.Lags[n-1].Seconds()))
	}
	if t.Events > 0 {
		c.answered++
		if t.Clock == openai.ClockKernel {
			c.kernel++
		}
	}
	if t.Failure == nil {
		if c.TokensBy == nil {
			c.TokensBy = map[openai.TokenSource]int{}
		}
		_, source := openai.OutputTokens(t)
		c.TokensBy[source]++
		c.Tokens.take(t)
	}
	if u := t.Usage; u != nil && u.PromptTokens > 0 {
		c.Answered++
		c.PromptTokens += int64(u.PromptTokens)
		if u.CachedTokens != nil {
			c.CacheTold++
			c.CachedTokens += int64(min(*u.CachedTokens, u.PromptTokens)) // whatever a server claims
		}
	}
	c.Prompts.take(r)
	if madeConnection(t) {
		c.NewConnections++
	}
}

// check fills in the checks of a step whose other figures are known.
func (g *gather) check(s *Step) {
	s.Checks = g.checks.Checks
	c := &s.Checks
	c.Configured = s.Concurrency
	if s.Arrival != runlog.ArrivalClosed {
		c.Configured, c.ConfiguredRate = s.MaxConcurrency, s.Rate
	}
	window := g.whole.span
	if g.steady != nil {
		window = g.steady.span
	}
	c.Achieved, c.AchievedWhole = g.curve.mean(window), g.curve.mean(g.whole.span)
	sending, n := g.curve.sending(window)
	c.AchievedRate = perSecondOf(n, sending)
	c.ClientLag = g.checks.lags.distribution(g.opts.Percentiles, perSecond)
	if g.checks.answered > 0 {
		c.KernelClock = float64(g.checks.kernel) / float64(g.checks.answered)
	}
	c.Prompts.How = g.joined.parts[0].log.run.Lengths
	c.CacheKnown = c.CacheTold > 0
	if v := s.Server; !c.CacheKnown && v != nil && v.PrefixOurs && v.PrefixHits != nil {
		c.PromptTokens, c.CachedTokens, c.CacheKnown = int64(*v.PrefixQueries), int64(*v.PrefixHits), true
	}
	for i := range g.cpus {
		c.ClientCPU += g.cpus[i].cores()
	}
}

// perSecondOf is the rate of n events from the first to the last of them.
func perSecondOf(n int, s span) float64 {
	if n < 2 || s.to <= s.from {
		return 0
	}
	return float64(n-1) / s.seconds()
}

// mismatch says where the requests' lines are not what their load generator
// counted.
func (g *gather) mismatch() string {
	var found words.List
	for _, p := range g.joined.parts {
		if p.end == nil {
			continue
		}
		counted := Account{Attempted: p.end.Attempted, Succeeded: p.end.Succeeded, Canceled: p.end.Canceled, Failed: p.end.Failed}
		a, b := inWords(p.account), inWords(counted)
		found.If(a != b, "the log of %s holds %s, its load generator counted %s", p.log.run.Host, a, b)
	}
	return strings.Join(found, "; ")
}

// inWords is an account with everything that is not 0.
func inWords(a Account) string {
	text := words.List{fmt.Sprintf("%d requests (%d succeeded", a.Attempted, a.Succeeded)}
	text.If(a.Failures() > 0, "%d failed: %s", a.Failures(), a.FailureText())
	text.If(a.Canceled > 0, "%d canceled", a.Canceled)
	return text.String() + ")"
}

// joinDataset adds what another machine took from its dataset.
func joinDataset(a *runlog.DatasetCount, b runlog.DatasetCount) {
	a.Prompts += b.Prompts
	a.Passes += b.Passes
	a.BadLine += b.BadLine
	a.TooLong += b.TooLong
	a.Skipped += b.Skipped
	a.Estimated += b.Estimated
	a.FirstBad = append(a.FirstBad, b.FirstBad...)
}
