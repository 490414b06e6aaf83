package dataset

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func open(t *testing.T, cfg Config) Source {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take returns the next n prompts, or all that are left.
func take(t *testing.T, s Source, n int) []Prompt {
	t.Helper()
	var all []Prompt
	for len(all) < n {
		p, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func texts(prompts []Prompt) []string {
	var all []string
	for _, p := range prompts {
		all = append(all, p.Text)
	}
	return all
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   Config
		want  []Prompt // of one pass
		count runlog.DatasetCount
	}{
		"openqa": {
			Config{Kind: OpenQA, Path: "testdata/open_qa.jsonl", DisableShuffle: true},
			[]Prompt{{Text: "为什么天空是蓝色的？"}, {Text: "How do tides work?"}, {Text: "Last one, without a newline"}},
			runlog.DatasetCount{Prompts: 4, Passes: 1, Skipped: 1},
		},
		"a length of the user's, and bounds": {
			Config{Kind: OpenQA, Path: "testdata/open_qa.jsonl", DisableShuffle: true, OutputLen: 7, MinPromptLength: 11, MaxPromptLength: 20},
			[]Prompt{{Text: "How do tides work?", MaxTokens: 7}},
			runlog.DatasetCount{Prompts: 2, Passes: 1, Skipped: 2, TooLong: 1},
		},
		"custom on the chat API": {
			Config{Kind: Custom, Path: "testdata/custom.jsonl", DisableShuffle: true},
			[]Prompt{
				{Text: "Plain", MaxTokens: 12},
				{Text: "As vLLM writes it", MaxTokens: 34},
				{Messages: []openai.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hello"}}, MaxTokens: 5},
				{Messages: []openai.Message{{Role: "user", Content: "Both, as chat"}}},
				{Text: "Null is none"},
			},
			runlog.DatasetCount{Prompts: 6, Passes: 1},
		},
		"sharegpt, estimated": {
			Config{Kind: ShareGPT, Path: "testdata/sharegpt.json", DisableShuffle: true},
			[]Prompt{
				{Text: "The first question of these", MaxTokens: 9, Estimated: true},
				{Text: "The second question of these", MaxTokens: 6, Estimated: true},
			},
			runlog.DatasetCount{Prompts: 3, Passes: 1, Skipped: 4, Estimated: 3},
		},
		"sharegpt, with a length of the user's": {
			Config{Kind: ShareGPT, Path: "testdata/sharegpt.json", DisableShuffle: true, OutputLen: 2},
			[]Prompt{
				{Text: "The first question of these", MaxTokens: 2},
				{Text: "The second question of these", MaxTokens: 2},
				{Text: "A question with a short answer", MaxTokens: 2},
			},
			runlog.DatasetCount{Prompts: 4, Passes: 1, Skipped: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, tt.cfg)
			got := take(t, s, len(tt.want)+1) // the file is begun again
			if diff := cmp.Diff(append(tt.want, tt.want[0]), got); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.count, s.Count()); diff != "" {
				t.Errorf("count (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(runlog.DatasetCount{}, s.Count()); diff != "" {
				t.Errorf("count since (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKindsByLook: a file without a name for its kind is told by its first record.
func TestKindsByLook(t *testing.T) {
	for path, want := range map[string]Kind{
		"testdata/open_qa.jsonl": OpenQA, "testdata/sharegpt.json": ShareGPT, "testdata/custom.jsonl": Custom, "testdata/mooncake.jsonl": Replay,
	} {
		if got, err := Detect(path); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
	if _, err := Detect(write(t, "a.jsonl", `{"text":"?"}`)); err == nil || !strings.Contains(err.Error(), "say which of") {
		t.Errorf("a file of no kind: %v", err)
	}
	text := write(t, "a.txt", "hello\n")
	if _, err := Detect(text); err == nil || !strings.Contains(err.Error(), text+`: record 1 is no JSON object such as {"question": "…"}: invalid`) {
		t.Errorf("a text file: %v", err)
	}
	for _, k := range kinds {
		if got, err := ParseKind(string(k.name)); got != k.name || err != nil {
			t.Errorf("%s: %s %v", k.name, got, err)
		}
	}
	if _, err := ParseKind("hf"); err == nil || !strings.Contains(err.Error(), "sharegpt") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// TestUnreadableFiles: what is wrong is said with the record's number.
func TestUnreadableFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":    "it is empty",
		" \n": "it is empty",
		`{"question":"a"}` + "\n" + `{"question":7}`:   `as openqa: record 2 is no JSON object such as {"question": "…"}: json: cannot unmarshal number`,
		`{"question":"a"}` + "\n" + `{"question":"b"`:  "unexpected EOF",
		`[{"question":"a"},{"question":"b"}`:           "after record 2",
		`{"answer":"a"}`:                               "no record of data set",
		"question,answer\n":                            `record 1 is no JSON object such as {"question": "…"}: invalid character`,
		`{"question":" "}`:                             "no record of data set",
		`{"question":"a"}` + "\n" + `not JSON at all:`: "record 2 is no JSON object",
	} {
		path := write(t, "a.jsonl", text)
		s, err := Open(Config{Kind: OpenQA, Path: path})
		if err == nil {
			_, err = s.Next(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for name, path := range map[string]string{"no file": "testdata/none", "a folder": "testdata"} {
		if _, err := Open(Config{Kind: OpenQA, Path: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// numbered is a file of so many prompts, by their numbers.
func numbered(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	for i := range n {
		text.WriteString(`{"prompt":"` + strings.Repeat("x", i+1) + `"}` + "\n")
	}
	return write(t, "a.jsonl", text.String())
}

// Records are shuffled as the seed says, and as vLLM does; each comes once a pass.
func TestShuffle(t *testing.T) {
	const n = 40
	path := numbered(t, n)
	order := func(cfg Config) []string {
		cfg.Kind, cfg.Path = Custom, path
		return texts(take(t, open(t, cfg), n))
	}
	file, one, two := order(Config{DisableShuffle: true}), order(Config{Seed: 1}), order(Config{Seed: 2})
	if !cmp.Equal(one, order(Config{Seed: 1})) || cmp.Equal(one, two) || cmp.Equal(one, file) {
		t.Errorf("orders %v and %v", one, two)
	}
	seen := map[string]int{}
	for _, text := range one {
		seen[text]++
	}
	if len(seen) != n {
		t.Errorf("%d records of %d came in a pass", len(seen), n)
	}
}

// A later step has the file's prompts behind a word of its own.
func TestStepsOfAFile(t *testing.T) {
	path := numbered(t, 3)
	prompts := func(step int) []string {
		return texts(take(t, open(t, Config{Kind: Custom, Path: path, Seed: 3, Step: step}), 3))
	}
	verbatim := prompts(0)
	seen := map[string]bool{}
	for _, step := range []int{1, 2, 3, -1, -4} {
		for i, text := range prompts(step) {
			word, rest, _ := strings.Cut(text, " ")
			if rest != verbatim[i] || seen[word+rest] {
				t.Errorf("step %d: prompt %q, seen before or not of %q", step, text, verbatim[i])
			}
			seen[word+rest] = true
		}
	}
	chat := Config{Kind: Custom, Path: "testdata/custom.jsonl", DisableShuffle: true}
	var err error
	if chat.Records, err = Read(chat); err != nil {
		t.Fatal(err)
	}
	first := take(t, open(t, chat), 3)[2].Messages
	chat.Step = 1
	second := take(t, open(t, chat), 3)[2].Messages
	if first[0].Content != "Be brief." || !strings.HasSuffix(second[0].Content, " Be brief.") || second[1].Content != "Hello" {
		t.Errorf("conversation %v, and in the next step %v", first, second)
	}
}

// counting takes each word for a token, and fails from a call on.
type counting struct{ calls, fails int }

func (c *counting) tokens(_ context.Context, text string) (int, bool) {
	c.calls++
	return len(strings.Fields(text)), c.fails == 0 || c.calls < c.fails
}

// Lengths of ShareGPT are the server's, by vLLM's bounds, and asked for once in all steps; a
// server that does not count is asked once.
func TestShareGPTIsCounted(t *testing.T) {
	record := func(question, answer int) string {
		words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
		return `{"conversations":[{"from":"human","value":"` + words(question) + `"},{"from":"gpt","value":"` + words(answer) + `"}]}`
	}
	path := write(t, "a.jsonl", strings.Join([]string{
		record(4, 4), record(3, 9), record(9, 3), record(1024, 1024), record(1025, 9), record(1024, 1025), record(5, 2043),
	}, "\n"))
	server, silent := new(counting), &counting{fails: 1}
	cfg := Config{Kind: ShareGPT, Path: path, DisableShuffle: true, Tokenizer: server.tokens}
	cfg.Records, _ = Read(cfg)
	var got [][2]int
	for range 2 {
		for _, p := range take(t, open(t, cfg), 3) {
			got = append(got, [2]int{len(strings.Fields(p.Text)), p.MaxTokens})
		}
	}
	want := [][2]int{{4, 4}, {1024, 1024}, {5, 2043}}
	if diff := cmp.Diff(append(want, want...), got); diff != "" || server.calls != 14 {
		t.Errorf("%d texts of 14 were counted; words of questions and answers (-want +got):\n%s", server.calls, diff)
	}
	cfg.Tokenizer, cfg.Records = silent.tokens, nil
	s := open(t, cfg)
	take(t, s, 2)
	if c := s.Count(); silent.calls != 1 || c.Estimated != 2 {
		t.Errorf("asked %d times, %d estimated", silent.calls, c.Estimated)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, cfg := range []Config{
		{Kind: Random, InputLen: 9, OutputLen: 9},
		{Kind: OpenQA, Path: "testdata/open_qa.jsonl"},
		{Kind: Replay, Path: "testdata/mooncake.jsonl", Trace: Trace{Second: 1, Block: 16}},
	} {
		if _, err := open(t, cfg).Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", cfg.Kind, err)
		}
	}
}

func TestSettings(t *testing.T) {
	for want, cfg := range map[string]Config{
		"unknown data set":    {Kind: "hf"},
		"needs a file":        {Kind: OpenQA},
		"the completions API": {Kind: Random, InputLen: 9, OutputLen: 9, TokenIDs: true},
		"prefix length, -1,":  {Kind: Random, InputLen: 9, OutputLen: 9, PrefixLen: -1},

		"random needs an input and an output length":                       {Kind: Random, OutputLen: 9},
		"prefix_repetition needs an input and an output length":            {Kind: Prefix, PrefixLen: 9, NumPrefixes: 9},
		"record 3: messages need the chat API: give --backend openai-chat": {Kind: Custom, Path: "testdata/custom.jsonl", API: openai.Completions},
	} {
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", cfg, err, want)
		}
	}
}
