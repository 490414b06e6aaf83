package fakevllm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestErrors(t *testing.T) {
	cfg := quick()
	cfg.APIKey, cfg.MaxModelLen = "k3y", 100
	_, hs := serve(t, cfg)
	const ok = `"messages":[{"role":"user","content":[{"type":"text","text":"hello there"}]}]`
	nested := func(status int, kind, start string) string {
		return fmt.Sprintf("%d %s nested %s", status, kind, start)
	}
	for _, tc := range []struct{ name, path, body, want string }{
		{"bad JSON", "/v1/chat/completions", `{"messages":[`, nested(400, "BadRequestError", "reading")},
		{"wrong type", "/v1/chat/completions", `{"messages":3}`, nested(400, "BadRequestError", "reading")},
		{"no messages", "/v1/chat/completions", `{}`, nested(400, "BadRequestError", "messages")},
		{"no prompt", "/v1/completions", `{"prompt":null}`, nested(400, "BadRequestError", "prompt")},
		{"empty prompt", "/v1/completions", `{"prompt":[]}`, nested(400, "BadRequestError", "prompt")},
		{"two prompts", "/v1/completions", `{"prompt":["a","b"]}`, nested(400, "BadRequestError", "reading")},
		{"unknown model", "/v1/chat/completions", `{"model":"x",` + ok + `}`, nested(404, "NotFoundError", "The model `x` does not exist.")},
		{"context", "/v1/chat/completions", `{"max_tokens":99,` + ok + `}`, nested(400, "BadRequestError", "This model's maximum context length is 100")},
		{"long prompt", "/v1/completions", `{"prompt":"` + strings.Repeat("a ", 100) + `"}`, nested(400, "BadRequestError", "This model's maximum")},
		{"no tokens", "/v1/chat/completions", `{"max_tokens":0,` + ok + `}`, nested(400, "BadRequestError", "max_tokens")},
		{"min above max", "/v1/chat/completions", `{"max_tokens":5,"min_tokens":6,` + ok + `}`, nested(400, "BadRequestError", "min_tokens")},
		{"stray options", "/v1/chat/completions", `{"stream_options":{},` + ok + `}`, nested(400, "BadRequestError", "stream_options")},
		{"too large", "/v1/chat/completions", `{"x":"` + strings.Repeat("a", maxBody) + `"}`, nested(413, "BadRequestError", "the request body")},
		{"old body", "/dialect/vllm-0.6/v1/chat/completions", `{}`, "400 BadRequestError flat messages"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := post(t, hs.URL+tc.path, tc.body, "Authorization", "Bearer k3y")
			type wrong struct {
				Message, Type, Object string
				Code                  int
			}
			var e struct {
				Error *wrong
				wrong
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatalf("%v: %q", err, body)
			}
			form := "flat"
			if e.Error != nil {
				form, e.wrong = "nested", *e.Error
			}
			got := fmt.Sprintf("%d %s %s %s", e.Code, e.Type, form, e.Message)
			if !strings.HasPrefix(got, tc.want) || resp.StatusCode != e.Code || (form == "flat") != (e.Object == "error") {
				t.Errorf("HTTP %d, %s; want %s", resp.StatusCode, body, tc.want)
			}
		})
	}
	for _, header := range []string{"", "Bearer ", "Bearer k3", "k3y"} {
		resp, body := post(t, hs.URL+"/v1/completions", `{}`, "Authorization", header)
		if resp.StatusCode != http.StatusUnauthorized || body != `{"error":"Unauthorized"}` {
			t.Errorf("with Authorization %q: %d %s", header, resp.StatusCode, body)
		}
	}
}

func TestPromptForms(t *testing.T) {
	_, hs := serve(t, quick())
	for prompt, want := range map[string]int{
		`"a b c"`: 3, `["a b c"]`: 3, `[7,8,9,10]`: 4, `[[7,8,9,10]]`: 4, `"你是谁？"`: 4, `[""," "]`: 0, `"\u0000"`: 1,
	} {
		_, body := post(t, hs.URL+"/v1/completions", `{"prompt":`+prompt+`,"max_tokens":1}`)
		var got struct{ Usage usage }
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Usage.PromptTokens != want {
			t.Errorf("prompt %s: %s (%v), want %d tokens", prompt, body, err, want)
		}
	}
	_, body := post(t, hs.URL+"/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"system","content":null},
		{"role":"user","content":[{"type":"text","text":"a b"},{"type":"text","text":"c"}]},{"role":"user","content":"d"}]}`)
	if !strings.Contains(body, `"prompt_tokens":4,`) {
		t.Errorf("messages of 4 words: %s", body)
	}
	_, body = post(t, hs.URL+"/v1/completions", `{"prompt":"a b"}`)
	if !strings.Contains(body, `"completion_tokens":16,`) {
		t.Errorf("a completion without max_tokens: %s", body)
	}
}

func TestSmallEndpoints(t *testing.T) {
	s, hs := serve(t, Config{Model: "m/1", MaxModelLen: 77})
	get := func(path string) string {
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return fmt.Sprintf("%d %s", rec.Code, rec.Body)
	}
	for path, want := range map[string]string{
		"/health": "200 ", "/ping": "200 ", "/version": `200 {"version":"0.19.0"}`,
		"/dialect/vllm-0.6/version": `200 {"version":"0.6.6"}`,
		"/dialect/x/version":        "404 unknown dialect \"x\" (known: vllm, vllm-0.6, vllm-bytes, mindie, llamacpp)\n",
		"/fault/hang/health":        "200 ",
	} {
		if diff := cmp.Diff(want, get(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if got := get("/v1/models"); !strings.Contains(got, `"id":"m/1"`) || !strings.Contains(got, `"max_model_len":77`) {
		t.Errorf("models: %s", got)
	}
	_, body := post(t, hs.URL+"/tokenize", `{"prompt":"the 模型 gizmo"}`)
	var tokenized struct {
		Count  int
		Tokens []int32
	}
	if err := json.Unmarshal([]byte(body), &tokenized); err != nil || tokenized.Count != 4 || len(tokenized.Tokens) != 4 {
		t.Fatalf("tokenize: %s %v", body, err)
	}
	_, body = post(t, hs.URL+"/detokenize", encode(t, map[string]any{"tokens": tokenized.Tokens}))
	if want := `{"prompt":"the模型 gizmo"}`; body != want {
		t.Errorf("detokenize: %s, want %s", body, want)
	}
	if _, body = post(t, hs.URL+"/tokenize", `{"messages":[{"content":"a b"},{"content":"c"}]}`); !strings.Contains(body, `"count":3`) {
		t.Errorf("tokenize messages: %s", body)
	}
}

// TestServersThatTokenizeOtherwise: a client that asks as vLLM is asked gets nowhere.
func TestServersThatTokenizeOtherwise(t *testing.T) {
	_, hs := serve(t, Config{VocabularySize: 1234})
	for _, tc := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/dialect/mindie/tokenize", `{"prompt":"a b"}`, 404, "404 page not found\n"},
		{"/dialect/mindie/detokenize", `{"tokens":[1]}`, 404, "404 page not found\n"},
		{"/dialect/llamacpp/tokenize", `{"prompt":"the queue"}`, 200, `{"tokens":[]}`},
		{"/dialect/llamacpp/tokenize", `{"content":"the queue"}`, 200, `{"tokens":[0,2]}`},
		{"/dialect/llamacpp/detokenize", `{"tokens":[0,2]}`, 200, `{"content":"the queue"}`},
	} {
		if resp, body := post(t, hs.URL+tc.path, tc.body); resp.StatusCode != tc.status || body != tc.want {
			t.Errorf("%s %s: %d %q, want %d %q", tc.path, tc.body, resp.StatusCode, body, tc.status, tc.want)
		}
	}
	resp, err := http.Get(hs.URL + "/dialect/llamacpp/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `"meta":{"n_vocab":1234}`) {
		t.Errorf("models: %s", body)
	}
}

func TestConfigErrors(t *testing.T) {
	for name, cfg := range map[string]Config{
		"speed":      {Speed: -1},
		"step":       {StepBase: -time.Second},
		"sequences":  {MaxNumSeqs: -1},
		"dialect":    {Dialect: "x"},
		"fault":      {Fault: "x"},
		"cache":      {MaxModelLen: 100, KVCacheTokens: 96},
		"background": {BackgroundUsers: -1},
		"interval":   {StreamInterval: -1},
		"vocabulary": {VocabularySize: 1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(Config{MaxModelLen: 300001}); err != nil {
		t.Errorf("a context longer than the default cache: %v", err)
	}
	if diff := cmp.Diff(DefaultConfig(), DefaultConfig().withDefaults()); diff != "" {
		t.Error(diff)
	}
}
