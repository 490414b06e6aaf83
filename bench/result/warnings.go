package result

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// From where on the figures are in doubt.
const (
	minLoadShare    = 0.95 // of what was configured
	maxCachedShare  = 0.01 // of the prompt tokens
	maxCPUShare     = 0.8  // of the load generator's cores
	maxDelayShare   = 0.05 // of a latency that a delay of the client's own is in
	minKernelClock  = 0.99 // requests with the kernel's instants
	negligibleDelay = 1e-3 // seconds: delays of the client up to it are no news
)

// warnings say what makes the figures of a step doubtful, the gravest first.
func (g *gather) warnings(s *Step) []string {
	return slices.Concat(g.logWarnings(s), g.loadWarnings(s), g.clientWarnings(s), g.figureWarnings(s), g.cards.warnings(g.endpoint()))
}

// logWarnings are about what is known at all.
func (g *gather) logWarnings(s *Step) (list words.List) {
	list.If(s.Account.Mismatch != "", "Requests are missing or counted twice: %s; figures are of those in the log.", s.Account.Mismatch)
	var hosts []string
	for _, p := range g.joined.parts {
		host, known := p.log.run.Host, words.CountedVerb(p.account.Attempted, "request", "is", "are")
		hosts = append(hosts, host)
		killed := p == p.log.sections[len(p.log.sections)-1] && !p.log.complete
		list.If(p.end == nil && killed, "The run on %s was killed or still goes on: %s known, those in flight at the end are not; the last figures lean to the fast requests.", host, known)
		list.If(p.end == nil && !killed, "The line that ends this step is missing in the log of %s: %s known, and nothing to check that number against.", host, known)
	}
	missing := len(g.logs) - len(g.joined.parts)
	list.If(missing > 0, "%d of %d logs have no such step: the load was that much lower than in the others.", missing, len(g.logs))
	slices.Sort(hosts)
	machines := len(slices.Compact(hosts))
	list.If(machines > 1, "The clocks of %d machines are joined: windows, rates and concurrency are only as good as their NTP, so see that it is in step.", machines)
	list.If(len(g.joined.parts) > 1 && g.all.from > g.all.to, "The machines did not put on this load at the same time: start them together, or read their reports one by one.")
	list.If(g.joined.sameArrivals(), "The machines sent at the same instants: give each its own --seed.")
	d := &s.Dataset
	list.If(d.Estimated > 0, "The length of the answer was estimated for %d of %d prompts: the load is not token for token what the data set tells.", d.Estimated, d.Prompts)
	first := ""
	if len(d.FirstBad) > 0 {
		first = ", the first: " + d.FirstBad[0]
	}
	list.If(d.BadLine > 0, "%d records of the data set could not be used%s: mend them, or the load is not what was meant.", d.BadLine, first)
	return list
}

// loadWarnings are about the load that was put on.
func (g *gather) loadWarnings(s *Step) (list words.List) {
	advice := "latencies are of those that did not, so read them beside this share"
	switch {
	case s.Account.Succeeded > 0:
	case s.Whole.Of(TTFT).Count > 0:
		advice = "latencies are of what was seen before they did, so see what the first failure said"
	default:
		advice = "there are no latencies, so see what the first failure said"
	}
	list.If(s.Account.Failures() > 0, "%d of %d requests failed (%s: %s): %s.", s.Account.Failures(),
		s.Account.Attempted-s.Account.Canceled, words.Percent(s.Account.FailureRatio()), s.Account.FailureText(), advice)
	list = append(list, g.vocabularyWarning()...)
	list.If(s.LocalFailures > 0, "%d of the failures are this machine's, which had no more files or ports for connections: raise ulimit -n, or use more machines.", s.LocalFailures)
	n := s.Account.Attempted
	list.If(s.Stop == runlog.StopFailureRatio, "The step was stopped after %d requests because too many failed: mend the server or lower the load.", n)
	list.If(s.Stop == runlog.StopUnreachable, "The step was stopped after %d requests because the server could not be reached any more: see why it ended, and run again.", n)
	list.If(s.Stop == runlog.StopInterrupted, "The step was interrupted after %d requests: it is shorter than was asked for.", n)
	if len(g.curve.starts) == 0 {
		return append(list, "No request was sent: there are no figures, so see why the step stopped, and run again.")
	}
	list.If(s.NotSteady != "", "The load never was steady, as %s: all figures are of the whole step, ramp and drain included%s.", s.NotSteady, g.notSteady.remedy(s, g.opts))
	if g.backlog != nil {
		list = append(list, g.backlog.warning(s.NotSteady))
	}
	list = append(list, g.serverWarning(s.Server)...)
	if s.Short != "" {
		list = append(list, words.Sentence(s.Short+g.shortAdvice(s)))
	}
	return list
}

// clientWarnings are about this program's part in the figures.
func (g *gather) clientWarnings(s *Step) (list words.List) {
	c := &s.Checks
	userClock := g.checks.answered > 0 && c.KernelClock < minKernelClock
	list.If(userClock, "The instants of %s of the answers are those at which this program read them, not the kernel's: a busy load generator makes latencies longer.",
		words.Percent(1-c.KernelClock))
	gap, gaps := s.Whole.Of(ITL).known(median)
	lag, _ := g.checks.lags.p99()
	list.If(gaps && lag > maxDelayShare*gap && (userClock || lag > negligibleDelay),
		"This program read what had arrived %s late (p99), where gaps between chunks are %s: use more cores or fewer streams a machine.", words.Seconds(lag), words.Seconds(gap))
	for i, p := range g.joined.parts {
		run, cores := &p.log.run, g.cpus[i].cores()
		list.If(run.GOMAXPROCS > 0 && cores > maxCPUShare*float64(run.GOMAXPROCS),
			"The load generator on %s used %s of its %d cores: it may be what limits the figures, so give it more or use more machines.", run.Host, words.Number(cores), run.GOMAXPROCS)
	}
	first, answered := s.Whole.Of(TTFT).known(median)
	late, _ := g.out.p99(Lateness)
	list.If(answered && s.Arrival != runlog.ArrivalClosed && late > negligibleDelay && late > maxDelayShare*first,
		"Requests were sent %s late (p99), for want of CPU or of prompts (those that the server must tokenize): read latencies from when they were due, or use more cores.", words.Seconds(late))
	return list
}

// figureWarnings are about what single figures are worth.
func (g *gather) figureWarnings(s *Step) (list words.List) {
	c := &s.Checks
	n := c.TokensBy[openai.TokensChunks]
	list.If(n > 0, "The server told no usage for %d of %d answers, whose tokens are counted as one a chunk: tokens a second and TPOT are off where a chunk has more.", n, s.Account.Succeeded)
	list = slices.Concat(list, c.Tokens.warnings(), c.Prompts.warnings())
	list.If(c.CacheKnown && c.CacheHitRatio() >= maxCachedShare && !g.wantsCacheHits(),
		"%s of the prompt tokens came from the server's prefix cache: TTFT and throughput are better than for new prompts, so send such as it has not seen, or turn the cache off.", words.Percent(c.CacheHitRatio()))
	return slices.Concat(list, g.limitWarning(s), g.percentileWarning(s))
}

// percentileWarning is about the first percentile that so few requests do not have. Those
// that people quote count, as forms of other programs read many more; of a search those
// that have a limit.
func (g *gather) percentileWarning(s *Step) []string {
	f := &s.Whole
	if s.Steady != nil {
		f = s.Steady
	}
	n, limited := f.Of(TTFT).Count, percentilesOf(g.opts.limits)
	for _, p := range g.opts.Percentiles {
		counts := p == 90 || p == 95 || p >= 99
		if len(g.opts.limits) > 0 {
			counts = slices.Contains(limited, p)
		}
		if least := int64(math.Ceil(100/(100-p) - 1e-6)); counts && n > 0 && n < least {
			return []string{fmt.Sprintf("p%s needs %d requests and %s has %d: run more (%s), or do not quote it.",
				words.Percentile(p), least, windowName(s), n, g.opts.longer())}
		}
	}
	return nil
}

// wantsCacheHits reports whether hits in the server's prefix cache are what the
// data set is for.
func (g *gather) wantsCacheHits() bool {
	return slices.ContainsFunc(g.joined.parts, func(p *section) bool {
		run := &p.log.run
		kind, _ := dataset.ParseKind(run.Dataset)
		return run.ReusePrompts || kind == dataset.Prefix || kind == dataset.Replay
	})
}

// windowName is the window that the figures to look at first are of.
func windowName(s *Step) string {
	if s.Steady != nil {
		return "the steady part"
	}
	return "the whole step"
}
