package result

import (
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// clientLimit says how the load generator was what limited a step, in a clause about
// it; empty where it was not. A delay in reading counts where it is in the latencies,
// and where it is so long at the ends of answers that users come back late and the load
// is lower; one that the kernel's time stamps keep out of the latencies does not.
func (g *gather) clientLimit(s *Step) string {
	for i, p := range g.joined.parts {
		if run, cores := &p.log.run, g.cpus[i].cores(); run.GOMAXPROCS > 0 && cores > maxCPUShare*float64(run.GOMAXPROCS) {
			return fmt.Sprintf("it used %s of its %d cores", words.Number(cores), run.GOMAXPROCS)
		}
	}
	lag, _ := g.checks.lags.p99()
	gap, gaps := s.Whole.Of(ITL).known(median)
	all, answered := s.Whole.Of(E2E).known(median)
	first, _ := s.Whole.Of(TTFT).known(median)
	own := g.checks.answered > 0 && s.Checks.KernelClock < minKernelClock
	back, late := g.checks.ends.mean, s.Whole.Of(Lateness).Mean
	switch {
	case s.LocalFailures > 0:
		return "it had no more files or ports for connections"
	case own && gaps && lag > negligibleDelay && lag > maxDelayShare*gap:
		return fmt.Sprintf("it read what had arrived %s late (p99), and took its own time for that of the arrival", words.Seconds(lag))
	case answered && back > negligibleDelay && back > maxDelayShare*all:
		return fmt.Sprintf("it read the ends of answers %s late on the mean", words.Seconds(back))
	case s.Arrival != runlog.ArrivalClosed && answered && late > negligibleDelay && late > maxDelayShare*first:
		return fmt.Sprintf("it sent requests %s late on the mean", words.Seconds(late))
	}
	return ""
}

// short says in a clause by how much the load was less than the step is named by; empty
// where it was not. A rate that chance made low is not the client's fault, so it is held
// against when the requests were due.
func (g *gather) short(s *Step) string {
	c := &s.Checks
	if s.Level() > 0 {
		if c.Achieved >= minLoadShare*float64(s.Level()) {
			return ""
		}
		return fmt.Sprintf("on average only %s of %d requests were in flight in %s", words.Number(c.Achieved), s.Level(), windowName(s))
	}
	due := perSecondOf(len(g.curve.starts), g.due)
	if g.steady != nil {
		due = perSecondOf(g.curve.sent(g.steady.span), g.dueSteady)
	}
	waits := g.backlog != nil && g.backlog.bounded // which is told as such
	if waits || c.AchievedRate >= minLoadShare*min(c.ConfiguredRate, due) {
		return ""
	}
	return fmt.Sprintf("only %s requests a second were sent where %s were asked for", words.Number(c.AchievedRate), words.Number(c.ConfiguredRate))
}

// shortAdvice is what to do about a step that is short.
func (g *gather) shortAdvice(s *Step) string {
	const fewer = ", fewer than the step is named by: "
	switch {
	case s.Level() > 0 && g.notSteady.full:
		return fewer + "read the figures as those of that load."
	case s.Level() > 0 && s.Steady != nil:
		return fewer + "users waited before they sent, so give the load generator more cores, or prompts that the server need not tokenize."
	case s.Level() > 0:
		return fewer + "its ramp-up and drain are a large part of it, so run a longer step (" + g.opts.longer() + ")."
	case s.Checks.Configured > 0:
		return fmt.Sprintf(": at most %d in flight held requests back, so read latencies from when they were due.", s.Checks.Configured)
	}
	return ": the load generator was late, so use more cores or machines, or prompts that the server need not tokenize."
}
