package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const noTokens = "http_4xx: status 404"

// counting is a server that takes each word for a token, and may cease to
// tokenize.
type counting struct {
	calls int
	fails int    // from this call on; never when 0
	fail  func() // before an error
	long  int    // bytes of the longest text it was asked for
}

func (c *counting) Tokenize(_ context.Context, text string) ([]int32, error) {
	c.calls++
	c.long = max(c.long, len(text))
	if c.fails > 0 && c.calls >= c.fails {
		if c.fail != nil {
			c.fail()
		}
		return nil, errors.New(noTokens)
	}
	return make([]int32, len(strings.Fields(text))), nil
}

func (c *counting) Detokenize(context.Context, []int32) (string, error) {
	return "", errors.New("not expected")
}

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

// exchanges writes a ShareGPT file of questions and answers.
func exchanges(t *testing.T, texts ...string) string {
	t.Helper()
	type record struct {
		Conversations []turn `json:"conversations"`
	}
	var records []record
	for i := 0; i < len(texts); i += 2 {
		records = append(records, record{[]turn{{"human", &texts[i]}, {"gpt", &texts[i+1]}}})
	}
	text, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "sharegpt.json", string(text))
}

// shape is a prompt by its lengths.
type shape struct {
	Words, MaxTokens int
	Estimated        bool
}

func shapes(prompts []Prompt) []shape {
	shapes := make([]shape, len(prompts))
	for i, p := range prompts {
		shapes[i] = shape{len(strings.Fields(p.Text)), p.MaxTokens, p.Estimated}
	}
	return shapes
}

// The load is vLLM's: answers as long as the data set's own, and the same records
// left out.
func TestShareGPTIsCounted(t *testing.T) {
	cfg := verbatim(ShareGPT, exchanges(t,
		words(4), words(4),
		words(3), words(9),
		words(9), words(3),
		words(1024), words(1024),
		words(1025), words(9),
		words(1024), words(1025),
		words(9), words(2039),
		words(9), words(2040),
	))
	server := &counting{}
	cfg.Tokenizer = server
	s := open(t, cfg)
	want := []shape{{4, 4, false}, {1024, 1024, false}, {9, 2039, false}}
	if diff := cmp.Diff(want, shapes(take(t, s, 3))); diff != "" {
		t.Error(diff)
	}
	take(t, s, 1) // reads the file to its end
	if diff := cmp.Diff(runlog.DatasetCount{Prompts: 4, Passes: 1, Skipped: 5}, s.Count()); diff != "" {
		t.Error(diff)
	}
	// Two for a record, one where the question alone decides.
	if want := 2*8 - 2 + 2; server.calls != want {
		t.Errorf("the server was asked %d times, want %d", server.calls, want)
	}
}

// A length that is asked for is that of every answer: nothing is counted.
func TestShareGPTOfOneLength(t *testing.T) {
	cfg := verbatim(ShareGPT, exchanges(t, words(1), words(9), words(2000), words(9)))
	server := &counting{}
	cfg.Tokenizer, cfg.OutputLen = server, 77
	if diff := cmp.Diff([]shape{{1, 77, false}, {2000, 77, false}}, shapes(take(t, open(t, cfg), 2))); diff != "" {
		t.Error(diff)
	}
	if server.calls != 0 {
		t.Errorf("the server was asked %d times", server.calls)
	}
}

// A server that does not tokenize is asked once, one that ceases to no more: each
// call may take its time to fail.
func TestShareGPTIsEstimated(t *testing.T) {
	path := exchanges(t, words(10), words(20), words(8), words(40), words(2), words(1000), words(12), words(16))
	counted := func(n, most int) shape { return shape{n, most, false} }
	guessed := func(n, most int) shape { return shape{n, most, true} }
	for name, c := range map[string]struct {
		server *counting
		want   []shape
		calls  int
		why    string
	}{
		"no server":                  {want: []shape{guessed(10, 25), guessed(8, 50), guessed(12, 20)}},
		"never":                      {&counting{fails: 1}, []shape{guessed(10, 25), guessed(8, 50), guessed(12, 20)}, 1, noTokens},
		"not for the second answer":  {&counting{fails: 4}, []shape{counted(10, 20), guessed(8, 50), guessed(12, 20)}, 4, noTokens},
		"not for the last question":  {&counting{fails: 6}, []shape{counted(10, 20), counted(8, 40), guessed(12, 20)}, 6, noTokens},
		"all, the third is too long": {&counting{}, []shape{counted(10, 20), counted(8, 40), counted(12, 16)}, 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := verbatim(ShareGPT, path)
			if c.server != nil {
				cfg.Tokenizer = c.server
			}
			s := open(t, cfg)
			if diff := cmp.Diff(c.want, shapes(take(t, s, 3))); diff != "" {
				t.Error(diff)
			}
			if c.server != nil && c.server.calls != c.calls {
				t.Errorf("the server was asked %d times, want %d", c.server.calls, c.calls)
			}
			estimated := 0
			for _, w := range c.want {
				if w.Estimated {
					estimated++
				}
			}
			if told := s.Count(); told.Estimated != estimated || told.EstimatedWhy != c.why {
				t.Errorf("%d lengths are told to be estimated, want %d; the reason is %q, want %q", told.Estimated, estimated, told.EstimatedWhy, c.why)
			}
		})
	}
}

// A run that is withdrawn while the server tokenizes has no server to blame.
func TestShareGPTWithdrawn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := verbatim(ShareGPT, exchanges(t, words(10), words(20)))
	cfg.Tokenizer = &counting{fails: 2, fail: cancel}
	s := open(t, cfg)
	if p, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v, want canceled", p, err)
	}
	if diff := cmp.Diff(runlog.DatasetCount{}, s.Count()); diff != "" {
		t.Error(diff)
	}
}

func TestShareGPTAsksForNoHugeText(t *testing.T) {
	cfg := verbatim(ShareGPT, exchanges(t, words(10), words(1<<19), words(1<<19), words(10), words(5), words(6)))
	server := &counting{}
	cfg.Tokenizer = server
	s := open(t, cfg)
	if diff := cmp.Diff([]shape{{5, 6, false}}, shapes(take(t, s, 1))); diff != "" {
		t.Error(diff)
	}
	if c := s.Count(); c.Skipped != 2 || server.long > maxCounted {
		t.Errorf("%d skipped, %d bytes were asked for", c.Skipped, server.long)
	}
}

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int{
		"":                              0,
		"a":                             1,
		"Four letters make a token.":    7,
		"为什么天空是蓝色的？":                    7,
		"GPU 显存带宽":                      4,
		strings.Repeat("x", maxCounted): maxCounted / 4,
	} {
		if got := estimate(text); got != want {
			t.Errorf("%.20q: %d tokens, want %d", text, got, want)
		}
	}
	// What is not counted for its size is over the bounds in any script.
	for _, r := range []string{"x", "é", "字", "🙂"} {
		if n := estimate(strings.Repeat(r, maxCounted/len(r))); n <= maxExchange {
			t.Errorf("%s: %d bytes are %d tokens", r, maxCounted, n)
		}
	}
}
