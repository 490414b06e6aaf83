package openai

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unsafe"
)

func TestCheckExtra(t *testing.T) {
	tests := map[string]struct{ field, value, want string }{
		"a number":      {"top_p", `0.9`, ""},
		"a list":        {"stop", `["\n"]`, ""},
		"null":          {"temperature", `null`, ""},
		"tokens":        {"max_tokens", `10`, ""},
		"ours too":      {"ignore_eos", `true`, ""},
		"no streaming":  {"stream", `false`, `extra field "stream" is set by the client itself`},
		"no usage":      {"stream_options", `{}`, `extra field "stream_options" is set by the client itself`},
		"another model": {"model", `"x"`, `extra field "model" is set by the client itself`},
		"messages":      {"messages", `[]`, `extra field "messages" is set by the client itself`},
		"prompt":        {"prompt", `""`, `extra field "prompt" is set by the client itself`},
		"no JSON":       {"cache_salt", `hunter22`, `extra field "cache_salt" is not JSON`},
		"two values":    {"seed", `1,"stream":false`, `extra field "seed" is not JSON`},
		"nothing":       {"seed", ``, `extra field "seed" is not JSON`},
	}
	for name, tt := range tests {
		got := ""
		if err := CheckExtra(map[string]json.RawMessage{tt.field: json.RawMessage(tt.value), "seed_": json.RawMessage(`1`)}); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A request that contradicts itself is not sent, and says why.
func TestContradictoryRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	defer server.Close()
	c := newTestClient(t, Config{BaseURL: server.URL})
	tests := map[string]struct {
		request Request
		want    string
	}{
		"conversation without chat": {Request{API: Completions, Messages: []Message{}}, "making the request: a conversation needs the chat API"},
		"token ids with chat":       {Request{PromptTokens: []int32{1}}, "making the request: token ids need the completions API"},
		"extra against streaming":   {Request{Extra: map[string]json.RawMessage{"stream": json.RawMessage("false")}}, `making the request: extra field "stream" is set by the client itself`},
	}
	for name, tt := range tests {
		tr := c.Stream(t.Context(), tt.request)
		if f := tr.Failure; f == nil || f.Reason != ReasonConnect || f.Detail != tt.want || tr.Started.IsZero() || tr.Planned.IsZero() || tr.RequestID == "" {
			t.Errorf("%s: failure %v, want %q; trace %+v", name, tr.Failure, tt.want, tr)
		}
	}
}

// An answer of more chunks than MaxTokens leads to expect is read where an extra
// field may have asked for it.
func TestExtraLiftsTheBoundOnChunks(t *testing.T) {
	body := strings.Repeat(events(word), minMaxChunks+1) + events(stop, done)
	for extra, want := range map[string]Reason{"": ReasonProtocol, "max_tokens": ""} {
		r := Request{MaxTokens: 1, Timeout: patience}
		if extra != "" {
			r.Extra = map[string]json.RawMessage{extra: json.RawMessage("100000")}
		}
		tr := newTestClient(t, Config{BaseURL: "http://" + rawServer(t, answering(okHead+body))}).Stream(t.Context(), r)
		var got Reason
		if tr.Failure != nil {
			got = tr.Failure.Reason
		}
		if got != want {
			t.Errorf("with %q: failure %v, want %q", extra, tr.Failure, want)
		}
	}
}

// A server that floods a client must not take its memory, of which each of
// thousands of streams has a share.
func TestBoundOnChunks(t *testing.T) {
	for name, c := range map[string]struct{ maxTokens, most int }{
		"no limit":               {0, 131072},
		"few tokens":             {1, 4096},
		"several chunks a token": {1000, 64000},
		"many tokens":            {100000, 131072},
		"more tokens than that":  {150000, 150000},
		"any number":             {math.MaxInt, math.MaxInt},
	} {
		if got := chunksFor(c.maxTokens); got != c.most {
			t.Errorf("%s: %d chunks, want %d", name, got, c.most)
		}
	}
	for chunks, want := range map[int]Reason{maxChunks: "", maxChunks + 1: ReasonProtocol} {
		s := newStream(0)
		for range chunks {
			s.feed([]byte(events(word)), ms(1))
		}
		s.feed([]byte(events(done)), ms(1))
		var got Reason
		if s.failure != nil {
			got = s.failure.Reason
		}
		if got != want {
			t.Errorf("%d chunks: failure %v, want %q", chunks, s.failure, want)
		}
		if room := cap(s.chunks)*int(unsafe.Sizeof(Chunk{})) + cap(s.kernel)*8; room > 4<<20 {
			t.Errorf("%d chunks take %d bytes", chunks, room)
		}
	}
}
