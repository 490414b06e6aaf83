package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCheckExtra(t *testing.T) {
	for name, tt := range map[string]struct{ field, value, want string }{
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
	} {
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
	for name, tt := range map[string]struct {
		request Request
		want    string
	}{
		"conversation without chat": {Request{API: Completions, Messages: []Message{}}, "making the request: a conversation needs the chat API"},
		"token ids with chat":       {Request{PromptTokens: []int32{1}}, "making the request: token ids need the completions API"},
		"extra against streaming":   {Request{Extra: map[string]json.RawMessage{"stream": json.RawMessage("false")}}, `making the request: extra field "stream" is set by the client itself`},
	} {
		tr := c.Stream(t.Context(), tt.request)
		if f := tr.Failure; f == nil || f.Reason != ReasonConnect || f.Detail != tt.want || tr.Started.IsZero() || tr.Planned.IsZero() || tr.RequestID == "" {
			t.Errorf("%s: failure %v, want %q; trace %+v", name, tr.Failure, tt.want, tr)
		}
	}
}
