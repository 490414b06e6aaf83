package fakevllm

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Each fault is the failure that it is made for, to our client and so to any.
func TestFaults(t *testing.T) {
	cfg := quick()
	cfg.Speed = 20 // steps of 3 ms, so that chunks are apart
	_, hs := serve(t, cfg)
	for _, fault := range Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			want, ok := map[Fault]openai.Reason{
				FaultNone: "", FaultSlow: "",
				FaultHang: openai.ReasonTimeoutFirstToken, FaultReset: openai.ReasonConnect, FaultStall: openai.ReasonStalled,
				FaultSlowStream: openai.ReasonTimeout, "http_404": openai.ReasonHTTP4xx, "http_429": openai.ReasonHTTP429,
				"http_500": openai.ReasonHTTP5xx, "html_200": openai.ReasonProtocol, "stream_error": openai.ReasonStreamError,
				"truncated": openai.ReasonTruncated, "empty": openai.ReasonEmpty,
				FaultDegenerate: "", FaultFreeze: "", FaultNoMetrics: openai.ReasonTimeoutFirstToken,
				FaultNoIgnoreEOS: openai.ReasonHTTP4xx, "mindie_reasoning": "", "fastdeploy_choices": "",
				"mindie_timeout": openai.ReasonStreamError, "xllm_validation": openai.ReasonStreamError, "sglang_abort": openai.ReasonStreamError,
				"fastdeploy_recover_stop": openai.ReasonStreamError, "lmdeploy_parse_error": openai.ReasonStreamError,
			}[fault]
			if !ok {
				t.Fatal("no test")
			}
			timeout := 20 * time.Second
			if fault == FaultHang || fault == FaultNoMetrics || fault == FaultSlowStream {
				timeout = time.Second
			}
			client, err := openai.NewClient(openai.Config{BaseURL: hs.URL + "/fault/" + string(fault)})
			noError(t, err)
			defer client.CloseIdleConnections()
			trace := client.Stream(t.Context(), openai.Request{
				API: openai.Chat, Model: "qwen2.5", Prompt: "hi", MaxTokens: 12, IgnoreEOS: true, Timeout: timeout, IdleTimeout: 500 * time.Millisecond,
			})
			var got openai.Reason
			if trace.Failure != nil {
				got = trace.Failure.Reason
			}
			if got != want {
				t.Errorf("reason %q, want %q: %+v", got, want, trace.Failure)
			}
			midStream := fault == FaultStall || fault == "stream_error" || fault == "truncated"
			if midStream && len(trace.Chunks) != stallAfter {
				t.Errorf("%d chunks of text before it, want %d", len(trace.Chunks), stallAfter)
			}
		})
	}
}
