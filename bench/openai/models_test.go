package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModels(t *testing.T) {
	list := func(ids ...string) string {
		var data []map[string]any
		for _, id := range ids {
			data = append(data, map[string]any{"id": id, "object": "model", "max_model_len": 8192})
		}
		text, _ := json.Marshal(map[string]any{"object": "list", "data": data})
		return string(text)
	}
	for name, tt := range map[string]struct {
		body string // behind a line of a header, where it has one
		want []Model
		fail Reason
	}{
		"two":              {list("made-up-7b", "org/模型:v2 (å)"), []Model{{"made-up-7b", 8192}, {"org/模型:v2 (å)", 8192}}, ""},
		"name too long":    {list(strings.Repeat("m", 201)), nil, ReasonEmpty},
		"name with a line": {list("good", "a\nb"), []Model{{"good", 8192}}, ""},
		"name not UTF-8":   {"{\"data\":[{\"id\":\"a\xffb\"}]}", nil, ReasonEmpty},
		"empty list":       {`{"data":[]}`, nil, ReasonEmpty},
		"unknown lengths":  {`{"data":[{"id":"a"},{"id":"b","max_model_len":"?"}]}`, []Model{{"a", 0}, {"b", 0}}, ""},
		"HTML":             {"<html>", nil, ReasonProtocol},
		"a number":         {`{"data":[{"id":7},{"id":"a"}]}`, []Model{{"a", 0}}, ""},
		"endless":          {`{"data":[` + strings.Repeat(" ", maxModels) + `{"id":"a"}]}`, nil, ReasonProtocol},
		"cut":              {"Content-Length: 100\n" + `{"data":[`, nil, ReasonTruncated},
		"gzip":             {"Content-Encoding: gzip\n" + `{"data":[]}`, nil, ReasonProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("X-Request-Id") == "" {
					t.Errorf("request %s %s %v", r.Method, r.URL, r.Header)
				}
				body := tt.body
				if head, rest, ok := strings.Cut(body, "\n"); ok {
					name, value, _ := strings.Cut(head, ": ")
					w.Header().Set(name, value)
					body = rest
				}
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			got, f := newTestClient(t, Config{BaseURL: server.URL}).Models(t.Context())
			if diff := cmp.Diff(tt.want, got); diff != "" || reasonOf(f) != tt.fail {
				t.Errorf("failure %v, want %q; models (-want +got):\n%s", f, tt.fail, diff)
			}
		})
	}
}

// Nine targets with such lists had the exporter killed by its unit, which has 256 MiB.
func TestListsOfModelsTakeLittleMemory(t *testing.T) {
	for _, size := range []int{maxModels - 100, 15 << 20} {
		for _, element := range []string{`{"id":"a"},`, `{},`, " "} {
			url, _ := answerOf(t, 200, `{"data":[`+strings.Repeat(element, size/len(element))+`{}]}`)
			client := newTestClient(t, Config{BaseURL: url})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = client.Models(t.Context())
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 24 {
				t.Errorf("%d KiB of %q: %d MiB are taken, want at most 24", size>>10, element, n)
			}
		}
	}
}

func reasonOf(f *Failure) Reason {
	if f == nil {
		return ""
	}
	return f.Reason
}

// answerOf serves body, and keeps the first request.
func answerOf(t *testing.T, status int, body string) (url string, requests <-chan seen) {
	got := make(chan seen, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := seen{Method: r.Method, Path: r.URL.Path}
		_ = json.NewDecoder(r.Body).Decode(&s.Body)
		select {
		case got <- s:
		default:
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func TestTokenize(t *testing.T) {
	chat := []Message{{"system", "be brief"}, {"user", "hi"}}
	for name, tt := range map[string]struct {
		text   string
		chat   []Message // in place of the text
		status int
		body   string
		want   []int32
		fail   Reason
	}{
		"three":                   {"he said \"<hé>\"", nil, 200, `{"count":3,"tokens":[7,0,151935],"token_strs":null}`, []int32{7, 0, 151935}, ""},
		"of nothing":              {"", nil, 200, `{"count":0,"tokens":[]}`, []int32{}, ""},
		"none":                    {"a", nil, 200, `{"count":0,"tokens":[]}`, nil, ReasonEmpty},
		"words":                   {"a", nil, 200, `{"tokens":["a"]}`, nil, ReasonProtocol},
		"not known":               {"a", nil, 404, `{"detail":"Not Found"}`, nil, ReasonHTTP4xx},
		"a chat":                  {"", chat, 200, `{"count":5,"max_model_len":4096,"tokens":[1,9,7,2,1]}`, []int32{1, 9, 7, 2, 1}, ""},
		"a server of texts alone": {"", chat, 200, `{"tokens":[]}`, nil, ReasonEmpty},
		"no template":             {"", chat, 400, `{"error":{"message":"no chat template"}}`, nil, ReasonHTTP4xx},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := answerOf(t, tt.status, tt.body)
			client, want := newTestClient(t, Config{BaseURL: url + "/gate/v1"}), seen{Method: "POST", Path: "/gate/tokenize"}
			got, f := []int32(nil), (*Failure)(nil)
			if tt.chat == nil {
				got, f = client.Tokenize(t.Context(), "m", tt.text)
				want.Body = map[string]any{"model": "m", "prompt": tt.text, "content": tt.text, "add_special_tokens": false}
			} else {
				got, f = client.TokenizeChat(t.Context(), "m", tt.chat)
				want.Body = map[string]any{
					"model": "m", "add_generation_prompt": true, "add_special_tokens": false,
					"messages": []any{map[string]any{"role": "system", "content": "be brief"}, map[string]any{"role": "user", "content": "hi"}},
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || reasonOf(f) != tt.fail {
				t.Errorf("failure %v, want %q; tokens (-want +got):\n%s", f, tt.fail, diff)
			}
			equal(t, "request", want, <-requests)
		})
	}
}
