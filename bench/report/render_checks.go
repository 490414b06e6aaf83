package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// WriteChecks writes what says how far the figures of a step can be trusted: the
// account, the load that was really put on, the steady state beside the whole
// step, the client's own error, the cards and the server, and the warnings, each
// begun with "warning: ". It is at most 100 columns wide; what is not known is
// "-".
func WriteChecks(w io.Writer, s *Step) error {
	var p page
	p.checks(s)
	for _, text := range s.Warnings {
		p.warning(text)
	}
	return p.writeTo(w)
}

func (p *page) checks(s *Step) {
	p.line("Checks of step %s", fit(clean(s.Name), 80))
	p.account(&s.Account)
	p.load(s)
	p.figures(s)
	p.client(s)
	p.tokens(s)
	p.dataset(&s.Dataset)
	p.cards(s)
	p.server(s)
}

func (p *page) account(a *Account) {
	sign := "="
	if a.Attempted != a.Succeeded+a.Failures()+a.Canceled {
		sign = "!="
	}
	p.row("requests", fmt.Sprintf("%d attempted %s %d succeeded + %d failed + %d canceled",
		a.Attempted, sign, a.Succeeded, a.Failures(), a.Canceled))
	if text := failureText(*a); text != "" {
		p.row("failed", fmt.Sprintf("%s (%s of those that ended by themselves)", text, percent(a.FailureRatio())))
	}
	if a.Mismatch != "" {
		p.row("account", "does not agree: "+clean(a.Mismatch))
	}
}

// failureText is the number of failures of each reason.
func failureText(a Account) string {
	var parts []string
	for _, r := range reasons(a) {
		parts = append(parts, fmt.Sprintf("%s %d", clean(string(r)), a.Failed[r]))
	}
	return strings.Join(parts, ", ")
}

func (p *page) load(s *Step) {
	p.row("load", loadText(s))
	p.row("stopped", stopText(s.Stop))
	c := &s.Checks
	configured := "no bound"
	if c.Configured > 0 {
		configured = fmt.Sprintf("%d configured", c.Configured)
	}
	p.row("concurrency", fmt.Sprintf("%s, %s achieved (mean, by Little's law)", configured, number(c.Achieved)))
	if c.ConfiguredRate > 0 {
		p.row("rate", fmt.Sprintf("%s req/s configured, %s achieved", number(c.ConfiguredRate), number(c.AchievedRate)))
		return
	}
	p.row("rate", fmt.Sprintf("%s req/s sent", number(c.AchievedRate)))
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
		return fmt.Sprintf("%s req/s in equal gaps", number(s.Rate))
	case runlog.ArrivalPoisson:
		return fmt.Sprintf("%s req/s, Poisson", number(s.Rate))
	case runlog.ArrivalGamma:
		return fmt.Sprintf("%s req/s, gamma of burstiness %s", number(s.Rate), number(s.Burstiness))
	case runlog.ArrivalReplay:
		return "replay of the data set's instants"
	}
	return clean(string(s.Arrival))
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
	case runlog.StopInterrupted:
		return "interrupted by the user"
	}
	return clean(string(s))
}

func (p *page) client(s *Step) {
	c, f := &s.Checks, &s.Whole
	lag := "not measured, the instants are this program's own"
	if c.ClientLag.Count > 0 {
		lag = fmt.Sprintf("%s; kernel time stamps on %s of the answers", msText(c.ClientLag), percent(c.KernelClock))
	}
	p.row("client lag", lag)
	p.row("client lateness", msText(f.Lateness))
	p.row("client queue", msText(f.Queue))
	p.row("connections", fmt.Sprintf("%d new, set-up %s", c.NewConnections, msText(f.Setup)))
	cpu := noFigure
	if c.ClientCPU > 0 {
		cpu = number(c.ClientCPU) + " cores"
	}
	p.row("client CPU", cpu)
}

// msText is a distribution on one line.
func msText(d Distribution) string {
	if d.Count == 0 {
		return noFigure
	}
	return fmt.Sprintf("p50 %s ms, p99 %s ms", millis(d, 50), millis(d, 99))
}

func (p *page) tokens(s *Step) {
	c := &s.Checks
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
	if len(parts) == 0 {
		parts = append(parts, noFigure)
	}
	p.row("output tokens", strings.Join(parts, ", "))
	cache := "not told by the server"
	if c.CacheKnown {
		cache = fmt.Sprintf("%s of %d prompt tokens were cached", percent(share(c.CachedTokens, c.PromptTokens)), c.PromptTokens)
	}
	p.row("prefix cache", cache)
}

func (p *page) dataset(d *runlog.DatasetCount) {
	parts := []string{counted(d.Prompts, "prompt")}
	if d.Passes > 0 {
		parts = append(parts, "begun again "+counted(d.Passes, "time"))
	}
	parts = append(parts, counted(d.BadLine, "bad record"))
	if d.TooLong > 0 {
		parts = append(parts, fmt.Sprintf("%d too long", d.TooLong))
	}
	if d.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d not wanted", d.Skipped))
	}
	p.row("data set", strings.Join(parts, ", "))
	for _, bad := range d.FirstBad {
		p.row("bad record", clean(bad))
	}
}
