package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// pieces is a server whose tokenizer splits words of more than four letters in two, puts a
// token before each text, and has a chat template of 21 tokens.
type pieces struct{ tokenizes bool }

func (s pieces) tokens(text string) int {
	n := 1
	for word := range strings.FieldsSeq(text) {
		n += 1 + min(1, len(word)/5)
	}
	return n
}

func (s pieces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Prompt   string
		Messages []openai.Message
	}
	_ = json.NewDecoder(r.Body).Decode(&ask)
	switch {
	case r.URL.Path == "/tokenize" && s.tokenizes:
		ids := []int{1}
		for word := range strings.FieldsSeq(ask.Prompt) {
			for i := range s.tokens(word) - 1 {
				ids = append(ids, int(crc32.ChecksumIEEE([]byte(word[i:])))>>1)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids})
	case strings.HasSuffix(r.URL.Path, "/completions"):
		counted := s.tokens(ask.Prompt)
		if ask.Messages != nil {
			counted = 20
		}
		for _, m := range ask.Messages {
			counted += s.tokens(m.Content)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":"a"},"text":"a","finish_reason":"length"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n", counted)
	case r.URL.Path == "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	default:
		http.NotFound(w, r)
	}
}

// Made prompts have exactly the length that was asked for where the server tokenizes, and what
// it adds itself is told apart.
func TestExactLengths(t *testing.T) {
	random := dataset.Config{Kind: dataset.Random, InputLen: 1024, OutputLen: 128}
	for name, tt := range map[string]struct {
		api     openai.API
		data    dataset.Config
		aimed   int
		adds    int
		inexact bool // the server does not tokenize
	}{
		"chat":        {api: openai.Chat, data: random, aimed: 1024, adds: 21},
		"completions": {api: openai.Completions, data: random, aimed: 1024, adds: 1},
		"prefixes":    {api: openai.Completions, data: dataset.Config{Kind: dataset.Prefix, InputLen: 256, PrefixLen: 256, NumPrefixes: 10, OutputLen: 128}, aimed: 512, adds: 1},
		"no tokenize": {api: openai.Chat, data: random, aimed: 1024, adds: 21, inexact: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(pieces{tokenizes: !tt.inexact})
			defer server.Close()
			cfg := plan(t, server.URL)
			cfg.Run.API, cfg.Dataset, cfg.Steps = tt.api, tt.data, cfg.Steps[:1]
			result, err := Run(t.Context(), cfg)
			if err != nil || result.Succeeded != 10 {
				t.Fatalf("%+v %v", result, err)
			}
			run, _, requests := kinds(t, cfg.Folder)
			for _, r := range requests {
				off := r.Trace.Usage.PromptTokens - tt.aimed - tt.adds
				if tt.inexact != (off != 0) || off*off > 100*100 || r.AimedTokens != tt.aimed {
					t.Errorf("%d tokens are counted for %d, %d of them of the server's", r.Trace.Usage.PromptTokens, r.AimedTokens, tt.adds)
				}
			}
			if run.TemplateTokens-tt.adds > 9 || tt.adds-run.TemplateTokens > 9 || !tt.inexact && run.TemplateTokens != tt.adds {
				t.Errorf("the server adds %d tokens, want %d", run.TemplateTokens, tt.adds)
			}
			if inexact := strings.Contains(fmt.Sprint(result.Notes), "within a few per cent"); inexact != tt.inexact {
				t.Errorf("notes %q", result.Notes)
			}
		})
	}
}

// refusing answers 400 to what asks for a temperature below 0.
func refusing(w http.ResponseWriter, _ *http.Request, body []byte) bool {
	refuses := bytes.Contains(body, []byte(`"temperature":-1`))
	if refuses {
		http.Error(w, "temperature must be non-negative, got -1.0.", http.StatusBadRequest)
	}
	return refuses
}

// A load of which the server would refuse every request ends before its first step, with the
// server's words or what to do.
func TestLoadsThatServersRefuse(t *testing.T) {
	url := endpoint(t, watching(refusing))
	const refusesEOS = "/fault/no_ignore_eos"
	words := dataset.Config{Kind: dataset.Random, InputLen: 1024, OutputLen: 128}
	change := func(f func(*dataset.Config)) dataset.Config { c := words; f(&c); return c }
	for name, tt := range map[string]struct {
		path string
		api  openai.API
		data dataset.Config
		ask  Ask
		want string // "" where nothing is wrong
	}{
		"a sampling parameter": {
			"", openai.Chat, words,
			Ask{Extra: map[string]json.RawMessage{"temperature": json.RawMessage("-1")}},
			"the server refuses the load's requests: http_4xx: status 400: temperature must be non-negative, got -1.0.",
		},
		"a sampling parameter beside ignore_eos": {
			"", openai.Chat, words,
			Ask{IgnoreEOS: true, Extra: map[string]json.RawMessage{"temperature": json.RawMessage("-1")}},
			"the server refuses the load's requests: http_4xx: status 400: temperature must be",
		},
		"ignore_eos":                 {refusesEOS, openai.Chat, words, Ask{IgnoreEOS: true}, "the server refuses ignore_eos, give --no-ignore-eos: http_4xx: status 422: "},
		"ignore_eos, with token ids": {refusesEOS, openai.Completions, change(func(c *dataset.Config) { c.TokenIDs = true }), Ask{IgnoreEOS: true}, "give --no-ignore-eos"},
		"no ignore_eos":              {refusesEOS, openai.Chat, words, Ask{}, ""},
		"a length that fits":         {"", openai.Completions, change(func(c *dataset.Config) { c.InputLen, c.PrefixLen = 31000, 1640 }), Ask{}, ""},
		"one token too long": {
			"", openai.Completions, change(func(c *dataset.Config) { c.InputLen, c.PrefixLen = 31000, 1641 }),
			Ask{},
			"prompts of up to 32641 tokens and answers of up to 128 do not fit into the model's length of 32768",
		},
		"the longest of a range, of token ids": {
			"", openai.Completions, change(func(c *dataset.Config) {
				c.TokenIDs, c.InputLen, c.InputRangeRatio, c.OutputRangeRatio = true, 30000, 0.1, 0.5
			}),
			Ask{},
			"prompts of up to 33000 tokens and answers of up to 192 do not fit",
		},
		"a conversation's first turn": {
			"", openai.Chat,
			dataset.Config{Kind: dataset.MultiTurn, InputLen: 20000, PrefixLen: 12700, OutputLen: 128, Turns: dataset.Range{From: 2, To: 2}},
			Ask{},
			"prompts of up to 32700 tokens and answers of up to 128 do not fit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := plan(t, url+tt.path)
			cfg.Run.API, cfg.Dataset, cfg.Ask, cfg.Steps = tt.api, tt.data, tt.ask, cfg.Steps[:1]
			result, err := Run(t.Context(), cfg)
			if tt.want == "" {
				if err != nil || result.Succeeded != 10 {
					t.Errorf("%+v %v", result, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || result.Attempted != 0 {
				t.Errorf("%d requests, error %v, want %s", result.Attempted, err, tt.want)
			}
			if _, err := os.Stat(cfg.Folder); err == nil {
				t.Error("a folder was made")
			}
		})
	}
}

// Prompts that share what a prefix cache can hold are split by the server's own blocks,
// unless the user says which.
func TestSplitByTheServersBlocks(t *testing.T) {
	for name, tt := range map[string]struct {
		metrics      string
		given, start int
		block        int // in the log, 0 for not known
	}{
		"vllm-ascend":          {`vllm:cache_config_info{block_size="128"} 1`, 0, 512 + 64, 128},
		"told by the user":     {`vllm:cache_config_info{block_size="128"} 1`, 16, 512 + 8, 16},
		"no metrics":           {"", 0, 512 + 8, 0},
		"no metrics, but told": {"", 64, 512 + 32, 64},
	} {
		t.Run(name, func(t *testing.T) {
			starts := map[string]int{}
			cfg := plan(t, endpoint(t, watching(func(w http.ResponseWriter, r *http.Request, body []byte) bool {
				var ask struct{ Prompt []int32 }
				if _ = json.Unmarshal(body, &ask); len(ask.Prompt) == 1024 {
					starts[fmt.Sprint(ask.Prompt[:tt.start])]++
				}
				isPage := r.URL.Path == "/metrics"
				if isPage {
					_, _ = io.WriteString(w, "# TYPE vllm:cache_config_info gauge\n"+tt.metrics+"\n")
				}
				return isPage
			})))
			cfg.Steps, cfg.Run.BlockSize = cfg.Steps[:1], tt.given
			cfg.Dataset.InputLen, cfg.Dataset.CacheHit = 1024, 0.5
			if result, err := Run(t.Context(), cfg); err != nil || result.Succeeded != 10 {
				t.Fatalf("%+v %v", result, err)
			}
			run, _, requests := kinds(t, cfg.Folder)
			if counts := slices.Collect(maps.Values(starts)); len(counts) != 1 || run.BlockSize != tt.block || requests[0].SharedTokens != tt.start {
				t.Errorf("%d starts of %d tokens, blocks of %d, %d tokens shared", len(starts), tt.start, run.BlockSize, requests[0].SharedTokens)
			}
		})
	}
	cfg := plan(t, endpoint(t, nil))
	cfg.Run.BlockSize, cfg.Dataset.InputLen, cfg.Dataset.CacheHit = 128, 1000, 0.6
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "--random-cache-hit: of prompts of 1000 tokens, whole blocks of 128 can make 64 %, not 60 %: give longer prompts") {
		t.Errorf("too short for the blocks: %v", err)
	}
}

// countedOnce counts how often each text is asked for, and fails for one that is asked for again, or beside the load; a server
// that is silent does not count.
func countedOnce(t *testing.T, asked map[string]int, isSilent bool) func(http.ResponseWriter, *http.Request, []byte) bool {
	begun := false
	return func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		begun = begun || strings.HasSuffix(r.URL.Path, "/completions")
		if r.URL.Path != "/tokenize" {
			return false
		}
		if asked[string(body)]++; begun || asked[string(body)] > 1 {
			t.Errorf("%s is asked for again, or beside the load", body)
		}
		if isSilent {
			http.NotFound(w, r)
		}
		return isSilent
	}
}

// Custom prompts go to the completions API as token ids in the chat template that the server
// applies, as vLLM's tool does itself; each is asked for once, before the step.
func TestChatTemplateByTheServer(t *testing.T) {
	for name, tt := range map[string]struct {
		skip, silent bool
		counted      int
		note         string
	}{
		"as vLLM's tool":       {counted: 4 + 9},
		"--skip-chat-template": {skip: true, counted: 4},
		"without a /tokenize":  {silent: true, counted: 4, note: "prompts go as they are, without the chat template"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := plan(t, serveModel(t, fakevllm.Config{Speed: 200, MeanOutputTokens: 8, TemplateTokens: 9}, watching(countedOnce(t, map[string]int{}, tt.silent))))
			cfg.Dataset = dataset.Config{Kind: dataset.Custom, Path: filepath.Join(t.TempDir(), "a.jsonl"), OutputLen: 5, SkipChatTemplate: tt.skip, DisableShuffle: true}
			var text strings.Builder
			for i := range 40 {
				fmt.Fprintf(&text, `{"prompt":"Tell me of %d"}`+"\n", i)
			}
			_ = os.WriteFile(cfg.Dataset.Path, []byte(text.String()), 0o600)
			cfg.Steps, cfg.Steps[0].Requests = cfg.Steps[:1], 60 // the file is begun again
			result, err := Run(t.Context(), cfg)
			if err != nil || result.Succeeded != 60 || !strings.Contains(fmt.Sprint(result.Notes), tt.note) || tt.note == "" && result.Notes != nil {
				t.Fatalf("%+v %v, want a note of %q", result, err, tt.note)
			}
			_, _, requests := kinds(t, cfg.Folder)
			for _, r := range requests {
				want := tt.counted
				if r.Seq >= 40 { // behind two words
					want += 2
				}
				exact := want
				if tt.skip || tt.silent {
					exact = 0
				}
				if r.Trace.Usage.PromptTokens != want || r.ExpectedTokens != exact {
					t.Errorf("request %d: %d tokens, %d expected, want %d", r.Seq, r.Trace.Usage.PromptTokens, r.ExpectedTokens, want)
				}
			}
		})
	}
}

// Each recorded text is counted once in all steps and passes, before the first step begins; a server that does not count is
// asked once.
func TestTextsAreCountedOnce(t *testing.T) {
	for _, silent := range []bool{false, true} {
		asked := map[string]int{}
		cfg := plan(t, endpoint(t, watching(countedOnce(t, asked, silent))))
		cfg.Steps[0].Requests = readAhead + 40
		cfg.Dataset = dataset.Config{Kind: dataset.ShareGPT, Path: filepath.Join(t.TempDir(), "sharegpt.json")}
		_ = os.WriteFile(cfg.Dataset.Path, []byte(`{"conversations":[{"value":"How do tides come and go?"},{"value":"By the pull of the moon."}]}
{"conversations":[{"value":"And which winds blow at sea?"},{"value":"By the pull of the moon."}]}`), 0o600)
		if result, err := Run(t.Context(), cfg); err != nil || result.Succeeded != readAhead+40+10 {
			t.Fatalf("%+v %v", result, err)
		}
		counts, want := slices.Sorted(maps.Values(asked)), []int{1, 1, 1} // two questions and an answer
		if silent {
			want = want[:1]
		}
		equal(t, fmt.Sprintf("a server that does not count: %t; how often each text is asked for", silent), want, counts)
	}
}
