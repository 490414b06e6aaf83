package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

func TestRandomTokens(t *testing.T) {
	s := open(t, Config{Kind: Random, API: openai.Completions, RunID: "r", InputLen: 100, OutputLen: 40, RangeRatio: 0.25, VocabularySize: 5000})
	prompts := take(t, s, 2000)
	in, out := map[int]int{}, map[int]int{}
	for _, p := range prompts {
		if len(p.Tokens) != p.ExpectedTokens || p.Text != "" || p.Messages != nil {
			t.Fatalf("got %d tokens, %d expected", len(p.Tokens), p.ExpectedTokens)
		}
		if low, high := slices.Min(p.Tokens), slices.Max(p.Tokens); low < 1000 || high > 4999 {
			t.Fatalf("token ids from %d to %d, want 1000 to 4999", low, high)
		}
		in[p.ExpectedTokens]++
		out[p.MaxTokens]++
	}
	// Each of the 51 and 21 lengths comes about 39 and 95 times: all of them do.
	for length, counts := range map[int]map[int]int{100: in, 40: out} {
		low, high := length*3/4, length*5/4
		for n := range counts {
			if n < low || n > high {
				t.Errorf("length %d is outside %d to %d", n, low, high)
			}
		}
		if len(counts) != high-low+1 {
			t.Errorf("got %d lengths around %d, want all of %d to %d", len(counts), length, low, high)
		}
	}
}

func TestDefaultsAreThoseOfVLLM(t *testing.T) {
	for kind, want := range map[Kind][2]int{Random: {1024, 128}, Prefix: {512, 128}} {
		p := take(t, open(t, Config{Kind: kind, API: openai.Completions, RunID: "r"}), 1)[0]
		if got := [2]int{p.ExpectedTokens, p.MaxTokens}; got != want {
			t.Errorf("%s: got %v tokens in and out, want %v", kind, got, want)
		}
	}
}

func TestPrefixes(t *testing.T) {
	s := open(t, Config{Kind: Prefix, API: openai.Completions, RunID: "r", NumPrefixes: 4, PrefixLen: 50, SuffixLen: 30, OutputLen: 9})
	prompts := take(t, s, 40)
	prefixes, suffixes := map[string]int{}, map[string]int{}
	var inTurn []string
	for _, p := range prompts {
		if len(p.Tokens) != 80 || p.MaxTokens != 9 {
			t.Fatalf("got %d tokens, %d to answer, want 80 and 9", len(p.Tokens), p.MaxTokens)
		}
		prefix := fmt.Sprint(p.Tokens[:50])
		inTurn = append(inTurn, prefix)
		prefixes[prefix]++
		suffixes[fmt.Sprint(p.Tokens[50:])]++
	}
	if len(prefixes) != 4 || len(suffixes) != 40 {
		t.Errorf("got %d prefixes and %d suffixes, want 4 and 40", len(prefixes), len(suffixes))
	}
	for _, n := range prefixes {
		if n != 10 {
			t.Errorf("a prefix came %d times of 40, want 10", n)
		}
	}
	if slices.Equal(inTurn[:20], inTurn[20:]) {
		t.Error("prefixes come in an order that repeats itself")
	}
}

func TestRandomPrefixIsShared(t *testing.T) {
	s := open(t, Config{Kind: Random, API: openai.Completions, RunID: "r", InputLen: 10, PrefixLen: 20})
	a, b := take(t, s, 1)[0], take(t, s, 1)[0]
	if len(a.Tokens) != 30 || !slices.Equal(a.Tokens[:20], b.Tokens[:20]) || slices.Equal(a.Tokens[20:], b.Tokens[20:]) {
		t.Errorf("want 20 tokens shared and 10 not:\n%v\n%v", a.Tokens, b.Tokens)
	}
}

// The server's own count of a made text is what was asked for, although its
// tokenizer reads other tokens than it wrote.
func TestExactTextThroughTokenizer(t *testing.T) {
	for _, cfg := range []Config{
		{Kind: Random, InputLen: 1},
		{Kind: Random, InputLen: 2},
		{Kind: Random, InputLen: 500, RangeRatio: 0.9},
		{Kind: Random, InputLen: 64, PrefixLen: 64},
		{Kind: Prefix, NumPrefixes: 3},
	} {
		tok := &merging{}
		cfg.RunID, cfg.Tokenizer = "r", tok
		const n = 50
		for _, p := range take(t, open(t, cfg), n) {
			calls := tok.calls
			tokens, _ := tok.Tokenize(t.Context(), p.Text)
			tok.calls = calls
			if len(tokens) != p.ExpectedTokens {
				t.Fatalf("%+v: told %d tokens, has %d", cfg, p.ExpectedTokens, len(tokens))
			}
			if want := cfg.InputLen + cfg.PrefixLen; cfg.Kind == Random && cfg.RangeRatio == 0 && len(tokens) != want {
				t.Errorf("%+v: got %d tokens, want %d", cfg, len(tokens), want)
			}
			if cfg.Kind == Prefix && len(tokens) != 512 {
				t.Errorf("got %d tokens, want 512", len(tokens))
			}
		}
		if tok.calls > 6*n {
			t.Errorf("%+v: the server was asked %d times for %d prompts", cfg, tok.calls, n)
		}
	}
}

func TestTokenizerThatNeverAgrees(t *testing.T) {
	tok := &miscounting{want: 30}
	p := take(t, open(t, Config{Kind: Random, InputLen: 30, RunID: "r", Tokenizer: tok}), 1)[0]
	if p.ExpectedTokens != 31 || p.AimedTokens != 30 || p.Text == "" {
		t.Errorf("got %d tokens expected, want the 31 that the server counts", p.ExpectedTokens)
	}
	if tok.calls > 2*maxFits {
		t.Errorf("the server was asked %d times for one prompt", tok.calls)
	}
}

type broken struct{ merging }

func (broken) Tokenize(context.Context, string) ([]int32, error) { return nil, errors.New("http 404") }

func TestServerThatDoesNotTokenize(t *testing.T) {
	s := open(t, Config{Kind: Random, RunID: "r", Tokenizer: &broken{}})
	_, err := s.Next(t.Context())
	if err == nil || err.Error() != "counting the tokens of a text: http 404" {
		t.Errorf("got %v, want what the server said", err)
	}
}

func TestWordsWithoutTokenizer(t *testing.T) {
	for _, tc := range []struct {
		cfg   Config
		aimed int
		words []int // of the first prompts
	}{
		{Config{Kind: Random, InputLen: 300}, 300, []int{300}},
		{Config{Kind: Random, InputLen: 300, TokensPerWord: 1.5}, 300, []int{200}},
		{Config{Kind: Random, InputLen: 1, TokensPerWord: 8}, 1, []int{1}},
		{Config{Kind: Random, InputLen: 30, PrefixLen: 10, TokensPerWord: 0.5}, 40, []int{80}},
		{Config{Kind: Prefix, NumPrefixes: 2, PrefixLen: 12, SuffixLen: 4, TokensPerWord: 2}, 16, []int{8, 8, 8}},
		{Config{Kind: Replay, Path: "testdata/mooncake.jsonl", TokensPerWord: 2}, 0, nil},
	} {
		tc.cfg.RunID = "r"
		for i, p := range take(t, open(t, tc.cfg), max(1, len(tc.words))) {
			n := len(strings.Fields(p.Text))
			if tc.words == nil && (p.AimedTokens == 0 || n-1 != (p.AimedTokens+1)/2) { // and a nonce
				t.Errorf("a replay has %d words for %d tokens, want half as many", n, p.AimedTokens)
			}
			if tc.words != nil && (n != tc.words[i] || p.AimedTokens != tc.aimed) || p.ExpectedTokens != 0 {
				t.Errorf("%+v: %d words for %d tokens, %d expected; want %d words and no promise", tc.cfg, n, p.AimedTokens, p.ExpectedTokens, tc.words)
			}
		}
	}
}

// One seed makes the same prompts in every step and run but for the nonce, which
// no two prompts share; ReusePrompts makes them the same altogether.
func TestSeedAndNonce(t *testing.T) {
	const n = 30
	all := map[string]Config{
		"openqa":        {Kind: OpenQA, Path: "testdata/open_qa.jsonl"},
		"messages":      {Kind: Custom, Path: "testdata/custom.jsonl"},
		"tokens":        {Kind: Random, API: openai.Completions, InputLen: 64, RangeRatio: 0.5},
		"words":         {Kind: Random, InputLen: 64, RangeRatio: 0.5},
		"prefix":        {Kind: Prefix, API: openai.Completions, NumPrefixes: 3},
		"trace":         {Kind: Replay, Path: "testdata/trace.jsonl"},
		"trace, tokens": {Kind: Replay, API: openai.Completions, Path: "testdata/mooncake.jsonl"},
		"trace, words":  {Kind: Replay, Path: "testdata/mooncake.jsonl"},
	}
	for name, cfg := range all {
		t.Run(name, func(t *testing.T) {
			cfg.Seed = 11
			prompts := func(runID string, step int, reuse bool) []Prompt {
				cfg := cfg
				cfg.RunID, cfg.Step, cfg.ReusePrompts = runID, step, reuse
				return take(t, open(t, cfg), n)
			}
			plain := prompts("", 0, true)
			if diff := cmp.Diff(plain, prompts("other", 3, true)); diff != "" {
				t.Errorf("reused prompts differ:\n%s", diff)
			}
			if diff := cmp.Diff(prompts("a", 1, false), prompts("a", 1, false)); diff != "" {
				t.Errorf("the same run, step and seed differ:\n%s", diff)
			}
			heads := map[string]int{}
			sources := [][]Prompt{prompts("a", 0, false), prompts("a", 1, false), prompts("b", 0, false)}
			for _, got := range sources {
				in := map[string]bool{}
				for i, p := range got {
					head, ok := nonceOf(p, plain[i])
					if !ok {
						t.Fatalf("prompt %d differs by more than a nonce:\n%v\n%v", i, p, plain[i])
					}
					in[head] = true
				}
				for head := range in {
					heads[head]++
				}
			}
			for head, times := range heads {
				if times > 1 {
					t.Errorf("%d of 3 steps begin a prompt with %s", times, head)
				}
			}
			shared := strings.HasPrefix(name, "trace") || name == "prefix"
			if !shared && len(heads) != 3*n {
				t.Errorf("got %d beginnings of %d prompts", len(heads), 3*n)
			}
		})
	}
	cfg := all["tokens"]
	cfg.ReusePrompts = true
	a := take(t, open(t, cfg), 1)
	cfg.Seed++
	if cmp.Equal(a, take(t, open(t, cfg), 1)) {
		t.Error("another seed makes the same prompts")
	}
}

// nonceOf returns what p begins with in place of plain, and whether all else is
// the same. It is short enough for any server's cache block of 16 tokens.
func nonceOf(p, plain Prompt) (string, bool) {
	var nonce string
	switch {
	case p.Tokens != nil:
		nonce = fmt.Sprint(p.Tokens[:3])
		copy(p.Tokens, plain.Tokens[:3])
	case strings.Contains(p.Text, "\n"):
		nonce, p.Text, _ = strings.Cut(p.Text, "\n")
	case p.Messages != nil:
		p.Messages = slices.Clone(p.Messages)
		nonce, p.Messages[0].Content, _ = strings.Cut(p.Messages[0].Content, "\n")
	default:
		words, same := strings.Fields(p.Text), strings.Fields(plain.Text)
		nonce = strings.Join(words[:7], " ")
		p.Text = strings.Join(append(same[:7:7], words[7:]...), " ")
	}
	return nonce, cmp.Equal(p, plain)
}

// A nonce comes once in a step, however many requests it has.
func TestNoncesDiffer(t *testing.T) {
	seen := make(map[uint64]bool)
	for step := range 4 {
		nonces := newNonces("run", step)
		for i := range uint64(100_000) {
			n := nonces.at(i)
			if n > nonceMask || seen[n] {
				t.Fatalf("step %d: nonce %d, %x, came before or is too long", step, i, n)
			}
			seen[n] = true
		}
	}
}
