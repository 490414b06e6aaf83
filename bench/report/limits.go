package report

import (
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
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
func (g *gather) limitWarning(s *Step) []string {
	c := &g.checks.cut
	if s.MaxTokens > 0 || c.all < minLimitedAnswers || slices.ContainsFunc(g.joined.parts, g.asksLength) {
		return nil
	}
	most := 0
	for tokens, n := range c.at {
		if n > c.at[most] {
			most = tokens
		}
	}
	if float64(c.at[most]) < minLimitedShare*float64(c.all) {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d answers stopped at %d tokens, which is the server's own limit where the data set asks for none: give --max-tokens.",
		c.at[most], c.all, most)}
}

// asksLength reports whether a part's requests ask for so many tokens, as far as its
// log tells.
func (g *gather) asksLength(p part) bool {
	run := runOf(g.logs, p)
	switch dataset.Kind(run.Dataset) {
	case dataset.Random, dataset.Prefix, dataset.ShareGPT, dataset.Replay:
		return true
	}
	return run.API != openai.Completions
}
