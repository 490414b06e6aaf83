package report

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
