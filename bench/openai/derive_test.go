package openai

import (
	"testing"
	"time"
)

// figures are all that is derived from a Trace; -1 stands for no sample.
type figures struct {
	TTFT, Answer, TPOT, E2E time.Duration
	ITLs                    []time.Duration
	Tokens                  int
	Source                  TokenSource
}

func figuresOf(t *Trace) figures {
	sample := func(d time.Duration, ok bool) time.Duration {
		if !ok {
			return -1
		}
		return d
	}
	f := figures{
		TTFT: sample(TTFT(t)), Answer: sample(FirstAnswer(t)), TPOT: sample(TPOT(t)), E2E: sample(E2E(t)),
		ITLs: ITLs(t),
	}
	f.Tokens, f.Source = OutputTokens(t)
	return f
}

func TestDerivations(t *testing.T) {
	chunks := []Chunk{{At: 100, Tokens: 1, Reasoning: true}, {At: 160, Tokens: 3}, {At: 170}}
	full := func(change func(*Trace)) *Trace {
		tr := &Trace{
			Chunks: chunks, FirstEvent: 50, Events: 5, End: 200,
			Usage: &Usage{PromptTokens: 9, CompletionTokens: 8}, TokenSource: TokensUsage,
		}
		change(tr)
		return tr
	}
	ok := figures{
		TTFT: 100, Answer: 160, TPOT: 10, E2E: 170, ITLs: []time.Duration{60, 10},
		Tokens: 8, Source: TokensUsage,
	}
	but := func(change func(*figures)) figures {
		f := ok
		change(&f)
		return f
	}
	seenOnly := but(func(f *figures) { f.TPOT, f.E2E = -1, -1 })
	nothing := figures{TTFT: -1, Answer: -1, TPOT: -1, E2E: -1, Tokens: 8, Source: TokensUsage}
	tests := map[string]struct {
		trace *Trace
		want  figures
	}{
		"success": {full(func(*Trace) {}), ok},
		"no usage": {
			full(func(t *Trace) { t.Usage, t.TokenSource = nil, TokensChunks }),
			but(func(f *figures) { f.TPOT, f.Tokens, f.Source = 35, 3, TokensChunks }),
		},
		"usage of 0 beside text": {
			full(func(t *Trace) { t.Usage = &Usage{PromptTokens: 9} }),
			but(func(f *figures) { f.TPOT, f.Tokens, f.Source = 35, 3, TokensChunks }),
		},
		"one token": {
			full(func(t *Trace) { t.Usage.CompletionTokens = 1 }),
			but(func(f *figures) { f.TPOT, f.Tokens = -1, 1 }),
		},
		"two tokens": {
			full(func(t *Trace) { t.Usage.CompletionTokens = 2 }),
			but(func(f *figures) { f.TPOT, f.Tokens = 70, 2 }),
		},
		"all chunks at one instant": {
			full(func(t *Trace) { t.Chunks = []Chunk{{At: 160}, {At: 160}} }),
			figures{TTFT: 160, Answer: 160, TPOT: -1, E2E: 160, ITLs: []time.Duration{0}, Tokens: 8, Source: TokensUsage},
		},
		"all tokens in one chunk": {
			full(func(t *Trace) { t.Chunks = chunks[1:2] }),
			figures{TTFT: 160, Answer: 160, TPOT: -1, E2E: 160, Tokens: 8, Source: TokensUsage},
		},
		"reasoning only": {
			full(func(t *Trace) { t.Chunks = chunks[:1] }),
			figures{TTFT: 100, Answer: -1, TPOT: -1, E2E: 100, Tokens: 8, Source: TokensUsage},
		},
		"a token without text between texts, and one behind": {
			full(func(t *Trace) {
				t.Chunks = []Chunk{{At: 100}, {At: 140, Textless: true}, {At: 160}, {At: 170, Textless: true}}
			}),
			figures{TTFT: 100, Answer: 100, TPOT: 10, E2E: 160, ITLs: []time.Duration{40, 20, 10}, Tokens: 8, Source: TokensUsage},
		},
		"only tokens without text": {full(func(t *Trace) { t.Chunks = nil }), nothing},
		"no text": {
			full(func(t *Trace) { t.Chunks, t.Usage = nil, nil; t.Failure = &Failure{Reason: ReasonEmpty} }),
			figures{TTFT: -1, Answer: -1, TPOT: -1, E2E: -1, Source: TokensChunks},
		},
	}
	for _, r := range Reasons() {
		want := nothing
		if r == ReasonTimeout || r == ReasonStalled {
			want = seenOnly
		}
		tests["failed by "+string(r)] = struct {
			trace *Trace
			want  figures
		}{full(func(t *Trace) { t.Failure = &Failure{Reason: r} }), want}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			equal(t, "figures", tt.want, figuresOf(tt.trace))
			checkDerivations(t, tt.trace)
		})
	}
}

// checkDerivations holds for every Trace.
func checkDerivations(t *testing.T, tr *Trace) {
	t.Helper()
	ttft, okTTFT := TTFT(tr)
	e2e, okE2E := E2E(tr)
	tpot, okTPOT := TPOT(tr)
	sum := time.Duration(0)
	for _, gap := range ITLs(tr) {
		if gap < 0 {
			t.Errorf("a gap of %v", gap)
		}
		sum += gap
	}
	if last := len(tr.Chunks) - 1; okE2E && okTTFT && (ttft+sum < e2e || ttft+sum > e2e && !tr.Chunks[last].Textless) {
		t.Errorf("TTFT %v and gaps of %v do not make E2E %v", ttft, sum, e2e)
	}
	if okE2E && tr.Failure != nil || okTPOT && !okE2E || okE2E && !okTTFT {
		t.Errorf("samples of TTFT %v, TPOT %v, E2E %v with failure %v", okTTFT, okTPOT, okE2E, tr.Failure)
	}
	if n, source := OutputTokens(tr); tr.Failure == nil && n == 0 || tr.TokenSource != "" && source != tr.TokenSource && source != TokensChunks {
		t.Errorf("%d tokens by %s of a Trace that says %s, failure %v", n, source, tr.TokenSource, tr.Failure)
	}
	if tpot < 0 || tpot > sum {
		t.Errorf("TPOT %v outside 0 to %v", tpot, sum)
	}
}
