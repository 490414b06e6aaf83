package result

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// limitedAnswers counts answers that ended at a limit of few tokens.
type limitedAnswers struct {
	all int                     // successful answers
	at  [maxAnswerLimit + 1]int // by their tokens
}

const (
	maxAnswerLimit    = 128 // tokens: a limit of more is seldom by oversight
	minLimitedAnswers = 10  // answers
	minLimitedShare   = 0.9
)

func (c *limitedAnswers) take(r *runlog.Request) {
	if r.Trace.Failure != nil {
		return
	}
	c.all++
	n, _ := openai.OutputTokens(&r.Trace)
	// A prompt that was made to a length comes with a length of the answer.
	if r.Trace.Finish == "length" && r.ExpectedTokens == 0 && n <= maxAnswerLimit {
		c.at[n]++
	}
}

// limitWarning is about a limit of the server's own, which nobody asked for: the
// completions API has one of 16 tokens.
func (g *gather) limitWarning(s *Step) (list words.List) {
	c := &g.checks.cut
	if s.MaxTokens > 0 || c.all < minLimitedAnswers || slices.ContainsFunc(g.joined.parts, asksLength) {
		return nil
	}
	most := 0
	for tokens, n := range c.at {
		if n > c.at[most] {
			most = tokens
		}
	}
	list.If(float64(c.at[most]) >= minLimitedShare*float64(c.all),
		"%d of %d answers stopped at %d tokens, which is the server's own limit where the data set asks for none: give --max-tokens.", c.at[most], c.all, most)
	return list
}

// asksLength reports whether a section's requests ask for so many tokens, as far as its
// log tells.
func asksLength(p *section) bool {
	run := p.log.run
	switch kind, _ := dataset.ParseKind(run.Dataset); kind {
	case dataset.Random, dataset.Prefix, dataset.ShareGPT, dataset.Replay:
		return true
	}
	return run.API != openai.Completions
}
