package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Lengths are drawn evenly from the whole range, as vLLM does.
func TestRandomLengths(t *testing.T) {
	s := open(t, Config{Kind: Random, API: openai.Completions, TokenIDs: true, InputLen: 100, OutputLen: 40, InputRangeRatio: 0.25, OutputRangeRatio: 0.5})
	in, out := map[int]int{}, map[int]int{}
	for _, p := range take(t, s, 2000) {
		if len(p.Tokens) != p.ExpectedTokens || p.Text != "" || p.AimedTokens != 0 {
			t.Fatalf("%d tokens, %d expected, text %q", len(p.Tokens), p.ExpectedTokens, p.Text)
		}
		if low, high := slices.Min(p.Tokens), slices.Max(p.Tokens); low < 1000 || high > 29999 {
			t.Fatalf("token ids from %d to %d", low, high)
		}
		in[len(p.Tokens)]++
		out[p.MaxTokens]++
	}
	// Each of the 51 and 41 lengths comes about 40 times: all of them do.
	for _, lengths := range []struct {
		got       map[int]int
		low, high int
	}{{in, 75, 125}, {out, 20, 60}} {
		for n := lengths.low; n <= lengths.high; n++ {
			if lengths.got[n] == 0 {
				t.Errorf("length %d of %d to %d never came", n, lengths.low, lengths.high)
			}
		}
		if want := lengths.high - lengths.low + 1; len(lengths.got) != want {
			t.Errorf("%d lengths, want %d", len(lengths.got), want)
		}
	}
}

// Made prompts are text on both APIs, of as many words as the server needs.
func TestRandomWords(t *testing.T) {
	for _, api := range []openai.API{openai.Chat, openai.Completions} {
		p := take(t, open(t, Config{Kind: Random, API: api, InputLen: 60, PrefixLen: 30, OutputLen: 9, TokensPerWord: 1.5}), 2)
		a, b := strings.Fields(p[0].Text), strings.Fields(p[1].Text)
		if len(a) != 60 || p[0].AimedTokens != 90 || p[0].ExpectedTokens != 0 || p[0].Tokens != nil {
			t.Errorf("%s: %d words for %d tokens, %d expected", api, len(a), p[0].AimedTokens, p[0].ExpectedTokens)
		}
		if !slices.Equal(a[:20], b[:20]) || slices.Equal(a[20:], b[20:]) {
			t.Errorf("%s: want 20 words shared and 40 not:\n%v\n%v", api, a, b)
		}
	}
}

// The ids of one text tell which words are one token each: on a server whose vocabulary has
// them all, or some, that puts tokens before a text, or drops the blank before it.
func TestWordsOfOneToken(t *testing.T) {
	all := strings.Fields(VocabularyText())[1:]
	if len(all) < 2*200 {
		t.Fatalf("%d words to choose from", len(all)/2)
	}
	for name, tt := range map[string]struct {
		before []int32 // what the server puts before a text
		parts  func(word string) int
		want   func(word string) bool
	}{
		"all":                      {nil, func(string) int { return 1 }, func(string) bool { return true }},
		"behind tokens of its own": {[]int32{1, 2}, func(string) int { return 1 }, func(string) bool { return true }},
		"some": {
			[]int32{1},
			func(word string) int { return 1 + len(word)/5*2 },
			func(word string) bool { return len(word) < 5 },
		},
		"none": {nil, func(string) int { return 2 }, func(string) bool { return false }},
	} {
		known := map[string]int32{}
		ids := tt.before
		for i, word := range strings.Fields(VocabularyText()) {
			if i == 0 {
				word = "A" // without the blank before it
			}
			for part := range tt.parts(word) {
				name := fmt.Sprint(word, part)
				if known[name] == 0 {
					known[name] = int32(len(known) + 1000)
				}
				ids = append(ids, known[name])
			}
		}
		var want, got []string
		for i := 0; i < len(all); i += 2 {
			if tt.want(all[i]) {
				want = append(want, all[i])
			}
		}
		got = OneTokenWords(ids)
		slices.Reverse(got)
		equal(t, name, want, got)
		if got := OneTokenWords(ids[:len(ids)-1]); got != nil {
			t.Errorf("%s, cut: %v", name, got)
		}
	}
	if got := OneTokenWords(slices.Repeat([]int32{7}, 5000)); got != nil {
		t.Errorf("ids of another text: %v", got)
	}
}

func TestPrefixes(t *testing.T) {
	s := open(t, Config{Kind: Prefix, NumPrefixes: 4, PrefixLen: 50, InputLen: 30, OutputLen: 9})
	prefixes, suffixes := map[string]int{}, map[string]int{}
	var inTurn []string
	for _, p := range take(t, s, 40) {
		words := strings.Fields(p.Text)
		if len(words) != 80 || p.MaxTokens != 9 {
			t.Fatalf("%d words, %d to answer, want 80 and 9", len(words), p.MaxTokens)
		}
		prefix := fmt.Sprint(words[:50])
		inTurn = append(inTurn, prefix)
		prefixes[prefix]++
		suffixes[fmt.Sprint(words[50:])]++
	}
	if len(prefixes) != 4 || len(suffixes) != 40 {
		t.Errorf("%d prefixes and %d suffixes, want 4 and 40", len(prefixes), len(suffixes))
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

// The same seed and step are the same prompts, whatever the prompts before were asked
// to be; another of either is others.
func TestMadePromptsFollowSeedAndStep(t *testing.T) {
	for _, kind := range []Kind{Random, Prefix} {
		of := func(cfg Config) string {
			cfg.Kind, cfg.InputLen, cfg.PrefixLen, cfg.NumPrefixes, cfg.OutputLen = kind, 20, 20, 10, 9
			return strings.Join(texts(take(t, open(t, cfg), 3)), "\n")
		}
		first := of(Config{Seed: 1})
		if of(Config{Seed: 1}) != first {
			t.Errorf("%s: the same seed gives other prompts", kind)
		}
		for _, cfg := range []Config{{Seed: 2}, {Seed: 1, Step: 1}, {Seed: 1, Step: -1}} {
			if of(cfg)[:30] == first[:30] {
				t.Errorf("%s: %+v begins with the same prompt", kind, cfg)
			}
		}
	}
}

// Equal ids of a trace become equal blocks, others differ; due times begin at 0.
func TestTrace(t *testing.T) {
	cfg := Config{
		Kind: Replay, Path: "testdata/mooncake.jsonl", API: openai.Completions, TokenIDs: true,
		Trace: Trace{Second: 0.001, Block: 512},
	}
	s := open(t, cfg)
	p := take(t, s, 9)
	type shape struct {
		At       time.Duration
		In, Most int
	}
	var got []shape
	for _, p := range p {
		got = append(got, shape{p.At, len(p.Tokens), p.MaxTokens})
	}
	want := []shape{{0, 1100, 52}, {0, 600, 7}, {2518500 * time.Microsecond, 530, 1}, {3518 * time.Millisecond, 100, 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("requests (-want +got):\n%s", diff)
	}
	for i, shared := range []int{512, 512, 100} {
		a, b := p[0].Tokens, p[i+1].Tokens
		n := 0
		for n < len(b) && a[n] == b[n] {
			n++
		}
		if n != shared {
			t.Errorf("prompts 0 and %d share %d tokens, want %d", i+1, n, shared)
		}
	}
	if slices.Equal(p[0].Tokens[:16], p[0].Tokens[512:528]) {
		t.Error("two ids of one prompt are equal blocks")
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v behind the end, want io.EOF again", err)
	}
	equal(t, "count", runlog.DatasetCount{Prompts: 4}, s.Count())
	cfg.TokenIDs, cfg.OutputLen = false, 5
	words := take(t, open(t, cfg), 2)
	a, b := strings.Fields(words[0].Text), strings.Fields(words[1].Text)
	if len(a) != 1100 || words[0].MaxTokens != 5 || !slices.Equal(a[:512], b[:512]) || slices.Equal(a[512:600], b[512:]) {
		t.Errorf("as text: %d and %d words, want 1100 and 600 of which the first 512 are shared", len(a), len(b))
	}
}
