package fakevllm

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
			}[fault]
			if !ok {
				t.Fatal("no test")
			}
			timeout := 20 * time.Second
			if fault == FaultHang || fault == FaultSlowStream {
				timeout = time.Second
			}
			client, err := openai.NewClient(openai.Config{BaseURL: hs.URL + "/fault/" + string(fault)})
			if err != nil {
				t.Fatal(err)
			}
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

// The fault of all can be changed while the server runs; one in the path goes before it.
func TestSetFault(t *testing.T) {
	s, hs := serve(t, quick())
	for _, step := range []struct {
		fault  Fault
		prefix string
		want   int
	}{
		{FaultNone, "", 200},
		{FaultHTTP500, "", 500},
		{FaultHTTP500, "/fault/none", 200},
		{FaultHTTP500, "/fault/http_429", 429},
		{FaultNone, "", 200},
	} {
		s.SetFault(step.fault)
		if got, _ := post(t, hs.URL+step.prefix+"/v1/completions", `{"prompt":"a","max_tokens":1,"stream":true}`); got != step.want {
			t.Errorf("fault %s, path %s: %d, want %d", step.fault, step.prefix, got, step.want)
		}
	}
}

// A server that misbehaves for its first requests only: what names a fault of its own
// does not count.
func TestFaultRequests(t *testing.T) {
	cfg := quick()
	cfg.Fault, cfg.FaultRequests = FaultHTTP500, 3
	s, hs := serve(t, cfg)
	var got []int
	ask := func(prefix string) {
		status, _ := post(t, hs.URL+prefix+"/v1/completions", `{"prompt":"a","max_tokens":1,"stream":true}`)
		got = append(got, status)
	}
	ask("/fault/none")
	for range 5 {
		ask("")
	}
	s.SetFault(FaultHTTP429)
	ask("")
	if diff := cmp.Diff([]int{200, 500, 500, 500, 200, 200, 429}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// The record of a request says what its client saw.
func TestRecords(t *testing.T) {
	records := make(chan RequestRecord, 1)
	cfg := quick()
	cfg.Log = func(r RequestRecord) { records <- r }
	_, hs := serve(t, cfg)
	for path, want := range map[string]RequestRecord{
		"":                 {RequestID: "r1", PromptTokens: 2, OutputTokens: 12, Finish: "length"},
		"/fault/http_429":  {RequestID: "r1", Fault: FaultHTTP429},
		"/fault/empty":     {RequestID: "r1", Fault: FaultEmpty},
		"/fault/truncated": {RequestID: "r1", Fault: FaultTruncated, PromptTokens: 2, Finish: "abort"},
	} {
		before := time.Now()
		_, _ = post(t, hs.URL+path+"/v1/completions", `{"prompt":"say it","max_tokens":12,"ignore_eos":true,"stream":true}`, "X-Request-Id", "r1")
		got := <-records
		options := cmp.Options{cmpopts.IgnoreTypes(time.Time{})}
		if want.Fault == FaultTruncated { // how many tokens a chunk has, and so whether it ended first, is the machine's
			options = append(options, cmpopts.IgnoreFields(RequestRecord{}, "OutputTokens", "Finish"))
		}
		if diff := cmp.Diff(want, got, options); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		instants := []time.Time{before, got.Arrived, got.Ended, time.Now()}
		if got.Finish == "length" {
			instants = []time.Time{before, got.Arrived, got.Scheduled, got.First, got.Last, got.Ended, time.Now()}
		}
		for i := range len(instants) - 1 {
			if instants[i].After(instants[i+1]) {
				t.Errorf("%s: instants are out of order: %v", path, instants)
			}
		}
	}
	resp, err := http.Get(hs.URL + "/v1/models")
	if err != nil || len(records) != 0 {
		t.Fatalf("%v, %d records of a request that is for no completion", err, len(records))
	}
	_ = resp.Body.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
