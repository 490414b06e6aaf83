package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// step is the part of the page about one step.
type step struct {
	ID       string
	Name     string
	Load     string
	Warnings []string
	Tables   []table
	Facts    []fact
}

func stepID(i int) string { return fmt.Sprintf("step-%d", i) }

func newStep(i int, s *report.Step) step {
	v := step{ID: stepID(i), Name: s.Name, Load: load(s), Warnings: s.Warnings, Facts: checks(s)}
	if s.Account.Failures() > 0 {
		v.Tables = append(v.Tables, failures(&s.Account))
	}
	v.Tables = append(v.Tables, rates(s))
	if s.Steady != nil {
		v.Tables = append(v.Tables, distributions("steady state", s, s.Steady))
	}
	v.Tables = append(v.Tables, distributions("whole step", s, &s.Whole))
	if len(s.Cards) > 0 {
		v.Tables = append(v.Tables, cards(s))
	}
	if s.Server != nil {
		v.Tables = append(v.Tables, server(s))
	}
	return v
}

// load says what the step was to do.
func load(s *report.Step) string {
	parts := []string{arrival(&s.Step)}
	add := func(format, text string) {
		if text != "" && text != "0" {
			parts = append(parts, fmt.Sprintf(format, text))
		}
	}
	if s.Arrival != runlog.ArrivalClosed {
		add("at most %s in flight", count(s.MaxConcurrency))
	}
	add("%s requests", count(s.Step.Requests))
	add("for %s", duration(s.Duration))
	add("ramp-up %s", duration(s.RampUp))
	add("timeout %s", duration(s.Timeout))
	add("at most %s output tokens", count(s.MaxTokens))
	if s.Machines > 1 {
		add("from %s machines", count(s.Machines))
	}
	return strings.Join(parts, ", ")
}

func arrival(s *runlog.Step) string {
	switch s.Arrival {
	case runlog.ArrivalClosed:
		return "Closed loop of " + count(s.Concurrency) + " users"
	case runlog.ArrivalBurst:
		return "All requests at once"
	case runlog.ArrivalConstant:
		return number(s.Rate) + " requests/s in equal gaps"
	case runlog.ArrivalPoisson:
		return number(s.Rate) + " requests/s, Poisson"
	case runlog.ArrivalGamma:
		return number(s.Rate) + " requests/s, gamma gaps of burstiness " + number(s.Burstiness)
	case runlog.ArrivalReplay:
		return "Replay at the data set's instants"
	}
	return string(s.Arrival)
}

func stopped(s runlog.Stop) string {
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
	case runlog.StopInterrupted:
		return "interrupted by the user"
	}
	return string(s)
}

// failures are in the order of openai.Reasons; reasons of another version come
// last.
func failures(a *report.Account) table {
	t := table{Caption: "Failures by reason", Head: []string{"Reason", "Requests", "Share of those that ended"}}
	reasons := slices.DeleteFunc(openai.Reasons(), func(r openai.Reason) bool { return a.Failed[r] == 0 })
	for _, r := range slices.Sorted(maps.Keys(a.Failed)) {
		if !slices.Contains(reasons, r) && a.Failed[r] > 0 {
			reasons = append(reasons, r)
		}
	}
	ended := float64(a.Succeeded + a.Failures())
	for _, r := range reasons {
		n := a.Failed[r]
		t.Rows = append(t.Rows, row{Cells: []string{string(r), count(n), percent(float64(n) / ended)}})
	}
	return t
}

// checks say how far the figures can be trusted.
func checks(s *report.Step) []fact {
	c, a := &s.Checks, &s.Account
	all := []fact{
		{"Requests", fmt.Sprintf("%d attempted = %d succeeded + %d failed + %d canceled",
			a.Attempted, a.Succeeded, a.Failures(), a.Canceled)},
		{"Account does not agree", a.Mismatch},
		{"Stopped", stopped(s.Stop)},
		{"No steady state", noSteady(s)},
		{"In flight", concurrency(c)},
		{"Rate", rate(c)},
		{"Client lag", clientLag(c)},
		{"Client CPU", cores(c.ClientCPU)},
		{"New connections", count(c.NewConnections)},
		{"Output tokens from", tokensBy(c)},
		{"Prefix cache", cache(c)},
		{"Data set", dataset(&s.Dataset)},
		{"Bad records", strings.Join(s.Dataset.FirstBad, "; ")},
		{"Energy", joules(s)},
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

func noSteady(s *report.Step) string {
	switch {
	case s.Steady != nil:
		return ""
	case s.NotSteady == "":
		return "never reached"
	}
	return s.NotSteady
}

func concurrency(c *report.Checks) string {
	configured := "no bound"
	if c.Configured > 0 {
		configured = count(c.Configured) + " configured"
	}
	return configured + ", " + number(c.Achieved) + " achieved (mean, by Little's law)"
}

func rate(c *report.Checks) string {
	if c.ConfiguredRate > 0 {
		return number(c.ConfiguredRate) + " requests/s configured, " + number(c.AchievedRate) + " sent"
	}
	return number(c.AchievedRate) + " requests/s sent"
}

func clientLag(c *report.Checks) string {
	if c.ClientLag.Count == 0 {
		return "not measured: the instants are this program's own"
	}
	return fmt.Sprintf("p50 %s ms, p99 %s ms; kernel time stamps on %s of the answers",
		at(c.ClientLag, 50, milliseconds), at(c.ClientLag, 99, milliseconds), percent(c.KernelClock))
}

func cores(n float64) string {
	if n == 0 {
		return ""
	}
	return number(n) + " cores"
}

func tokensBy(c *report.Checks) string {
	var parts []string
	for _, by := range []struct {
		source openai.TokenSource
		text   string
	}{
		{openai.TokensUsage, "%d by the server's usage"},
		{openai.TokensContinuous, "%d by its running usage"},
		{openai.TokensChunks, "%d by counting chunks, one token each"},
	} {
		if n := c.TokensBy[by.source]; n > 0 {
			parts = append(parts, fmt.Sprintf(by.text, n))
		}
	}
	return strings.Join(parts, ", ")
}

func cache(c *report.Checks) string {
	switch {
	case !c.CacheKnown:
		return "not told by the server"
	case c.PromptTokens == 0:
		return "no prompt token was counted"
	}
	return fmt.Sprintf("%s of %d prompt tokens were cached",
		percent(float64(c.CachedTokens)/float64(c.PromptTokens)), c.PromptTokens)
}

func dataset(d *runlog.DatasetCount) string {
	parts := []string{fmt.Sprintf("%d prompts", d.Prompts)}
	for _, p := range []struct {
		n    int
		text string
	}{{d.Passes, "begun again %d times"}, {d.BadLine, "%d bad records"}, {d.TooLong, "%d too long"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf(p.text, p.n))
		}
	}
	return strings.Join(parts, ", ")
}

func joules(s *report.Step) string {
	if s.Joules == nil {
		return ""
	}
	return fmt.Sprintf("%s kJ, %s J per output token", number(*s.Joules/1000), energy(s))
}
