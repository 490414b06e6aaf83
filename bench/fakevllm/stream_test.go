package fakevllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestChunksAgreeWithUsage reads whole streams of every dialect: the words in
// the chunks are the completion tokens of usage, whole and chunk by chunk.
func TestChunksAgreeWithUsage(t *testing.T) {
	cfg := quick()
	cfg.Reasoning = true
	_, hs := serve(t, cfg)
	for _, dialect := range Dialects() {
		for _, api := range []string{"chat/completions", "completions"} {
			for _, limit := range []int{1, 2, 30, 0} {
				t.Run(fmt.Sprintf("%s/%s/%d", dialect, api, limit), func(t *testing.T) {
					body := map[string]any{
						"prompt": "count these five 词 ok", "messages": []any{map[string]string{"role": "user", "content": "count these five 词 ok"}},
						"stream": true, "stream_options": map[string]bool{"include_usage": true, "continuous_usage_stats": true}, "min_tokens": min(limit, 1),
					}
					if limit > 0 {
						body["max_tokens"] = limit
					}
					resp, text := post(t, hs.URL+"/dialect/"+string(dialect)+"/v1/"+api, encode(t, body), "X-Request-Id", "abc")
					if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
						resp.Header.Get("X-Request-Id") != "abc" {
						t.Fatalf("%d %v", resp.StatusCode, resp.Header)
					}
					checkStream(t, chunks(t, text), dialect)
				})
			}
		}
	}
}

func checkStream(t *testing.T, all []chunk, dialect Dialect) {
	t.Helper()
	text, before, finishes := "", 0, 0
	var last *usage
	for i, c := range all {
		text += c.said()
		if c.Usage != nil {
			last = c.Usage
		}
		if eachChunk := dialect == DialectVLLM || dialect == DialectVLLM06; eachChunk {
			if c.Usage == nil {
				t.Fatalf("chunk %d has no usage, continuous usage was asked for", i)
			}
			if n := len(slices.Collect(tokens(c.said()))); c.Usage.CompletionTokens-before != n {
				t.Errorf("chunk %d has %d words, usage went from %d to %d", i, n, before, c.Usage.CompletionTokens)
			}
			before = c.Usage.CompletionTokens
		}
		if c.finish() != "" {
			finishes++
		}
		if !strings.HasSuffix(c.ID, "cmpl-abc") || c.Model != DefaultConfig().Model {
			t.Errorf("chunk %d is of %q, model %q", i, c.ID, c.Model)
		}
	}
	if last == nil {
		t.Fatal("no usage in the stream")
	}
	want := last.CompletionTokens
	if dialect == DialectVLLMBytes {
		want /= 2
	}
	if n := len(slices.Collect(tokens(text))); n != want || last.CompletionTokens == 0 {
		t.Errorf("%d words, want %d, usage says %d tokens", n, want, last.CompletionTokens)
	}
	if last.PromptTokens != 5 || last.TotalTokens != 5+last.CompletionTokens {
		t.Errorf("usage of a prompt of 5 tokens: %+v", *last)
	}
	if finishes != 1 {
		t.Errorf("%d chunks finish the answer", finishes)
	}
	if end := all[len(all)-1]; dialect == DialectLlamaCPP && end.Timings["predicted_n"] != float64(last.CompletionTokens) {
		t.Errorf("timings: %v", end.Timings)
	}
}

func TestReasoningIsTheFirstThird(t *testing.T) {
	cfg := quick()
	cfg.Reasoning = true
	_, hs := serve(t, cfg)
	_, text := post(t, hs.URL+"/v1/chat/completions", `{"messages":[{"content":"hi"}],"max_tokens":9,"ignore_eos":true,"stream":true}`)
	thought, said := 0, 0
	for _, c := range chunks(t, text) {
		for _, choice := range c.Choices {
			words := len(slices.Collect(tokens(choice.Delta.Content)))
			said += words
			thought += len(slices.Collect(tokens(choice.Delta.Reasoning)))
			if said > 0 && choice.Delta.Reasoning != "" {
				t.Error("reasoning after the answer began")
			}
		}
	}
	if thought != 3 || said != 6 {
		t.Errorf("%d tokens of reasoning, %d of the answer", thought, said)
	}
	_, text = post(t, hs.URL+"/v1/chat/completions", `{"messages":[{"content":"hi"}],"max_tokens":9,"ignore_eos":true}`)
	var whole struct {
		Choices []struct {
			Message      struct{ Content, Reasoning string }
			FinishReason string `json:"finish_reason"`
		}
		Usage usage
	}
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	m := whole.Choices[0].Message
	if n := len(slices.Collect(tokens(m.Content))); n != 6 || whole.Usage.CompletionTokens != 9 || whole.Choices[0].FinishReason != "length" {
		t.Errorf("without streaming: %s", text)
	}
}

// slowReader is a client whose connection takes a second per write.
type slowReader struct {
	*httptest.ResponseRecorder
}

func (s slowReader) Flush() { time.Sleep(time.Second) }

// TestLaggingClientGetsMergedChunks: what the engine makes while a write blocks
// comes as one chunk, and no token is lost.
func TestLaggingClientGetsMergedChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Reasoning: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = s.Run(ctx) }()
		rec := slowReader{httptest.NewRecorder()}
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions",
			strings.NewReader(`{"messages":[{"content":"hi"}],"max_tokens":100,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`))
		s.Handler().ServeHTTP(rec, req)
		all := chunks(t, rec.Body.String())
		words, texts, thought := 0, 0, 0
		for _, c := range all {
			if c.said() != "" {
				texts++
				words += len(slices.Collect(tokens(c.said())))
				thought += len(slices.Collect(tokens(c.Choices[0].Delta.Reasoning)))
			}
		}
		// 100 steps of 61 ms take 6 s, so about as many chunks.
		if words != 100 || texts < 5 || texts > 9 || thought != 33 {
			t.Errorf("%d words in %d chunks, %d of them reasoning", words, texts, thought)
		}
		if u := all[len(all)-1].Usage; u == nil || u.CompletionTokens != 100 {
			t.Errorf("usage %+v", u)
		}
		cancel()
	})
}

func TestOutputLength(t *testing.T) {
	type end struct {
		n      int
		reason finishReason
	}
	for _, tc := range []struct {
		natural, limit int
		ignore         bool
		want           end
	}{
		{100, 50, false, end{50, finishLength}},
		{50, 100, false, end{50, finishStop}},
		{50, 50, false, end{50, finishLength}},
		{50, 100, true, end{100, finishLength}},
	} {
		n, reason := outputLength(tc.natural, tc.limit, tc.ignore)
		if got := (end{n, reason}); got != tc.want {
			t.Errorf("%+v: got %+v", tc, got)
		}
	}
}

// TestClientLeaves: a client that closes its connection frees its place.
func TestClientLeaves(t *testing.T) {
	s, hs := serve(t, Config{Speed: 10, MaxNumSeqs: 1})
	for _, stream := range []string{"true", "false"} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, hs.URL+"/v1/completions",
			strings.NewReader(`{"prompt":"a","max_tokens":20000,"ignore_eos":true,"stream":`+stream+`}`))
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		go func() {
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			gone <- err
		}()
		eventually(t, "the request to run", func() bool { return s.Load().Running == 1 })
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the client ended with %v", err)
		}
		eventually(t, "the place to be free", func() bool { return s.Load().Running == 0 })
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestStop: when Run ends, those who wait are let go and later ones refused.
func TestStop(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(s.Handler())
	defer hs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	outcomes := make(chan string, 8)
	paths := []string{"/v1/completions", "/fault/hang/v1/completions", "/fault/endless/v1/completions", "/fault/models_hang/v1/completions"}
	for _, path := range paths {
		for _, stream := range []string{"true", "false"} {
			go func() {
				resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(newPost(hs.URL+path,
					`{"prompt":"a","max_tokens":20000,"ignore_eos":true,"stream":`+stream+`}`))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				outcomes <- fmt.Sprint(path, " ", err != nil)
			}()
		}
	}
	eventually(t, "requests to run", func() bool { return s.Load().Running == 4 })
	if err := s.Run(ctx); err == nil {
		t.Error("the engine ran twice")
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	for range cap(outcomes) {
		if got := <-outcomes; !strings.HasSuffix(got, "true") {
			t.Errorf("%s: the client saw a proper end", got)
		}
	}
	resp, _ := post(t, hs.URL+"/v1/completions", `{"prompt":"a"}`)
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a request after the end: %d", resp.StatusCode)
	}
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", nil))
	if rec.Code != http.StatusServiceUnavailable {
		t.Errorf("health after the end: %d", rec.Code)
	}
}

// TestStreamInterval: tokens come so many at a time, but for the first, which comes at
// once, and the last.
func TestStreamInterval(t *testing.T) {
	cfg := quick()
	cfg.StreamInterval = 4
	_, hs := serve(t, cfg)
	_, text := post(t, hs.URL+"/v1/completions", `{"prompt":"hi","max_tokens":12,"ignore_eos":true,"stream":true}`)
	var lengths []int
	for _, c := range chunks(t, text) {
		if n := len(slices.Collect(tokens(c.said()))); n > 0 {
			lengths = append(lengths, n)
		}
	}
	if len(lengths) < 2 || len(lengths) > 4 {
		t.Fatalf("chunks of %v tokens", lengths)
	}
	for _, n := range lengths[1 : len(lengths)-1] {
		if n < 4 { // a busy machine has more of them join
			t.Errorf("chunks of %v tokens, want at least 4 but for the first and the last", lengths)
		}
	}
}

// TestTokenOutOfVocabulary: the refusal comes when the response has begun.
func TestTokenOutOfVocabulary(t *testing.T) {
	cfg := quick()
	cfg.VocabularySize = 2000
	_, hs := serve(t, cfg)
	for _, tc := range []struct {
		id     int
		stream bool
		status int
		want   string
	}{
		{1999, true, 200, `"finish_reason":"length"`},
		{2000, true, 200, `data: {"error":{"message":"Token id 2000 is out of vocabulary","type":"BadRequestError","param":null,"code":400}}` + "\n\ndata: [DONE]"},
		{2000, false, 400, "Token id 2000 is out of vocabulary"},
	} {
		resp, text := post(t, hs.URL+"/v1/completions", encode(t, map[string]any{"prompt": []int{1, tc.id}, "max_tokens": 1, "stream": tc.stream}))
		if resp.StatusCode != tc.status || !strings.Contains(text, tc.want) {
			t.Errorf("%+v: %d %s", tc, resp.StatusCode, text)
		}
	}
	if _, text := post(t, hs.URL+"/detokenize", `{"tokens":[2000,1,2001]}`); len(strings.Fields(text)) != 1 {
		t.Errorf("the text of one token that is known and two that are not: %s", text)
	}
}
