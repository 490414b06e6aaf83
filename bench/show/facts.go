package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Fact is one thing that is known of a step, in words.
type Fact struct{ Name, Text string }

// Facts say how far the figures of a step can be trusted: the account, the load
// that was really put on, the client's own error, the data set, the cards and the
// server. What there is nothing of is left out. No text holds a control character.
func Facts(s *result.Step) []Fact {
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

func (f *facts) account(s *result.Step) {
	a := &s.Account
	sign := "="
	if a.Attempted != a.Succeeded+a.Failures()+a.Canceled {
		sign = "!="
	}
	f.add("requests", fmt.Sprintf("%d attempted %s %d succeeded + %d failed + %d canceled",
		a.Attempted, sign, a.Succeeded, a.Failures(), a.Canceled))
	if text := a.FailureText(); text != "" {
		f.add("failed", fmt.Sprintf("%s (%s of those that ended by themselves)", text, words.Percent(a.FailureRatio())))
		for _, r := range a.Reasons() {
			if said := words.Clean(s.FailedAs[r]); said != "" {
				f.add("first "+words.Clean(string(r)), said)
			}
		}
	}
	if a.Mismatch != "" {
		f.add("account", "does not agree: "+words.Clean(a.Mismatch))
	}
}

func (f *facts) client(s *result.Step) {
	c := &s.Checks
	lag := "not measured, the instants are this program's own"
	if c.ClientLag.Count > 0 {
		lag = fmt.Sprintf("%s; kernel time stamps on %s of the answers", msText(c.ClientLag), words.Percent(c.KernelClock))
	}
	f.add("client lag", lag)
	f.add("client lateness", msText(s.Whole.Of(result.Lateness)))
	f.add("client queue", msText(s.Whole.Of(result.Queue)))
	connections, setup := words.List{fmt.Sprintf("%d new", c.NewConnections)}, msText(s.Whole.Of(result.Setup))
	connections.If(setup != "", "set-up %s", setup)
	f.add("connections", connections.String())
	if c.ClientCPU > 0 {
		f.add("client CPU", words.Number(c.ClientCPU)+" cores")
	}
	if !exact(&s.Whole) {
		f.add("percentiles", "some are read from a histogram of three significant digits")
	}
}

// msText is a distribution on one line, empty without samples.
func msText(d result.Distribution) string {
	if d.Count == 0 {
		return ""
	}
	return fmt.Sprintf("p50 %s ms, p99 %s ms", millis(d, 50), millis(d, 99))
}

// exact reports whether every percentile of a latency is exact.
func exact(f *result.Figures) bool {
	return !slices.ContainsFunc(result.Measures(), func(m result.Measure) bool {
		d := f.Of(m.Key)
		return (m.Kind == result.Latency || m.Kind == result.FromDue) && d.Count > 0 && !d.Exact
	})
}

func (f *facts) dataset(s *result.Step) {
	if !s.DatasetKnown {
		f.add("data set", "not known: the count of a load generator is missing")
		return
	}
	f.add("data set", datasetCountText(&s.Dataset))
	for _, bad := range s.Dataset.FirstBad {
		f.add("bad record", words.Clean(bad))
	}
}

func datasetCountText(d *runlog.DatasetCount) string {
	parts := words.List{words.Counted(d.Prompts, "prompt"), words.Counted(d.BadLine, "bad record")}
	parts.If(d.TooLong > 0, "%d too long", d.TooLong)
	parts.If(d.Skipped > 0, "%d skipped (too short, or unusable conversations)", d.Skipped)
	parts.If(d.Estimated > 0, "%d with an estimated length of the answer", d.Estimated)
	parts.If(d.Passes > 0, "begun again %s", words.Counted(d.Passes, "time"))
	return parts.String()
}

// tokens are where the numbers of tokens come from.
func (f *facts) tokens(c *result.Checks) {
	var parts words.List
	for _, by := range []struct {
		source openai.TokenSource
		text   string
	}{
		{openai.TokensUsage, "the server's usage"},
		{openai.TokensContinuous, "its running usage"},
		{openai.TokensIDs, "counting token ids"},
		{openai.TokensChunks, "counting chunks, one token each"},
	} {
		parts.If(c.TokensBy[by.source] > 0, "%d by %s", c.TokensBy[by.source], by.text)
	}
	f.add("output tokens", parts.String())
	t := c.Tokens
	if t.Chunks > 0 {
		f.add("tokens a chunk", fmt.Sprintf("%s: %s counted, and %s with text came", words.Number(t.PerChunk()),
			words.CountedVerb(int(t.Counted), "token", "was", "were"), words.Counted(int(t.Chunks), "chunk")))
	}
	if t.Textless > 0 {
		f.add("without text", words.Counted(int(t.Textless), "event")+" brought tokens and no text (halves of characters, special tokens)")
	}
	if t.Unreadable > 0 {
		f.add("unreadable", fmt.Sprintf("%s no text, of %s: successes without TTFT and E2E", words.CountedVerb(t.Unreadable, "answer", "has", "have"), words.Counted(int(t.UnreadableTokens), "token")))
	}
	f.add("prefix cache", cacheText(c))
}

func cacheText(c *result.Checks) string {
	if !c.CacheKnown || c.PromptTokens == 0 {
		return "not told by the server"
	}
	text := fmt.Sprintf("%s of %d prompt tokens were cached", words.Percent(c.CacheHitRatio()), c.PromptTokens)
	if c.CacheTold > 0 && c.CacheTold < c.Answered {
		text += fmt.Sprintf(", at least: it was told for %d of %d answers", c.CacheTold, c.Answered)
	}
	return text
}

// prompts tell whether prompts have the length that was asked for.
func (f *facts) prompts(p *result.Prompts) {
	var parts words.List
	parts.If(p.Exact > 0, "%d exact%s", p.Exact, exactText(p))
	parts.If(p.Inexact > 0, "%d inexact, as no text of that length was found", p.Inexact)
	parts.If(p.Estimated > 0, "%d estimated%s", p.Estimated, estimateText(p.How))
	if p.Told > 0 {
		parts = append(parts, "of those "+p.Lengths())
	}
	f.add("prompt lengths", words.Clean(strings.Join(parts, "; ")))
}

func exactText(p *result.Prompts) string {
	switch {
	case p.ExactTold == 0:
		return ""
	case p.LeastMore == 0 && p.MostMore == 0:
		return ", and the server counts as many"
	case p.LeastMore == p.MostMore && p.LeastMore > 0:
		return fmt.Sprintf(", and the server counts %d more each, of its template or a start token", p.LeastMore)
	}
	return fmt.Sprintf(", and the server's count differs by %+d to %+d", p.LeastMore, p.MostMore)
}

func estimateText(h *runlog.Lengths) string {
	switch {
	case h == nil:
		return ", a token a word"
	case h.TokensPerWord == 0:
		return ", a token a word, as " + h.Why
	default:
		return fmt.Sprintf(", %s tokens a word and %d of the template by 2 short answers, as %s", words.Number(h.TokensPerWord), h.Template, h.Why)
	}
}
