package fakevllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// kept is a server whose records come out of a channel.
func kept(t *testing.T, cfg Config) (*Server, string, <-chan RequestRecord) {
	t.Helper()
	records := make(chan RequestRecord, 100)
	cfg.Log = func(rec RequestRecord) { records <- rec }
	s, hs := serve(t, cfg)
	return s, hs.URL, records
}

func next(t *testing.T, records <-chan RequestRecord) RequestRecord {
	t.Helper()
	select {
	case rec := <-records:
		return rec
	case <-time.After(10 * time.Second):
		t.Fatal("no record came")
		return RequestRecord{}
	}
}

// TestRecords: the record of a request says what its client saw, and when.
func TestRecords(t *testing.T) {
	cfg := quick()
	cfg.APIKey = "k3y"
	_, url, records := kept(t, cfg)
	addr := url[len("http://"):]
	endless := []string{"hang", "stall", "client leaves", "without an engine"} // the client has to give up
	bare := func(rec RequestRecord) RequestRecord { rec.API, rec.RequestID = "chat", "r1"; return rec }
	whole := RequestRecord{PromptTokens: 2, OutputTokens: 12, Finish: "length", Status: 200, Stream: true}
	for _, tc := range []struct {
		name, path, key, body string
		want                  RequestRecord
		chunks                int // as many, or 0 for any number
	}{
		{"stream", "", "k3y", `"stream":true`, whole, 0},
		{"merged", "/fault/merged", "k3y", `"stream":true`, RequestRecord{
			PromptTokens: 2, OutputTokens: 12, Finish: "length", Status: 200, Stream: true, Fault: FaultMerged,
		}, 12},
		{"one body", "", "k3y", `"stream":false`, RequestRecord{PromptTokens: 2, OutputTokens: 12, Finish: "length", Status: 200}, 1},
		{"stopped by itself", "", "k3y", `"stream":true,"max_tokens":2000,"ignore_eos":false`, RequestRecord{PromptTokens: 2, Finish: "stop", Status: 200, Stream: true}, 0},
		{"no key", "", "", ``, RequestRecord{Status: 401}, 0},
		{"bad request", "", "k3y", `"max_tokens":0`, RequestRecord{Status: 400}, 0},
		{"refused", "/fault/http_429", "k3y", ``, RequestRecord{Fault: FaultHTTP429, Status: 429}, 0},
		{"hang", "/fault/hang", "k3y", ``, RequestRecord{Fault: FaultHang}, 0},
		{"reset", "/fault/reset", "k3y", ``, RequestRecord{Fault: FaultReset}, 0},
		{"truncated", "/fault/truncated", "k3y", `"stream":true,"max_tokens":2000`, RequestRecord{
			Fault: FaultTruncated, PromptTokens: 2, Finish: "abort", Status: 200, Stream: true,
		}, interruptAfter},
		{"stall", "/fault/stall", "k3y", `"stream":true,"max_tokens":2000`, RequestRecord{
			Fault: FaultStall, PromptTokens: 2, Finish: "abort", Status: 200, Stream: true,
		}, interruptAfter},
		{"client leaves", "", "k3y", `"stream":true,"max_tokens":30000`, RequestRecord{PromptTokens: 2, Finish: "abort", Status: 200, Stream: true}, 0},
		{"without an engine", "/fault/slow_stream", "k3y", `"stream":true`, RequestRecord{
			Fault: FaultSlowStream, PromptTokens: 2, Status: 200, Stream: true,
		}, 0},
		{"other dialect", "/dialect/mindie", "k3y", `"stream":true`, whole, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fields := `{"messages":[{"content":"say it"}],"max_tokens":12,"ignore_eos":true,"stream_options":null`
			if tc.body != "" {
				fields += "," + tc.body
			}
			patience := 20 * time.Second
			if slices.Contains(endless, tc.name) {
				patience = 500 * time.Millisecond
			}
			before := time.Now()
			x := talk(t, addr, tc.path+"/v1/chat/completions", fields+"}", patience, 40<<20,
				"X-Request-Id: r1\r\n", "Authorization: Bearer "+tc.key+"\r\n")
			rec := next(t, records)
			options := cmp.Options{cmpopts.IgnoreTypes(time.Time{}), cmpopts.IgnoreFields(RequestRecord{}, "Chunks")}
			if tc.want.OutputTokens == 0 && tc.want.Status == 200 {
				options = append(options, cmpopts.IgnoreFields(RequestRecord{}, "OutputTokens"))
			}
			if diff := cmp.Diff(bare(tc.want), rec, options); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if rec.Stream && tc.name != "client leaves" {
				words, texts := x.words()
				if slices.Contains(endless, tc.name) && words+1 == rec.OutputTokens && texts+1 == rec.Chunks {
					words, texts = words+1, texts+1 // written while the client gave up
				}
				if words != rec.OutputTokens || texts != rec.Chunks {
					t.Errorf("the client saw %d tokens in %d chunks, the record has %d in %d", words, texts, rec.OutputTokens, rec.Chunks)
				}
			}
			if tc.chunks != 0 && rec.Chunks != tc.chunks {
				t.Errorf("%d chunks, want %d", rec.Chunks, tc.chunks)
			}
			order := []time.Time{before, rec.Arrived, rec.Scheduled, rec.First, rec.Last, rec.Ended, time.Now()}
			if rec.Finish == "" {
				order = slices.Delete(order, 2, 5)
				if !rec.Scheduled.IsZero() || !rec.First.IsZero() || !rec.Last.IsZero() {
					t.Errorf("never in the engine: %+v", rec)
				}
			}
			if !slices.IsSortedFunc(order, time.Time.Compare) {
				t.Errorf("instants are out of order: %v", order)
			}
		})
	}
	if resp, _ := post(t, url+"/tokenize", `{"prompt":"a"}`); resp.StatusCode != http.StatusOK || len(records) != 0 {
		t.Errorf("%d, %d records of a request that is for no completion", resp.StatusCode, len(records))
	}
}

// TestFaultRequests: a server that misbehaves for its first requests only.
func TestFaultRequests(t *testing.T) {
	cfg := quick()
	cfg.Fault, cfg.FaultRequests = FaultHTTP500, 3
	s, url, records := kept(t, cfg)
	ask := func(path string) int {
		resp, _ := post(t, url+path, `{"prompt":"a","max_tokens":1}`)
		return resp.StatusCode
	}
	models := func() int {
		resp, err := http.Get(url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	// What the fault does not touch, and what names its own, does not use it up.
	got := []int{models(), ask("/tokenize"), ask("/fault/none/v1/completions"), ask("/fault/http_400/v1/completions")}
	for range 5 {
		got = append(got, ask("/v1/completions"))
	}
	if diff := cmp.Diff([]int{200, 200, 200, 400, 500, 500, 500, 200, 200}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	faults := []Fault{}
	for range 7 {
		faults = append(faults, next(t, records).Fault)
	}
	if diff := cmp.Diff([]Fault{"", FaultHTTP400, FaultHTTP500, FaultHTTP500, FaultHTTP500, "", ""}, faults); diff != "" {
		t.Errorf("faults in the records (-want +got):\n%s", diff)
	}
	s.SetFault(FaultModels500)
	got = []int{ask("/v1/completions"), models(), models(), models(), models()}
	if diff := cmp.Diff([]int{200, 500, 500, 500, 200}, got); diff != "" {
		t.Errorf("statuses after SetFault (-want +got):\n%s", diff)
	}
	s.SetFault(FaultSlow)
	slow := []bool{s.serverFault.Load().slowsAll()}
	for range 4 {
		_, alone := s.serverFault.Load().next(http.MethodPost, "/v1/completions")
		slow = append(slow, alone)
	}
	if diff := cmp.Diff([]bool{false, true, true, true, false}, slow); diff != "" {
		t.Errorf("the batch is slow, and then requests (-want +got):\n%s", diff)
	}
}

// TestTokenCounts: a client that makes prompts of an exact length gets it, as
// token ids and by way of /detokenize, and hears of the cache.
func TestTokenCounts(t *testing.T) {
	_, url, records := kept(t, quick())
	post(t, url+"/tokenize", `{"prompt":"words that nobody knew: \ufffd 籤 籤gizmo"}`) // ids are learned
	ids := make([]int32, 1000)
	for i := range ids {
		ids[i] = int32(mix(uint64(i)) % 152064)
	}
	ids[10], ids[11], ids[12] = 0, -1, 1<<31-1
	for _, id := range newLexicon().ids { // each of the server's own
		ids = append(ids, id)
	}
	for id := range int32(20) { // and those learned
		ids = append(ids, int32(len(newLexicon().own))+id)
	}
	detokenize := func(ids []int32) string {
		var text struct{ Prompt string }
		_, body := post(t, url+"/detokenize", encode(t, map[string]any{"tokens": ids}))
		if err := json.Unmarshal([]byte(body), &text); err != nil {
			t.Fatal(err)
		}
		return text.Prompt
	}
	text := detokenize(ids)
	var back struct {
		Count  int
		Tokens []int32
	}
	_, body := post(t, url+"/tokenize", encode(t, map[string]any{"prompt": text}))
	if err := json.Unmarshal([]byte(body), &back); err != nil || back.Count != len(ids) || len(back.Tokens) != len(ids) {
		t.Fatalf("%d ids came back as %d (%v)", len(ids), back.Count, err)
	}
	if again := detokenize(back.Tokens); again != text {
		t.Errorf("the ids of a text give another text:\n%q\n%q", text, again)
	}
	cached := (len(ids) - 1) / blockTokens * blockTokens // the last token is always computed
	message := []any{map[string]string{"role": "user", "content": text}}
	for _, tc := range []struct {
		name, path string
		body       map[string]any
		cached     int
	}{
		{"ids", "/v1/completions", map[string]any{"prompt": ids}, 0},
		{"ids again", "/v1/completions", map[string]any{"prompt": [][]int32{ids}}, cached},
		{"longer", "/v1/completions", map[string]any{"prompt": append(slices.Clone(ids), ids...)}, cached},
		{"their text", "/v1/completions", map[string]any{"prompt": text}, cached},
		{"as a message", "/v1/chat/completions", map[string]any{"messages": message}, 0},
		{"as a message again", "/v1/chat/completions", map[string]any{"messages": message}, cached},
	} {
		for k, v := range map[string]any{"max_tokens": 2, "stream": true, "stream_options": map[string]bool{"include_usage": true}} {
			tc.body[k] = v
		}
		_, body := post(t, url+tc.path, encode(t, tc.body))
		all := chunks(t, body)
		u := all[len(all)-1].Usage
		want := len(ids)
		if tc.name == "longer" {
			want *= 2
		}
		rec := next(t, records)
		got := fmt.Sprint(u.PromptTokens, u.Details.CachedTokens, rec.PromptTokens, rec.CachedTokens)
		if got != fmt.Sprint(want, tc.cached, want, tc.cached) {
			t.Errorf("%s: prompt and cached tokens in usage and record are %s, want %d %d", tc.name, got, want, tc.cached)
		}
	}
}
