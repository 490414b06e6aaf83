package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestPromptLengths: a report says whether prompts had the length that was asked
// for, and what the server counted.
func TestPromptLengths(t *testing.T) {
	all := func(change func(i int, r *runlog.Request)) []runlog.Request {
		requests := everySecond(20, time.Second)
		for i := range requests {
			requests[i].Trace.Usage = &openai.Usage{PromptTokens: 530, CompletionTokens: 2}
			change(i, &requests[i])
		}
		return requests
	}
	how := &runlog.Lengths{Why: "the server does not tokenize: http_4xx: status 404", TokensPerWord: 1.5, Template: 21}
	for name, tc := range map[string]struct {
		how      *runlog.Lengths
		requests []runlog.Request
		fact     string
		warnings []string
	}{
		"not made to a length": {requests: all(func(int, *runlog.Request) {})},
		"exact":                {requests: all(func(_ int, r *runlog.Request) { r.ExpectedTokens = 530 }), fact: "20 exact, and the server counts as many"},
		"exact, no usage": {requests: all(func(_ int, r *runlog.Request) {
			r.ExpectedTokens, r.Trace.Usage.PromptTokens = 530, 0
		}), fact: "20 exact"},
		"exact, with a template": {
			requests: all(func(_ int, r *runlog.Request) { r.ExpectedTokens = 512 }),
			fact:     "20 exact, and the server counts 18 more each, of its template or a start token",
		},
		"cut by the server": {
			requests: all(func(i int, r *runlog.Request) { r.ExpectedTokens = 528 + i%4 }),
			fact:     "20 exact, and the server's count differs by -1 to +2",
			warnings: []string{"The server counted fewer tokens than were sent for 5 prompts: it may cut prompts, or read token ids as text."},
		},
		"never agreed": {
			requests: all(func(i int, r *runlog.Request) {
				if r.ExpectedTokens = 530; i == 0 {
					r.AimedTokens = 500
				}
			}),
			fact:     "19 exact, and the server counts as many; 1 inexact, as no text of that length was found; of those 500.0 tokens were asked for on the mean and 530.0 counted",
			warnings: []string{"1 prompt has not exactly the length that was asked for, so go by the tokens that the server counts: 500.0 tokens were asked for on the mean and 530.0 counted."},
		},
		"estimated, and near": {
			how: how, requests: all(func(_ int, r *runlog.Request) { r.AimedTokens = 510 }),
			fact: "20 estimated, 1.50 tokens a word and 21 of the template by 2 short answers, as the server does not tokenize: http_4xx: status 404; " +
				"of those 510.0 tokens were asked for on the mean and 530.0 counted, 21 of them the template's",
		},
		"estimated by usage": {
			how: how, requests: all(func(_ int, r *runlog.Request) { r.AimedTokens = 612 }),
			fact: "20 estimated, 1.50 tokens a word and 21 of the template by 2 short answers, as the server does not tokenize: http_4xx: status 404; " +
				"of those 612.0 tokens were asked for on the mean and 530.0 counted, 21 of them the template's",
			warnings: []string{"20 prompts have not exactly the length that was asked for, so go by the tokens that the server counts: " +
				"612.0 tokens were asked for on the mean and 530.0 counted, 21 of them the template's."},
		},
		"estimated, no usage": {
			how:      &runlog.Lengths{Why: "the server does not tokenize: http_4xx: status 404"},
			requests: all(func(_ int, r *runlog.Request) { r.AimedTokens, r.Trace.Usage.PromptTokens = 512, 0 }),
			fact:     "20 estimated, a token a word, as the server does not tokenize: http_4xx: status 404",
			warnings: []string{"20 prompts have not exactly the length that was asked for, so go by the tokens that the server counts: the server tells of none how long it was."},
		},
		"by a log that does not say how": {
			requests: all(func(_ int, r *runlog.Request) { r.AimedTokens, r.Trace.Usage.PromptTokens = 512, 0 }),
			fact:     "20 estimated, a token a word",
			warnings: []string{"20 prompts have not exactly the length that was asked for, so go by the tokens that the server counts: the server tells of none how long it was."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := newMemlog("a")
			log.run.Lengths = tc.how
			s := stepOf(t, Options{Percentiles: []float64{50}}, log.step(closed(1, 20), tc.requests, false).over())
			fact := ""
			for _, f := range Facts(&s) {
				if f.Name == "prompt lengths" {
					fact = f.Text
				}
			}
			if diff := cmp.Diff(tc.fact, fact); diff != "" {
				t.Errorf("fact (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, s.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
