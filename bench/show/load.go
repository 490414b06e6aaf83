package show

import (
	"cmp"
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func (f *facts) load(s *result.Step) {
	f.add("load", loadText(s))
	f.add("stopped", stopText(s.Stop))
	f.add("concurrency", concurrencyText(s))
	c := &s.Checks
	if c.ConfiguredRate > 0 {
		part := "over the whole step"
		if s.Steady != nil {
			part = "in the steady state"
		}
		f.add("rate", fmt.Sprintf("%s req/s configured, %s achieved %s", words.Number(c.ConfiguredRate), words.Number(c.AchievedRate), part))
	}
	if s.Steady == nil {
		f.add("steady state", "none: "+cmp.Or(words.Clean(s.NotSteady), "never reached"))
	}
}

func loadText(s *result.Step) string {
	parts := words.List{arrivalText(&s.Step)}
	parts.If(s.Concurrency == 0 && s.MaxConcurrency > 0, "at most %d in flight", s.MaxConcurrency)
	parts.If(s.Step.Requests > 0, "%s", words.Counted(s.Step.Requests, "request"))
	parts.If(s.Duration > 0, "for %s", s.Duration)
	parts.If(s.RampUp > 0, "ramp-up %s", s.RampUp)
	parts.If(s.Warmups > 0, "after %s to warm up", words.Counted(s.Warmups, "request"))
	parts.If(s.Timeout > 0, "timeout %s", s.Timeout)
	parts.If(s.MaxTokens > 0, "at most %s", words.Counted(s.MaxTokens, "output token"))
	parts.If(s.Machines > 1, "from %d machines", s.Machines)
	return parts.String()
}

func arrivalText(s *runlog.Step) string {
	switch s.Arrival {
	case runlog.ArrivalClosed:
		return "closed loop of " + words.Counted(s.Concurrency, "user")
	case runlog.ArrivalBurst:
		return "all at once"
	case runlog.ArrivalConstant:
		return rateText(s) + " in equal gaps"
	case runlog.ArrivalPoisson:
		return rateText(s) + ", Poisson"
	case runlog.ArrivalGamma:
		return rateText(s) + ", gamma of burstiness " + words.Number(s.Burstiness)
	case runlog.ArrivalReplay:
		return "replay of the data set's instants"
	}
	return words.Clean(string(s.Arrival))
}

func rateText(s *runlog.Step) string {
	return words.Number(s.Rate) + " req/s"
}

func stopText(s runlog.Stop) string {
	text, known := map[runlog.Stop]string{
		"":                      "the log ends before the step does",
		runlog.StopRequests:     "all requests were sent",
		runlog.StopDuration:     "the time was over",
		runlog.StopDataset:      "the data set came to its end",
		runlog.StopFailureRatio: "too many requests failed",
		runlog.StopUnreachable:  "the server could not be reached any more",
		runlog.StopInterrupted:  "interrupted by the user",
	}[s]
	if !known {
		return words.Clean(string(s))
	}
	return text
}

func concurrencyText(s *result.Step) string {
	c := &s.Checks
	configured, mean := "no bound", "%s achieved"
	switch {
	case s.Level() > 0:
		configured = fmt.Sprintf("%d configured", c.Configured)
	case c.Configured > 0: // which an open loop need not come to
		configured, mean = fmt.Sprintf("at most %d", c.Configured), "on the mean %s"
	}
	if s.Steady == nil {
		return fmt.Sprintf("%s, "+mean+" over the whole step (mean, by Little's law)", configured, words.Number(c.AchievedWhole))
	}
	return fmt.Sprintf("%s, "+mean+" in the steady state, %s over the whole step (means, by Little's law)",
		configured, words.Number(c.Achieved), words.Number(c.AchievedWhole))
}
