package fakevllm

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server on loopback until the test's end.
func serve(t *testing.T, cfg Config) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(cfg)
	noError(t, err)
	hs := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	go s.Run(ctx)
	t.Cleanup(func() {
		cancel()
		<-s.stopped
		hs.Close()
	})
	return s, hs
}

// quick is a server that answers within milliseconds.
func quick() Config { return Config{Speed: 100} }

// post sends a JSON body and returns the status and the body of the answer.
func post(t *testing.T, url, body string, header ...string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	noError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	noError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noError(t, err)
	return resp.StatusCode, string(b)
}

// chunks decodes a stream that must end with [DONE].
func chunks(t *testing.T, body string) []chunk {
	t.Helper()
	var out []chunk
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			return out
		}
		if !ok {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("event %q: %v", data, err)
		}
		out = append(out, c)
	}
	t.Fatalf("the stream does not end with [DONE]: %q", body)
	return nil
}

// said is all the text of the chunks.
func said(all []chunk) string {
	var text strings.Builder
	for _, c := range all {
		for _, choice := range c.Choices {
			if choice.Delta != nil {
				text.WriteString(choice.Delta.Content)
			}
			if choice.Text != nil {
				text.WriteString(*choice.Text)
			}
		}
	}
	return text.String()
}

func TestStream(t *testing.T) {
	_, hs := serve(t, quick())
	for name, tt := range map[string]struct {
		path, body string
		want       *usage // of the last chunk
		finish     string
	}{
		"chat": {
			"/v1/chat/completions", `"messages":[{"role":"user","content":"one two three"}],"max_tokens":7,"ignore_eos":true,"stream_options":{"include_usage":true}`,
			&usage{PromptTokens: 3, CompletionTokens: 7, TotalTokens: 10}, "length",
		},
		"text": {
			"/v1/completions", `"prompt":"a b one","max_tokens":5,"ignore_eos":true,"stream_options":{"include_usage":true}`,
			&usage{PromptTokens: 3, CompletionTokens: 5, TotalTokens: 8}, "length",
		},
		"token ids": {
			"/v1/completions", `"prompt":[1,2,3,4],"max_tokens":5,"ignore_eos":true,"stream_options":{"include_usage":true}`,
			&usage{PromptTokens: 4, CompletionTokens: 5, TotalTokens: 9}, "length",
		},
		"in the newer name of the length": {
			"/v1/chat/completions", `"messages":[{"role":"user","content":"one two"}],"max_completion_tokens":4,"ignore_eos":true,"stream_options":{"include_usage":true}`,
			&usage{PromptTokens: 2, CompletionTokens: 4, TotalTokens: 6}, "length",
		},
		"no usage asked for": {"/v1/completions", `"prompt":"a","max_tokens":5,"ignore_eos":true`, nil, "length"},
		"ends by itself":     {"/v1/completions", `"prompt":"a","max_tokens":5000`, nil, "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, hs.URL+tt.path, `{"stream":true,`+tt.body+`}`, "X-Request-Id", "r1")
			all := chunks(t, body)
			last := all[len(all)-1]
			if diff := cmp.Diff(tt.want, last.Usage); diff != "" || status != http.StatusOK {
				t.Errorf("status %d, usage (-want +got):\n%s", status, diff)
			}
			if tt.want != nil && len(strings.Fields(said(all))) != tt.want.CompletionTokens {
				t.Errorf("the text has %d tokens: %q", len(strings.Fields(said(all))), said(all))
			}
			if !strings.Contains(body, `"finish_reason":"`+tt.finish+`"`) || !strings.HasSuffix(last.ID, "cmpl-r1") || last.Model != "qwen2.5" {
				t.Errorf("no finish %s, or another id or model: %s", tt.finish, body)
			}
			if role := strings.Contains(body, `"role":"assistant"`); role != strings.Contains(tt.path, "chat") {
				t.Errorf("a role: %t", role)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	cfg := quick()
	cfg.APIKey = "k3y"
	_, hs := serve(t, cfg)
	for name, tt := range map[string]struct {
		path, key, body string
		status          int
		says            string
	}{
		"no key":         {"/v1/completions", "", `{"prompt":"a","stream":true}`, 401, "Unauthorized"},
		"the key":        {"/v1/completions", "k3y", `{"prompt":"a","stream":true}`, 200, "[DONE]"},
		"another model":  {"/v1/completions", "k3y", `{"prompt":"a","stream":true,"model":"other"}`, 404, "`other` does not exist"},
		"no stream":      {"/v1/completions", "k3y", `{"prompt":"a"}`, 400, "only streams"},
		"no prompt":      {"/v1/completions", "k3y", `{"stream":true}`, 400, "at least one token"},
		"no JSON":        {"/v1/completions", "k3y", `{`, 400, "reading the request"},
		"negative":       {"/v1/completions", "k3y", `{"stream":true,"prompt":"a","max_tokens":-1}`, 400, "asks for -1"},
		"too long":       {"/v1/completions", "k3y", `{"stream":true,"prompt":"a","max_tokens":32768}`, 400, "maximum context length is 32768"},
		"no such server": {"/v1/embeddings", "k3y", `{}`, 404, "not found"},
	} {
		status, body := post(t, hs.URL+tt.path, tt.body, "Authorization", "Bearer "+tt.key)
		if status != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s: status %d, want %d with %q: %s", name, status, tt.status, tt.says, body)
		}
	}
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
