package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Fact is one thing that is known of a step, in words.
type Fact struct{ Name, Text string }

// Facts say how far the figures of a step can be trusted: the account, the load
// that was really put on, the client's own error, the data set, the cards and the
// server. What there is nothing of is left out. No text holds a control character.
func Facts(s *Step) []Fact {
	var f facts
	f.account(s)
	f.load(s)
	f.client(s)
	f.tokens(&s.Checks)
	f.prompts(&s.Checks.Prompts)
	f.dataset(s)
	f.cards(s)
	f.server(s)
	return f
}

type facts []Fact

// add leaves out what has no text.
func (f *facts) add(name, text string) {
	if text != "" {
		*f = append(*f, Fact{name, text})
	}
}

func (f *facts) account(s *Step) {
	a := &s.Account
	sign := "="
	if a.Attempted != a.Succeeded+a.Failures()+a.Canceled {
		sign = "!="
	}
	f.add("requests", fmt.Sprintf("%d attempted %s %d succeeded + %d failed + %d canceled",
		a.Attempted, sign, a.Succeeded, a.Failures(), a.Canceled))
	if text := failureText(*a); text != "" {
		f.add("failed", fmt.Sprintf("%s (%s of those that ended by themselves)", text, percent(a.FailureRatio())))
		for _, r := range reasons(*a) {
			if said := clean(s.FailedAs[r]); said != "" {
				f.add("first "+clean(string(r)), said)
			}
		}
	}
	if a.Mismatch != "" {
		f.add("account", "does not agree: "+clean(a.Mismatch))
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

func (f *facts) client(s *Step) {
	c := &s.Checks
	lag := "not measured, the instants are this program's own"
	if c.ClientLag.Count > 0 {
		lag = fmt.Sprintf("%s; kernel time stamps on %s of the answers", msText(c.ClientLag), percent(c.KernelClock))
	}
	f.add("client lag", lag)
	f.add("client lateness", msText(s.Whole.Lateness))
	f.add("client queue", msText(s.Whole.Queue))
	connections := fmt.Sprintf("%d new", c.NewConnections)
	if setup := msText(s.Whole.Setup); setup != "" {
		connections += ", set-up " + setup
	}
	f.add("connections", connections)
	if c.ClientCPU > 0 {
		f.add("client CPU", number(c.ClientCPU)+" cores")
	}
	if !exact(&s.Whole) {
		f.add("percentiles", "some are read from a histogram of three significant digits")
	}
}

// msText is a distribution on one line, empty without samples.
func msText(d Distribution) string {
	if d.Count == 0 {
		return ""
	}
	return fmt.Sprintf("p50 %s ms, p99 %s ms", millis(d, 50), millis(d, 99))
}

// exact says whether every percentile of a latency is exact.
func exact(f *Figures) bool {
	return !slices.ContainsFunc(quantities(), func(m quantity) bool {
		d := m.of(f)
		return m.kind == ofServer && d.Count > 0 && !d.Exact
	})
}

func (f *facts) dataset(s *Step) {
	if !s.DatasetKnown {
		f.add("data set", "not known: the count of a load generator is missing")
		return
	}
	f.add("data set", datasetCountText(&s.Dataset))
	for _, bad := range s.Dataset.FirstBad {
		f.add("bad record", clean(bad))
	}
}

func datasetCountText(d *runlog.DatasetCount) string {
	parts := []string{counted(d.Prompts, "prompt"), counted(d.BadLine, "bad record")}
	for _, p := range []struct {
		n    int
		text string
	}{
		{d.TooLong, "%d too long"},
		{d.Skipped, "%d skipped (too short, or unusable conversations)"},
		{d.Estimated, "%d with an estimated length of the answer"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf(p.text, p.n))
		}
	}
	if d.Passes > 0 {
		parts = append(parts, "begun again "+counted(d.Passes, "time"))
	}
	return strings.Join(parts, ", ")
}
