package result

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
		want     Prompts
	}{
		"not made to a length": {requests: all(func(int, *runlog.Request) {})},
		"exact":                {requests: all(func(_ int, r *runlog.Request) { r.ExpectedTokens = 530 }), want: Prompts{Exact: 20}},
		"exact, no usage": {requests: all(func(_ int, r *runlog.Request) {
			r.ExpectedTokens, r.Trace.Usage.PromptTokens = 530, 0
		}), want: Prompts{Exact: 20}},
		"never agreed": {
			requests: all(func(i int, r *runlog.Request) {
				if r.ExpectedTokens = 530; i == 0 {
					r.AimedTokens = 500
				}
			}),
			want: Prompts{Exact: 19, Inexact: 1, Told: 1, AimedTokens: 500, CountedTokens: 530},
		},
		"estimated, and near": {
			how: how, requests: all(func(_ int, r *runlog.Request) { r.AimedTokens = 510 }),
			want: Prompts{Estimated: 20, Told: 20, AimedTokens: 20 * 510, CountedTokens: 20 * 530, How: how},
		},
		"estimated by usage": {
			how: how, requests: all(func(_ int, r *runlog.Request) { r.AimedTokens = 612 }),
			want: Prompts{Estimated: 20, Told: 20, AimedTokens: 20 * 612, CountedTokens: 20 * 530, How: how},
		},
		"estimated, no usage": {
			how:      &runlog.Lengths{Why: "the server does not tokenize: http_4xx: status 404"},
			requests: all(func(_ int, r *runlog.Request) { r.AimedTokens, r.Trace.Usage.PromptTokens = 512, 0 }),
			want:     Prompts{Estimated: 20, How: &runlog.Lengths{Why: "the server does not tokenize: http_4xx: status 404"}},
		},
		"by a log that does not say how": {
			requests: all(func(_ int, r *runlog.Request) { r.AimedTokens, r.Trace.Usage.PromptTokens = 512, 0 }),
			want:     Prompts{Estimated: 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := newMemlog("a")
			log.run.Lengths = tc.how
			s := stepOf(t, Options{Percentiles: []float64{50}}, log.step(closed(1, 20), tc.requests, false).over())
			if diff := cmp.Diff(tc.want, s.Checks.Prompts); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
		})
	}
}
