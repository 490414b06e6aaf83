package report

import (
	"fmt"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Heading is the step's title, and what makes it unique in the report.
func (s *Step) Heading() string {
	if rest, ok := strings.CutPrefix(s.Name, s.Step.Name()); ok {
		return s.Title() + rest
	}
	return s.Name
}

func (f *facts) load(s *Step) {
	f.add("load", loadText(s))
	f.add("stopped", stopText(s.Stop))
	f.add("concurrency", concurrencyText(s))
	c := &s.Checks
	if c.ConfiguredRate > 0 {
		part := "over the whole step"
		if s.Steady != nil {
			part = "in the steady state"
		}
		f.add("rate", fmt.Sprintf("%s req/s configured, %s achieved %s", number(c.ConfiguredRate), number(c.AchievedRate), part))
	}
	if s.Steady == nil {
		reason := clean(s.NotSteady)
		if reason == "" {
			reason = "never reached"
		}
		f.add("steady state", "none: "+reason)
	}
}

func loadText(s *Step) string {
	parts := []string{arrivalText(&s.Step)}
	if s.Concurrency == 0 && s.MaxConcurrency > 0 {
		parts = append(parts, fmt.Sprintf("at most %d in flight", s.MaxConcurrency))
	}
	if n := s.Step.Requests; n > 0 {
		parts = append(parts, counted(n, "request"))
	}
	if s.Duration > 0 {
		parts = append(parts, "for "+s.Duration.String())
	}
	if s.RampUp > 0 {
		parts = append(parts, "ramp-up "+s.RampUp.String())
	}
	if s.Warmups > 0 {
		parts = append(parts, "after "+counted(s.Warmups, "request")+" to warm up")
	}
	if s.Timeout > 0 {
		parts = append(parts, "timeout "+s.Timeout.String())
	}
	if s.MaxTokens > 0 {
		parts = append(parts, "at most "+counted(s.MaxTokens, "output token"))
	}
	if s.Machines > 1 {
		parts = append(parts, fmt.Sprintf("from %d machines", s.Machines))
	}
	return strings.Join(parts, ", ")
}

func arrivalText(s *runlog.Step) string {
	switch s.Arrival {
	case runlog.ArrivalClosed:
		return "closed loop of " + counted(s.Concurrency, "user")
	case runlog.ArrivalBurst:
		return "all at once"
	case runlog.ArrivalConstant:
		return rateText(s) + " in equal gaps"
	case runlog.ArrivalPoisson:
		return rateText(s) + ", Poisson"
	case runlog.ArrivalGamma:
		return rateText(s) + ", gamma of burstiness " + number(s.Burstiness)
	case runlog.ArrivalReplay:
		return "replay of the data set's instants"
	}
	return clean(string(s.Arrival))
}

func rateText(s *runlog.Step) string {
	if r := s.Rise; r != (runlog.Rise{}) {
		return fmt.Sprintf("%s to %s req/s, %s from the first request to the last", number(r.From), number(r.To), clean(string(r.Shape)))
	}
	return number(s.Rate) + " req/s"
}

func stopText(s runlog.Stop) string {
	switch s {
	case "":
		return "the log ends before the step does"
	case runlog.StopRequests:
		return "all requests were sent"
	case runlog.StopDuration:
		return "the time was over"
	case runlog.StopDataset:
		return "the data set came to its end"
	case runlog.StopFailureRatio:
		return "too many requests failed"
	case runlog.StopUnreachable:
		return "the server could not be reached any more"
	case runlog.StopInterrupted:
		return "interrupted by the user"
	}
	return clean(string(s))
}

func concurrencyText(s *Step) string {
	c := &s.Checks
	configured, mean := "no bound", "%s achieved"
	switch {
	case s.Level() > 0:
		configured = fmt.Sprintf("%d configured", c.Configured)
	case c.Configured > 0: // which an open loop need not come to
		configured, mean = fmt.Sprintf("at most %d", c.Configured), "on the mean %s"
	}
	if s.Steady == nil {
		return fmt.Sprintf("%s, "+mean+" over the whole step (mean, by Little's law)", configured, number(c.AchievedWhole))
	}
	return fmt.Sprintf("%s, "+mean+" in the steady state, %s over the whole step (means, by Little's law)",
		configured, number(c.Achieved), number(c.AchievedWhole))
}
