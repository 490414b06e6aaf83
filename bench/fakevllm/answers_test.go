package fakevllm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// What other engines send is told by their own words, and no token of it is lost.
func TestAnswersOfOtherEngines(t *testing.T) {
	type seen struct {
		failure           string
		chunks, tokens    int
		reasoning, cached int
	}
	_, hs := serve(t, quick())
	for name, want := range map[string]seen{
		"mindie_timeout":          {"stream_error: status 200: Engine callback timeout.", 2, 2, 0, 0},
		"mindie_reasoning":        {"", 3, 5, 2, 8},
		"xllm_validation":         {"stream_error: status 200: max_tokens must be greater than 0", 0, 0, 0, 0},
		"fastdeploy_choices":      {"", 2, 5, 0, 0},
		"fastdeploy_recover_stop": {"stream_error: status 200: finish_reason recover_stop", 1, 1, 0, 0},
		"lmdeploy_parse_error":    {"stream_error: status 200: finish_reason parse_error", 2, 3, 0, 0},
		"sglang_abort":            {"stream_error: status 200: finish_reason abort", 1, 2, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := openai.NewClient(openai.Config{BaseURL: hs.URL + "/fault/" + name})
			noError(t, err)
			defer client.CloseIdleConnections()
			trace := client.Stream(t.Context(), openai.Request{Model: "qwen2.5", Prompt: "hi", Timeout: 20 * time.Second})
			got := seen{chunks: len(trace.Chunks)}
			if trace.Failure != nil {
				got.failure = trace.Failure.Error()
			}
			got.tokens, _ = openai.OutputTokens(trace)
			if u := trace.Usage; u != nil {
				got.reasoning = u.ReasoningTokens
				if u.CachedTokens != nil {
					got.cached = *u.CachedTokens
				}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
