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
				FaultSlowStream: openai.ReasonTimeout, FaultHTTP404: openai.ReasonHTTP4xx, FaultHTTP429: openai.ReasonHTTP429,
				FaultHTTP500: openai.ReasonHTTP5xx, FaultHTML200: openai.ReasonProtocol, FaultStreamError: openai.ReasonStreamError,
				FaultTruncated: openai.ReasonTruncated, FaultEmpty: openai.ReasonEmpty,
				FaultDegenerate: "", FaultFreeze: "", FaultNoMetrics: openai.ReasonTimeoutFirstToken,
				FaultNoIgnoreEOS: openai.ReasonHTTP4xx,
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
			midStream := fault == FaultStall || fault == FaultStreamError || fault == FaultTruncated
			if midStream && len(trace.Chunks) != interruptAfter {
				t.Errorf("%d chunks of text before it, want %d", len(trace.Chunks), interruptAfter)
			}
		})
	}
}
