package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// wordy is a server that counts words in its own way, and does not tokenize.
type wordy struct {
	perWord  float64
	template int
	silent   bool // tells no usage
}

func (s wordy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	case "/v1/chat/completions":
		var ask struct{ Messages []openai.Message }
		if json.NewDecoder(r.Body).Decode(&ask) != nil || len(ask.Messages) != 1 {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		tokens := s.template + int(s.perWord*float64(len(strings.Fields(ask.Messages[0].Content))))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}`+"\n\n")
		if !s.silent {
			_, _ = fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`+"\n\n", tokens)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	default:
		http.NotFound(w, r)
	}
}

func chatPlan(t *testing.T, url string) Config {
	t.Helper()
	cfg := plan(t, url)
	cfg.Run.API = openai.Chat
	cfg.Steps = cfg.Steps[:1]
	return cfg
}

// TestServerThatDoesNotTokenize: random prompts on the chat API get nearly the
// length that was asked for, and the log says how.
func TestServerThatDoesNotTokenize(t *testing.T) {
	for name, tc := range map[string]struct {
		server  wordy
		length  int
		want    runlog.Lengths
		counted int // by the server, of each prompt
		note    string
	}{
		"a token and a half a word": {wordy{perWord: 1.5, template: 21}, 300, runlog.Lengths{TokensPerWord: 1.5, Template: 21}, 321, "1.50 tokens a word beside 21 of the chat template"},
		"a short prompt":            {wordy{perWord: 2, template: 5}, 4, runlog.Lengths{TokensPerWord: 2, Template: 5}, 9, "2.00 tokens a word"},
		"no usage":                  {wordy{silent: true}, 40, runlog.Lengths{}, 0, "one word a token"},
		"a usage that says nothing": {wordy{template: 7}, 40, runlog.Lengths{}, 7, "no usage tells it"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.server)
			defer server.Close()
			cfg := chatPlan(t, server.URL)
			cfg.Dataset.InputLen = tc.length
			result, err := Run(t.Context(), cfg)
			if err != nil || result.Succeeded != 10 || result.Attempted != 10 {
				t.Fatalf("%+v %v", result, err)
			}
			if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], tc.note) || !strings.Contains(result.Notes[0], "the server does not tokenize: http_4xx: status 404") {
				t.Errorf("notes %q, want one of %q", result.Notes, tc.note)
			}
			run, _, requests := kinds(t, cfg.Folder)
			tc.want.Why = "the server does not tokenize: http_4xx: status 404: 404 page not found"
			if diff := cmp.Diff(&tc.want, run.Lengths); diff != "" {
				t.Errorf("lengths (-want +got):\n%s", diff)
			}
			for _, r := range requests {
				counted := 0
				if u := r.Trace.Usage; u != nil {
					counted = u.PromptTokens
				}
				if counted != tc.counted || r.AimedTokens != tc.length || r.ExpectedTokens != 0 {
					t.Errorf("%d tokens counted of a prompt for %d, want %d for %d", counted, r.AimedTokens, tc.counted, tc.length)
				}
			}
		})
	}
}

// hanging is a server that never answers when it is asked to tokenize, as a gateway
// may be that does not know the path.
type hanging struct{ wordy }

func (s hanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "tokenize") {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client go
		<-r.Context().Done()
		return
	}
	s.wordy.ServeHTTP(w, r)
}

// TestTokenizerThatHangs: the run goes on with estimated lengths. That the user
// withdraws it meanwhile ends it.
func TestTokenizerThatHangs(t *testing.T) {
	server := httptest.NewServer(hanging{wordy{perWord: 1}})
	defer server.Close()
	cfg := chatPlan(t, server.URL)
	r := &run{cfg: cfg, client: clientOf(t, server.URL)}
	const most = 100 * time.Millisecond
	if err := r.fitLengths(t.Context(), most); err != nil {
		t.Fatal(err)
	}
	want := &runlog.Lengths{Why: "the server does not tokenize: no answer within 100ms"}
	if diff := cmp.Diff(want, r.lengths); diff != "" {
		t.Errorf("lengths (-want +got):\n%s", diff)
	}
	withdrawn, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.fitLengths(withdrawn, most); err == nil {
		t.Error("a run that was withdrawn goes on")
	}
}

// limited is a server of so many token ids. It detokenizes those that are not
// multiples of 7, as special tokens have no text.
type limited struct {
	size     int
	card     bool // the size is in the list of models
	mute     bool // it does not detokenize
	highest  int
	streamed int
}

func (s *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var ask struct {
		Tokens, Prompt []int32
	}
	_ = json.Unmarshal(body, &ask)
	switch {
	case r.URL.Path == "/v1/models" && s.card:
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"m","meta":{"n_vocab":%d}}]}`, s.size)
	case r.URL.Path == "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	case r.URL.Path == "/detokenize" && !s.mute:
		text := ""
		if id := int(ask.Tokens[0]); id < s.size && id%7 != 0 {
			text = "a"
		}
		_, _ = fmt.Fprintf(w, `{"prompt":%q}`, text)
	case r.URL.Path == "/v1/completions":
		s.streamed++
		for _, id := range ask.Prompt {
			s.highest = max(s.highest, int(id))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(w, bytes.NewReader([]byte(`data: {"choices":[{"text":"a","finish_reason":"stop"}]}`+"\n\n")))
	default:
		http.NotFound(w, r)
	}
}

// TestSmallVocabulary: no id beyond the model's is sent where its size can be had.
func TestSmallVocabulary(t *testing.T) {
	for name, tc := range map[string]struct {
		server      limited
		least, most int // the highest id that may be sent
		note        string
	}{
		"by the card":                 {limited{size: 5000, card: true}, 4900, 4999, "5000 tokens by its card"},
		"by what it detokenizes":      {limited{size: 5000}, 4800, 4999, "tokens by what it detokenizes"},
		"larger than what is asked":   {limited{size: 60000}, 29000, 29999, ""},
		"a card with more":            {limited{size: 60000, card: true}, 29000, 29999, ""},
		"a little smaller":            {limited{size: 29996}, 20000, 29999, "by what it detokenizes"},
		"a server that does not tell": {limited{size: 5000, mute: true}, 29000, 29999, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&tc.server)
			defer server.Close()
			cfg := plan(t, server.URL)
			cfg.Steps = cfg.Steps[:1]
			cfg.Steps[0].Concurrency = 1 // the handler counts without a lock
			result, err := Run(t.Context(), cfg)
			if err != nil || tc.server.streamed != 10 {
				t.Fatalf("%d requests, %+v %v", tc.server.streamed, result, err)
			}
			if tc.server.highest < tc.least || tc.server.highest > tc.most {
				t.Errorf("the highest id is %d, want %d to %d", tc.server.highest, tc.least, tc.most)
			}
			if notes := strings.Join(result.Notes, "; "); !strings.Contains(notes, tc.note) || (tc.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, tc.note)
			}
		})
	}
}

// TestTinyVocabulary: too few ids for prompts of token ids are told before the load;
// the chat API has words.
func TestTinyVocabulary(t *testing.T) {
	server := httptest.NewServer(&limited{size: 1500, card: true})
	defer server.Close()
	if _, err := Run(t.Context(), plan(t, server.URL)); err == nil || !strings.Contains(err.Error(), "has 1500 tokens by its card, fewer than the 2000") {
		t.Errorf("completions: %v", err)
	}
	r := &run{cfg: chatPlan(t, server.URL)}
	r.cfg.Run.Model, r.cfg.Dataset.Kind = "m", dataset.Random
	r.client = clientOf(t, server.URL)
	if err := r.fitLengths(t.Context(), tokenizeTimeout); err != nil || r.lengths == nil || !strings.Contains(r.lengths.Why, "1500 tokens") {
		t.Errorf("chat: %+v %v", r.lengths, err)
	}
}

func clientOf(t *testing.T, url string) *openai.Client {
	t.Helper()
	c, err := openai.NewClient(openai.Config{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
