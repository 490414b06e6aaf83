package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// readAndOpen reads a file and returns its prompts, as a load does.
func readAndOpen(cfg Config) (s Source, err error) {
	if cfg.Records == nil {
		if cfg.Records, err = Read(cfg); err != nil {
			return nil, err
		}
	}
	return Open(cfg)
}

func open(t *testing.T, cfg Config) Source {
	t.Helper()
	s, err := readAndOpen(cfg)
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
			equal(t, "prompts", tt.want, got[:len(tt.want)])
			equal(t, "count", tt.count, s.Count())
			equal(t, "count since", runlog.DatasetCount{}, s.Count())
		})
	}
}

// TestKindsByLook: a file without a name for its kind is told by its first record.
func TestKindsByLook(t *testing.T) {
	const all = "openqa, sharegpt, timed_trace, multi_turn, custom, random, prefix_repetition"
	for path, want := range map[string]Kind{
		"testdata/open_qa.jsonl": OpenQA, "testdata/sharegpt.json": ShareGPT, "testdata/custom.jsonl": Custom, "testdata/mooncake.jsonl": Replay,
	} {
		if got, err := Detect(path); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
	if _, err := Detect(write(t, "a.jsonl", `{"text":"?"}`)); err == nil || !strings.HasSuffix(err.Error(), "its keys do not tell what the data set is: give --dataset-name with "+all) {
		t.Errorf("a file of no kind: %v", err)
	}
	text := write(t, "a.txt", "hello\n")
	if _, err := Detect(text); err == nil || !strings.Contains(err.Error(), text+`: record 1 is no JSON object such as {"question": "…"}: invalid`) {
		t.Errorf("a text file: %v", err)
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
		s, err := readAndOpen(Config{Kind: OpenQA, Path: path})
		if err == nil {
			_, err = s.Next(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for name, path := range map[string]string{"no file": "testdata/none", "a folder": "testdata"} {
		if _, err := readAndOpen(Config{Kind: OpenQA, Path: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files of Windows begin with a mark of their encoding.
func TestByteOrderMarks(t *testing.T) {
	for name, tt := range map[string]struct {
		kind Kind
		text string
	}{
		"a.jsonl": {OpenQA, `{"question":"a"}`},
		"a.json":  {ShareGPT, `[{"conversations":[{"value":"How do tides work?"},{"value":"By the moon's pull."}]}]`},
		"a.csv":   {Replay, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n1,2,3\r\n"},
		"b.jsonl": {Replay, `{"timestamp":1,"input_length":2,"output_length":3}`},
		"c.jsonl": {MultiTurn, `{"session_id":1,"prompt":"a"}`},
	} {
		path := write(t, name, "\ufeff"+tt.text)
		if kind, err := Detect(path); kind != tt.kind || err != nil {
			t.Errorf("%s is %q, error %v, want %s", name, kind, err, tt.kind)
			continue
		}
		if all := take(t, open(t, Config{Kind: tt.kind, Path: path, Trace: Trace{Second: 1}}), 1); len(all) != 1 {
			t.Errorf("%s: %d prompts", name, len(all))
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

// The prompts of a file come again in later steps and passes behind words of their own, so
// that no prompt of a run is one that the server's cache has; the same words for all
// records, as these may share a start.
func TestPromptsOfAFileThatComeAgain(t *testing.T) {
	const records = 20
	path := numbered(t, records)
	seen, starts := map[string]bool{}, map[string]bool{}
	for _, step := range []int{0, 1, 2, 61, 62, 124, -1, -62} {
		s := open(t, Config{Kind: Custom, Path: path, Seed: 3, Step: step})
		for pass := range 70 {
			all := texts(take(t, s, records))
			start := strings.TrimRight(all[0], "x")
			for _, text := range all {
				if seen[text] || strings.TrimRight(text, "x") != start {
					t.Fatalf("step %d, pass %d: prompt %q, sent before or not behind %q", step, pass, text, start)
				}
				seen[text] = true
			}
			if starts[start] || words(start) > 1 && pass == 0 && step < len(Words()) && step >= 0 || words(start) > 2 && pass < len(Words()) {
				t.Fatalf("step %d, pass %d: prompts begin with %q", step, pass, start)
			}
			starts[start] = true
		}
	}
	verbatim := texts(take(t, open(t, Config{Kind: Custom, Path: path, Verbatim: true}), 2*records))
	if !cmp.Equal(verbatim[:records], verbatim[records:]) {
		t.Errorf("asked to be verbatim, they are %q in the second pass", verbatim[records:])
	}
	if !starts[""] || len(starts) != 8*70 {
		t.Errorf("%d starts, and the first prompts verbatim: %t", len(starts), starts[""])
	}
}

// A step's word stands before the system prompt that conversations share, and in none of
// the file's records.
func TestStepsOfConversations(t *testing.T) {
	const system, more = `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"`, `"}]}` + "\n"
	for _, kind := range []Kind{Custom, MultiTurn} {
		cfg := Config{Kind: kind, Path: write(t, "a.jsonl", system+"One"+more+system+"Two"+more+`{"messages":[{"role":"user","content":"Three`+more), DisableShuffle: true}
		var err error
		if cfg.Records, err = Read(cfg); err != nil {
			t.Fatal(err)
		}
		said := func(step int) (all []string) {
			cfg.Step = step
			for _, p := range take(t, open(t, cfg), 3) {
				for _, m := range p.Messages {
					all = append(all, m.Content)
				}
				for _, turn := range p.Turns {
					all = append(all, turn.Content)
				}
			}
			return all
		}
		verbatim := []string{"Be brief.", "One", "Be brief.", "Two", "Three"}
		equal(t, fmt.Sprintf("%s: step 2", kind), []string{"and Be brief.", "One", "and Be brief.", "Two", "and Three"}, said(2))
		equal(t, fmt.Sprintf("%s: step 0, behind step 2", kind), verbatim, said(0))
	}
}

// inWords takes each word for a token.
func inWords(_ context.Context, text string) (int, bool) { return words(text), true }

// Lengths of ShareGPT are the server's, by vLLM's bounds, and estimated where it does not count.
func TestShareGPTIsCounted(t *testing.T) {
	record := func(question, answer int) string {
		said := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
		return `{"conversations":[{"from":"human","value":"` + said(question) + `"},{"from":"gpt","value":"` + said(answer) + `"}]}`
	}
	path := write(t, "a.jsonl", strings.Join([]string{
		record(4, 4), record(3, 9), record(9, 3), record(1024, 1024), record(1025, 9), record(1024, 1025), record(5, 2043),
	}, "\n"))
	cfg := Config{Kind: ShareGPT, Path: path, DisableShuffle: true, Tokenizer: inWords}
	var got [][2]int
	for _, p := range take(t, open(t, cfg), 3) {
		got = append(got, [2]int{words(p.Text), p.MaxTokens})
	}
	equal(t, "words of questions and answers", [][2]int{{4, 4}, {1024, 1024}, {5, 2043}}, got)
	cfg.Tokenizer = func(context.Context, string) (int, bool) { return 0, false }
	s := open(t, cfg)
	take(t, s, 2)
	if c := s.Count(); c.Estimated != 2 {
		t.Errorf("%d estimated, want 2", c.Estimated)
	}
}

// What a cache can hold of a file's prompts is known where the server counts: the system
// prompt that conversations share, and all of what is sent again verbatim.
func TestStartsOfAFilesPrompts(t *testing.T) {
	const system, user = `{"messages":[{"role":"system","content":"You are a brief assistant."},{"role":"user","content":"`, `{"messages":[{"role":"user","content":"`
	conversations := write(t, "a.jsonl", system+`How do tides work?"}]}`+system+`And the winds?"},{"role":"assistant","content":"A"},{"role":"user","content":"Why?"}]}`+user+`How do tides work?"}]}`)
	questions := write(t, "b.jsonl", `{"question":"How do tides work?"}{"question":"And the winds?"}`)
	for name, tt := range map[string]struct {
		cfg  Config
		take int
		want [][]int // tokens of each prompt's starts
		sent []int   // of these, in a prompt before
	}{
		"conversations": {Config{Kind: MultiTurn, Path: conversations}, 3, [][]int{{5, 9}, {5, 8}, {4}}, []int{0, 5, 0}},
		"conversations in a later step, in two passes": {
			Config{Kind: MultiTurn, Path: conversations, Step: 1}, 6, [][]int{{6, 10}, {6, 9}, {5}, {7, 11}, {7, 10}, {6}}, []int{0, 6, 0, 0, 7, 0},
		},
		"conversations verbatim": {
			Config{Kind: MultiTurn, Path: conversations, Verbatim: true}, 6, [][]int{{5, 9}, {5, 8}, {4}, {5, 9}, {5, 8}, {4}}, []int{0, 5, 0, 9, 8, 4},
		},
		"questions":          {Config{Kind: OpenQA, Path: questions}, 4, [][]int{nil, nil, nil, nil}, []int{0, 0, 0, 0}},
		"questions verbatim": {Config{Kind: OpenQA, Path: questions, Verbatim: true}, 4, [][]int{{4}, {3}, {4}, {3}}, []int{0, 0, 4, 3}},
		"messages verbatim":  {Config{Kind: Custom, Path: conversations, Verbatim: true}, 4, [][]int{{5, 9}, {5, 8, 9, 10}, {4}, {5, 9}}, []int{0, 5, 0, 9}},
	} {
		tt.cfg.DisableShuffle, tt.cfg.Tokenizer = true, inWords
		seen, s := map[uint64]bool{}, open(t, tt.cfg)
		var starts [][]int
		var sent []int
		for _, p := range take(t, s, tt.take) {
			var tokens []int
			before := 0
			for _, start := range p.Shared {
				if tokens = append(tokens, start.Tokens); seen[start.ID] {
					before = start.Tokens
				}
				seen[start.ID] = true
			}
			starts, sent = append(starts, tokens), append(sent, before)
		}
		if diff := cmp.Diff(tt.want, starts) + cmp.Diff(tt.sent, sent); diff != "" || s.Count().SharedUnknown != 0 {
			t.Errorf("%s: tokens of the starts, and of these in prompts before (-want +got):\n%s", name, diff)
		}
		tt.cfg.Tokenizer = nil
		s = open(t, tt.cfg)
		want := tt.take
		if tt.want[0] == nil {
			want = 0
		}
		if all := take(t, s, tt.take); all[0].Shared != nil || s.Count().SharedUnknown != want {
			t.Errorf("%s: a server that does not count: starts %v, want %d that are not known", name, all[0].Shared, want)
		}
	}
}

// With vLLM's --no-oversample a file is sent once.
func TestNoOversample(t *testing.T) {
	for _, step := range []int{0, 1} {
		s := open(t, Config{Kind: OpenQA, Path: "testdata/open_qa.jsonl", NoOversample: true, Step: step})
		if all := take(t, s, 9); len(all) != 3 || s.Count().Passes != 0 {
			t.Errorf("%d prompts, want 3", len(all))
		}
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

// equal fails the test where two values differ.
func equal(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
