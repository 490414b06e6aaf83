package result

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// maxLengthError is the share of the length asked for by which prompts may be off on the
// mean without a warning.
const maxLengthError = 0.02

// Prompts say how long the prompts were that were made to a length, and whether the
// server counts as many tokens.
type Prompts struct {
	// Exact were made of exactly as many tokens as asked for; Inexact are those of
	// which no text of that length was found, Estimated those made of words.
	Exact     int `json:"exact,omitempty"`
	Inexact   int `json:"inexact,omitempty"`
	Estimated int `json:"estimated,omitempty"`
	// AimedTokens are the lengths that were asked for, of those not exact whose usage
	// tells: CountedTokens, of Told prompts.
	Told          int   `json:"told,omitempty"`
	AimedTokens   int64 `json:"aimed_tokens,omitempty"`
	CountedTokens int64 `json:"counted_tokens,omitempty"`
	// LeastMore and MostMore are how many tokens more than there are in the prompt the
	// server counted, of the ExactTold exact ones whose usage tells: those of a chat
	// template, or one that begins every text. Negative where it counted fewer, in
	// Fewer of them.
	ExactTold int `json:"exact_told,omitempty"`
	LeastMore int `json:"least_more,omitempty"`
	MostMore  int `json:"most_more,omitempty"`
	Fewer     int `json:"fewer,omitempty"`
	// How is how the length of words was estimated, nil where it was not.
	How *runlog.Lengths `json:"how,omitempty"`
}

func (p *Prompts) take(r *runlog.Request) {
	told := 0
	if u := r.Trace.Usage; u != nil {
		told = u.PromptTokens
	}
	switch {
	case r.AimedTokens > 0:
		if r.ExpectedTokens > 0 {
			p.Inexact++
		} else {
			p.Estimated++
		}
		if told > 0 {
			p.Told++
			p.AimedTokens += int64(r.AimedTokens)
			p.CountedTokens += int64(told)
		}
	case r.ExpectedTokens > 0:
		p.Exact++
		if told > 0 {
			p.exact(told - r.ExpectedTokens)
		}
	}
}

func (p *Prompts) exact(more int) {
	if p.ExactTold == 0 {
		p.LeastMore, p.MostMore = more, more
	}
	p.ExactTold++
	p.LeastMore, p.MostMore = min(p.LeastMore, more), max(p.MostMore, more)
	if more < 0 {
		p.Fewer++
	}
}

// Lengths sets the lengths asked for beside those that the server counted.
func (p *Prompts) Lengths() string {
	n := float64(p.Told)
	text := fmt.Sprintf("%s tokens were asked for on the mean and %s counted", words.Number(float64(p.AimedTokens)/n), words.Number(float64(p.CountedTokens)/n))
	if p.How != nil && p.How.Template > 0 {
		text += fmt.Sprintf(", %d of them the template's", p.How.Template)
	}
	return text
}

// warnings are about prompts that may not have the length that was asked for.
func (p *Prompts) warnings() (list words.List) {
	counted := "the server tells of none how long it was"
	if p.Told > 0 {
		counted = p.Lengths()
	}
	n := p.Estimated + p.Inexact
	list.If(n > 0 && !p.near(), "%s not exactly the length that was asked for, so go by the tokens that the server counts: %s.", words.CountedVerb(n, "prompt", "has", "have"), counted)
	list.If(p.Fewer > 0, "The server counted fewer tokens than were sent for %s: it may cut prompts, or read token ids as text.", words.Counted(p.Fewer, "prompt"))
	return list
}

// near reports whether the lengths that were asked for are about those that the server
// counted, the chat template left out.
func (p *Prompts) near() bool {
	off := float64(p.CountedTokens - p.AimedTokens)
	if p.How != nil {
		off -= float64(p.How.Template * p.Told)
	}
	return p.Told > 0 && math.Abs(off) <= maxLengthError*float64(p.AimedTokens)
}

// vocabularyWarning explains the refusal of token ids that the model does not have.
func (g *gather) vocabularyWarning() (list words.List) {
	said := func(why openai.Reason) bool {
		text := strings.ToLower(g.failedAs[why])
		return strings.Contains(text, "vocab") || strings.Contains(text, "invalid token")
	}
	byID := func(p *section) bool {
		made := []dataset.Kind{dataset.Random, dataset.Prefix, dataset.Replay}
		kind, _ := dataset.ParseKind(p.log.run.Dataset)
		return p.log.run.API == openai.Completions && slices.Contains(made, kind)
	}
	refused := slices.ContainsFunc([]openai.Reason{openai.ReasonStreamError, openai.ReasonHTTP4xx, openai.ReasonHTTP5xx}, said)
	list.If(refused && slices.ContainsFunc(g.joined.parts, byID),
		"The server refused token ids that the model does not have: leave out --prompt-token-ids.")
	return list
}
