package dataset

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestReplayOfPrompts(t *testing.T) {
	s := open(t, verbatim(Replay, "testdata/trace.jsonl"))
	want := []Prompt{
		{Text: "At once", MaxTokens: 10},
		{Messages: []openai.Message{{Role: "user", Content: "Later"}}, At: 1250 * time.Millisecond},
	}
	if diff := cmp.Diff(want, take(t, s, 5)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v behind the end, want io.EOF again", err)
	}
	if diff := cmp.Diff(runlog.DatasetCount{Prompts: 2}, s.Count()); diff != "" {
		t.Error(diff)
	}
}

// Equal block ids become equal tokens, others differ; due times begin at 0.
func TestReplayOfBlocks(t *testing.T) {
	cfg := Config{Kind: Replay, Path: "testdata/mooncake.jsonl", API: openai.Completions, RunID: "r"}
	s := open(t, cfg)
	p := take(t, s, 9)
	type shape struct {
		At       time.Duration
		In, Most int
	}
	var got []shape
	for _, p := range p {
		if len(p.Tokens) != p.ExpectedTokens {
			t.Fatalf("told %d tokens, has %d", p.ExpectedTokens, len(p.Tokens))
		}
		got = append(got, shape{p.At, len(p.Tokens), p.MaxTokens})
	}
	want := []shape{{0, 1100, 52}, {0, 600, 7}, {2518500 * time.Microsecond, 530, 1}, {3518 * time.Millisecond, 100, 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
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
	wantCount := runlog.DatasetCount{Prompts: 4, BadLine: 4, FirstBad: []string{
		`line 4: "timestamp" 30000 goes back behind 30000.5`,
		`line 5: "input_length" is 0, must be a whole number from 1 to 1048576`,
		`line 6: "timestamp" 1e+15 is more than 8784h0m0s after the first, 27482, counted in units of 0.001 s`,
		`line 7: no "timestamp"`,
	}}
	if diff := cmp.Diff(wantCount, s.Count()); diff != "" {
		t.Error(diff)
	}
}

func TestReplayOfBlocksAsText(t *testing.T) {
	p := take(t, open(t, verbatim(Replay, "testdata/mooncake.jsonl")), 2)
	a, b := strings.Fields(p[0].Text), strings.Fields(p[1].Text)
	if len(a) != 1100 || len(b) != 600 || !slices.Equal(a[:512], b[:512]) || slices.Equal(a[512:600], b[512:]) {
		t.Errorf("got %d and %d words, want 1100 and 600 of which the first 512 are shared", len(a), len(b))
	}
}

func TestReplayRecordErrors(t *testing.T) {
	for record, want := range map[string]string{
		`{"timestamp":"soon","prompt":"a"}`:                                   `"timestamp" is of type string, must be a number that fits`,
		`{"timestamp":1e999,"prompt":"a"}`:                                    `"timestamp" is of type number, must be a number that fits`,
		`{"timestamp":1,"prompt":5}`:                                          `"prompt" is of type number, must be string`,
		`{"timestamp":1}`:                                                     `neither "prompt" nor "messages"`,
		`{"timestamp":1,"input_length":9e9}`:                                  `"input_length" is 9e+09, must be a whole number from 1 to 1048576`,
		`{"timestamp":1,"input_length":9,"output_length":-1,"hash_ids":[1]}`:  `"output_length" is -1, must be a whole number from 1 to 1048576`,
		`{"timestamp":1,"input_length":9,"output_length":1,"hash_ids":["x"]}`: `"hash_ids" is of type string, must be a number that fits`,
	} {
		if _, err := newReplay(Config{VocabularySize: DefaultVocabulary}).parse([]byte(record)); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", record, err, want)
		}
	}
}

// A trace in another layout: vLLM's timed_trace counts in seconds, has blocks of 16
// tokens, and calls its keys what the command line says.
func TestReplayOfTimedTrace(t *testing.T) {
	path := write(t, "timed.jsonl", `{"ts": 5, "in": 40, "out": 7, "blocks": [1, 2, 3]}
{"ts": 6.5, "in": 32, "out": 9, "blocks": [1, 4]}
`)
	trace := Trace{Second: 1, Block: 16, Timestamp: "ts", InputLength: "in", OutputLength: "out", HashIDs: "blocks"}
	p := take(t, open(t, Config{Kind: Replay, Path: path, API: openai.Completions, ReusePrompts: true, Trace: trace}), 3)
	if len(p) != 2 || p[1].At != 1500*time.Millisecond || len(p[0].Tokens) != 40 || p[0].MaxTokens != 7 || p[1].MaxTokens != 9 {
		t.Fatalf("prompts %+v", p)
	}
	if !slices.Equal(p[0].Tokens[:16], p[1].Tokens[:16]) || slices.Equal(p[0].Tokens[16:32], p[1].Tokens[16:32]) {
		t.Error("blocks of one id differ, or those of two do not")
	}
	for _, refused := range []Trace{{Second: -1}, {Second: math.NaN()}, {Second: math.Inf(1)}, {Block: -1}} {
		if _, err := Open(Config{Kind: Replay, Path: path, ReusePrompts: true, Trace: refused}); err == nil {
			t.Errorf("%+v is taken", refused)
		}
	}
}
