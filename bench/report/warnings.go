package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report/internal/words"
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
	wholeWindow     = "the whole step"
	steadyWindow    = "the steady part"
)

// warnings say what makes the figures of a step doubtful, the gravest first.
func (g *gather) warnings(s *Step) []string {
	var all []string
	for _, more := range [][]string{
		g.logWarnings(s), g.loadWarnings(s), g.clientWarnings(s), g.figureWarnings(s),
		g.cards.warnings(g.endpoint()),
	} {
		all = append(all, more...)
	}
	return all
}

// logWarnings are about what is known at all.
func (g *gather) logWarnings(s *Step) []string {
	var list []string
	if s.Account.Mismatch != "" {
		list = append(list, fmt.Sprintf("Requests are missing or counted twice: %s; figures are of those in the log.", s.Account.Mismatch))
	}
	for _, p := range g.joined.parts {
		log := g.logs[p.log]
		switch last := p.section == log.sections[len(log.sections)-1]; {
		case p.end != nil:
		case last && !log.complete:
			list = append(list, fmt.Sprintf("The run on %s was killed or still goes on: %s known, those in flight at the end are not; the last figures lean to the fast requests.",
				log.run.Host, words.CountedVerb(p.account.Attempted, "request", "is", "are")))
		default:
			list = append(list, fmt.Sprintf("The line that ends this step is missing in the log of %s: %s known, and nothing to check that number against.",
				log.run.Host, words.CountedVerb(p.account.Attempted, "request", "is", "are")))
		}
	}
	if missing := len(g.logs) - len(g.joined.parts); missing > 0 {
		list = append(list, fmt.Sprintf("%d of %d logs have no such step: the load was that much lower than in the others.", missing, len(g.logs)))
	}
	if names := hosts(g.logs, g.joined.parts); len(names) > 1 {
		list = append(list, fmt.Sprintf("The clocks of %d machines are joined: windows, rates and concurrency are only as good as their NTP, so see that it is in step.", len(names)))
	}
	if !g.together() {
		list = append(list, "The machines did not put on this load at the same time: start them together, or read their reports one by one.")
	}
	if g.joined.sameArrivals() {
		list = append(list, "The machines sent at the same instants: give each its own --machine or --seed.")
	}
	if n := s.Dataset.Estimated; n > 0 {
		list = append(list, fmt.Sprintf("The length of the answer was estimated for %d of %d prompts: the load is not token for token what the data set tells.",
			n, s.Dataset.Prompts))
	}
	if n := s.Dataset.BadLine; n > 0 {
		text := fmt.Sprintf("%d records of the data set could not be used", n)
		if len(s.Dataset.FirstBad) > 0 {
			text += ", the first: " + s.Dataset.FirstBad[0]
		}
		list = append(list, text+": mend them, or the load is not what was meant.")
	}
	return list
}

// together reports whether all machines had requests in flight at one time.
func (g *gather) together() bool {
	lastFirst, firstLast := int64(0), int64(0)
	for _, p := range g.joined.parts {
		if p.first == 0 {
			continue
		}
		lastFirst = max(lastFirst, p.first)
		if firstLast == 0 || p.last < firstLast {
			firstLast = p.last
		}
	}
	return len(g.joined.parts) < 2 || lastFirst <= firstLast
}

// loadWarnings are about the load that was put on.
func (g *gather) loadWarnings(s *Step) []string {
	var list []string
	if n := s.Account.Failures(); n > 0 {
		advice := "latencies are of those that did not, so read them beside this share"
		switch {
		case s.Account.Succeeded > 0:
		case s.Whole.Of(TTFT).Count > 0:
			advice = "latencies are of what was seen before they did, so see what the first failure said"
		default:
			advice = "there are no latencies, so see what the first failure said"
		}
		list = append(list, fmt.Sprintf("%d of %d requests failed (%s: %s): %s.",
			n, s.Account.Attempted-s.Account.Canceled, words.Percent(s.Account.FailureRatio()), s.Account.FailureText(), advice))
	}
	list = append(list, g.vocabularyWarning()...)
	if n := s.LocalFailures; n > 0 {
		list = append(list, fmt.Sprintf("%d of the failures are this machine's, which had no more files or ports for connections: raise ulimit -n, or use more machines.", n))
	}
	switch s.Stop {
	case runlog.StopFailureRatio:
		list = append(list, fmt.Sprintf("The step was stopped after %d requests because too many failed: mend the server or lower the load.", s.Account.Attempted))
	case runlog.StopUnreachable:
		list = append(list, fmt.Sprintf("The step was stopped after %d requests because the server could not be reached any more: see why it ended, and run again.", s.Account.Attempted))
	case runlog.StopInterrupted:
		list = append(list, fmt.Sprintf("The step was interrupted after %d requests: it is shorter than was asked for.", s.Account.Attempted))
	}
	if len(g.curve.starts) == 0 {
		return append(list, "No request was sent: there are no figures, so see why the step stopped, and run again.")
	}
	if s.NotSteady != "" {
		text := fmt.Sprintf("The load never was steady, as %s: all figures are of the whole step, ramp and drain included", s.NotSteady)
		if remedy := g.notSteady.remedy(s); remedy != "" {
			text += "; " + remedy
		}
		list = append(list, text+".")
	}
	if b := g.backlog; b != nil {
		list = append(list, b.warning(s.NotSteady))
	}
	list = append(list, g.serverWarning(s.Server)...)
	c := &s.Checks
	if users := s.Level(); users > 0 && c.Achieved < minLoadShare*float64(users) {
		advice := "its ramp-up and drain are a large part of it, so run a longer step (--requests, --duration)"
		switch {
		case g.notSteady.full:
			advice = "read the figures as those of that load"
		case s.Steady != nil:
			advice = "users waited before they sent, so give the load generator more cores, or prompts that the server need not tokenize"
		}
		list = append(list, fmt.Sprintf("On average only %s of %d requests were in flight in %s, fewer than the step is named by: %s.",
			words.Number(c.Achieved), users, windowName(s), advice))
	}
	return append(list, g.rateWarning(c)...)
}

// rateWarning is about a rate that was not kept. A rate that chance made low is
// not the client's fault, so it is held against when the requests were due.
func (g *gather) rateWarning(c *Checks) []string {
	due := perSecondOf(len(g.curve.starts), g.due())
	if g.steady != nil {
		due = perSecondOf(g.curve.sent(g.steady.span), g.dueSteady)
	}
	waits := g.backlog != nil && g.backlog.bounded // which was told already
	if waits || c.ConfiguredRate <= 0 || c.AchievedRate >= minLoadShare*c.ConfiguredRate || c.AchievedRate >= minLoadShare*due {
		return nil
	}
	advice := "the load generator was late, so use more cores or machines, or prompts that the server need not tokenize"
	if c.Configured > 0 {
		advice = fmt.Sprintf("at most %d in flight held requests back, so read latencies from when they were due", c.Configured)
	}
	return []string{fmt.Sprintf("Only %s requests a second were sent where %s were asked for: %s.",
		words.Number(c.AchievedRate), words.Number(c.ConfiguredRate), advice)}
}

// clientWarnings are about this program's part in the figures.
func (g *gather) clientWarnings(s *Step) []string {
	var list []string
	c := &s.Checks
	userClock := g.checks.answered > 0 && c.KernelClock < minKernelClock
	if userClock {
		list = append(list, fmt.Sprintf("The instants of %s of the answers are those at which this program read them, not the kernel's: a busy load generator makes latencies longer.",
			words.Percent(1-c.KernelClock)))
	}
	gap, _ := s.Whole.Of(ITL).At(median)
	if lag, ok := g.checks.lags.p99(); ok && s.Whole.Of(ITL).Count > 0 && lag > maxDelayShare*gap && (userClock || lag > negligibleDelay) {
		list = append(list, fmt.Sprintf("This program read what had arrived %s late (p99), where gaps between chunks are %s: use more cores or fewer streams a machine.",
			words.Seconds(lag), words.Seconds(gap)))
	}
	for i, p := range g.joined.parts {
		run := runOf(g.logs, p)
		if cores := g.cpus[i].cores(); run.GOMAXPROCS > 0 && cores > maxCPUShare*float64(run.GOMAXPROCS) {
			list = append(list, fmt.Sprintf("The load generator on %s used %s of its %d cores: it may be what limits the figures, so give it more or use more machines.",
				run.Host, words.Number(cores), run.GOMAXPROCS))
		}
	}
	first, _ := s.Whole.Of(TTFT).At(median)
	if late, ok := g.out.p99(Lateness); ok && s.Whole.Of(TTFT).Count > 0 && s.Arrival != runlog.ArrivalClosed && late > negligibleDelay && late > maxDelayShare*first {
		list = append(list, fmt.Sprintf("Requests were sent %s late (p99), for want of CPU or of prompts (those that the server must tokenize): read latencies from when they were due, or use more cores.",
			words.Seconds(late)))
	}
	return list
}

// figureWarnings are about what single figures are worth.
func (g *gather) figureWarnings(s *Step) []string {
	var list []string
	c := &s.Checks
	if n := c.TokensBy[openai.TokensChunks]; n > 0 {
		list = append(list, fmt.Sprintf("The server told no usage for %d of %d answers, whose tokens are counted as one a chunk: tokens a second and TPOT are off where a chunk has more.",
			n, s.Account.Succeeded))
	}
	list = append(append(list, c.Tokens.warnings()...), c.Prompts.warnings()...)
	if share := c.CacheHitRatio(); c.CacheKnown && share >= maxCachedShare && !g.wantsCacheHits() {
		list = append(list, fmt.Sprintf("%s of the prompt tokens came from the server's prefix cache: TTFT and throughput are better than for new prompts, so send such as it has not seen, or turn the cache off.", words.Percent(share)))
	}
	return append(append(list, g.limitWarning(s)...), g.percentileWarning(s)...)
}

// percentileWarning is about the first percentile that so few requests do not
// have. Those that people quote count: forms of other programs read many more.
func (g *gather) percentileWarning(s *Step) []string {
	f := &s.Whole
	if s.Steady != nil {
		f = s.Steady
	}
	n := f.Of(TTFT).Count
	for _, p := range g.opts.Percentiles {
		quoted := p == 90 || p == 95 || p >= 99
		if least := int64(math.Ceil(100/(100-p) - 1e-6)); quoted && n > 0 && n < least {
			return []string{fmt.Sprintf("p%s needs %d requests and %s has %d: run more (--requests, --duration), or do not quote it.",
				words.Percentile(p), least, windowName(s), n)}
		}
	}
	return nil
}

// wantsCacheHits reports whether hits in the server's prefix cache are what the
// data set is for.
func (g *gather) wantsCacheHits() bool {
	return slices.ContainsFunc(g.joined.parts, func(p part) bool {
		run := runOf(g.logs, p)
		return run.ReusePrompts || run.Dataset == string(dataset.Prefix) || run.Dataset == string(dataset.Replay)
	})
}

// windowName is the window that the figures to look at first are of.
func windowName(s *Step) string {
	if s.Steady != nil {
		return steadyWindow
	}
	return wholeWindow
}
