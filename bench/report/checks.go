package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// checker counts what tells how far the figures can be trusted, over all of a
// step.
type checker struct {
	lags             samples
	answered, kernel int // requests with an answer, and those with the kernel's instants
	tokensBy         map[openai.TokenSource]int
	prompt, cached   int64 // tokens by the server's usage
	told             int   // requests whose usage told the prompt's
	cacheTold        int   // of them, those whose usage told of the cache
	tokens           Tokens
	prompts          Prompts
	connections      int
	cut              limitedAnswers
}

func (c *checker) take(r *runlog.Request) {
	t := &r.Trace
	c.cut.take(r)
	for _, lag := range t.Lags {
		c.lags.add(int64(lag))
	}
	if t.Events > 0 {
		c.answered++
		if t.Clock == openai.ClockKernel {
			c.kernel++
		}
	}
	if t.Failure == nil {
		if c.tokensBy == nil {
			c.tokensBy = map[openai.TokenSource]int{}
		}
		_, source := openai.OutputTokens(t)
		c.tokensBy[source]++
		c.tokens.take(t)
	}
	c.takeCache(r)
	c.prompts.take(r)
	if madeConnection(t) {
		c.connections++
	}
}

// check fills in the checks of a step whose other figures are known.
func (g *gather) check(s *Step) {
	c := &s.Checks
	c.Configured = s.Concurrency
	if s.Arrival != runlog.ArrivalClosed {
		c.Configured = s.MaxConcurrency
		c.ConfiguredRate = s.Rate
	}
	c.AchievedWhole = g.curve.mean(g.whole.span)
	c.Achieved = c.AchievedWhole
	if g.steady != nil {
		c.Achieved = g.curve.mean(g.steady.span)
	}
	window := g.whole.span
	if g.steady != nil {
		window = g.steady.span
	}
	sending, n := g.curve.sending(window)
	c.AchievedRate = perSecondOf(n, sending)
	c.ClientLag = g.checks.lags.distribution(g.opts.Percentiles, perSecond)
	if g.checks.answered > 0 {
		c.KernelClock = float64(g.checks.kernel) / float64(g.checks.answered)
	}
	c.TokensBy, c.NewConnections = g.checks.tokensBy, g.checks.connections
	c.Prompts = g.checks.prompts
	c.Prompts.How = runOf(g.logs, g.joined.parts[0]).Lengths
	c.Tokens, c.Answered = g.checks.tokens, g.checks.told
	c.PromptTokens, c.CachedTokens, c.CacheTold = g.checks.prompt, g.checks.cached, g.checks.cacheTold
	c.CacheKnown = c.CacheTold > 0
	if v := s.Server; !c.CacheKnown && v != nil && v.PrefixOurs && v.PrefixHits != nil {
		c.PromptTokens, c.CachedTokens, c.CacheKnown = int64(*v.PrefixQueries), int64(*v.PrefixHits), true
	}
	for i := range g.cpus {
		c.ClientCPU += g.cpus[i].cores()
	}
}

// due is the span in which the requests that were sent were due.
func (g *gather) due() span {
	var s span
	for _, p := range g.joined.parts {
		if p.first == 0 {
			continue
		}
		if s == (span{}) {
			s = p.planned
		}
		s = span{min(s.from, p.planned.from), max(s.to, p.planned.to)}
	}
	return s
}

// perSecondOf is the rate of n events from the first to the last of them.
func perSecondOf(n int, s span) float64 {
	if n < 2 || s.to <= s.from {
		return 0
	}
	return float64(n-1) / time.Duration(s.to-s.from).Seconds()
}

// mismatch says where the requests' lines are not what their load generator
// counted.
func (g *gather) mismatch() string {
	var found []string
	for _, p := range g.joined.parts {
		if p.end == nil {
			continue
		}
		counted := Account{Attempted: p.end.Attempted, Succeeded: p.end.Succeeded, Canceled: p.end.Canceled, Failed: p.end.Failed}
		if a, b := inWords(p.account), inWords(counted); a != b {
			found = append(found, fmt.Sprintf("the log of %s holds %s, its load generator counted %s", runOf(g.logs, p).Host, a, b))
		}
	}
	return strings.Join(found, "; ")
}

// inWords is an account with everything that is not 0.
func inWords(a Account) string {
	words := fmt.Sprintf("%d requests (%d succeeded", a.Attempted, a.Succeeded)
	if n := a.Failures(); n > 0 {
		words += fmt.Sprintf(", %d failed: %s", n, a.FailureText())
	}
	if a.Canceled > 0 {
		words += fmt.Sprintf(", %d canceled", a.Canceled)
	}
	return words + ")"
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
