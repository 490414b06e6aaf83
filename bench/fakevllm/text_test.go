package fakevllm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		" \n\t ":                  nil,
		"one":                     {"one"},
		"  two words\n":           {"two", "words"},
		"punctuation, stays here": {"punctuation,", "stays", "here"},
		"你是谁？":                    {"你", "是", "谁", "？"},
		"用vLLM推理 fast":            {"用", "vLLM", "推", "理", "fast"},
		"全角　空格":                   {"全", "角", "空", "格"},
		"bad\xffbytes":            {"bad\xffbytes"},
	} {
		if diff := cmp.Diff(want, slices.Collect(tokens(text))); diff != "" {
			t.Errorf("tokens of %q: %s", text, diff)
		}
	}
}

// TestAnswerWords: an answer of n words counts n tokens however it is cut into
// chunks, and never needs escaping in JSON.
func TestAnswerWords(t *testing.T) {
	l := newLexicon()
	for _, wide := range []bool{false, true} {
		var text []byte
		for i := range 500 {
			text = l.appendWord(text, 42, i, wide)
			if n := len(slices.Collect(tokens(string(text)))); n != i+1 {
				t.Fatalf("%d words count as %d tokens: %q", i+1, n, text)
			}
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+string(text)+`"`), &back); err != nil || back != string(text) {
			t.Errorf("words do not go into JSON as they are: %v", err)
		}
	}
}

func TestLexiconRoundTrip(t *testing.T) {
	l := newLexicon()
	text := "compare 推理 latency: unheard-of words 用 twice unheard-of"
	var ids []int32
	for token := range tokens(text) {
		ids = append(ids, l.id(token))
	}
	var back []byte
	for i, id := range ids {
		back = l.appendToken(back, l.token(id), i == 0)
	}
	if want := "compare推理 latency: unheard-of words用 twice unheard-of"; string(back) != want {
		t.Errorf("got %q, want %q", back, want)
	}
	for i := range maxLearned + 10 {
		l.id(fmt.Sprint("w", i))
	}
	if id := l.id(strings.Repeat("x", 1000)); len(l.words) > len(l.own)+maxLearned || l.token(id) == "" {
		t.Errorf("%d words learned, id %d of a long word", len(l.words)-len(l.own), id)
	}
	for _, id := range []int32{-1, -1 << 31, 1<<31 - 1} {
		if w := l.token(id); len(slices.Collect(tokens(w))) != 1 {
			t.Errorf("id %d reads as %q", id, w)
		}
	}
}

func TestPrefixCache(t *testing.T) {
	words := func(salt string, n int) *digest {
		d := newDigest(salt)
		for i := range n {
			d.text(fmt.Sprintf("word%d ", i))
		}
		return d
	}
	c := newPrefixCache(4)
	for _, step := range []struct {
		name string
		d    *digest
		want int
	}{
		{"first sight", words("", 40), 0},
		{"again", words("", 40), 32},
		{"longer", words("", 64), 32},
		{"all full blocks, but the last token is computed", words("", 64), 48},
		{"other salt", words("salt", 64), 0},
		{"evicted by it", words("", 64), 0},
		{"too short for a block", words("", 15), 0},
	} {
		if got := c.use(step.d.blocks, step.d.n); got != step.want {
			t.Errorf("%s: %d tokens cached, want %d", step.name, got, step.want)
		}
		if len(c.at) > 4 || len(c.at) != c.order.Len() {
			t.Errorf("%s: %d blocks kept in a cache of 4", step.name, len(c.at))
		}
	}
	c = newPrefixCache(4)
	c.use(words("", 48).blocks, 48)
	c.use(words("x", 32).blocks, 32)
	if got := c.use(words("", 48).blocks, 48); got != 32 {
		t.Errorf("a prompt that lost its last block has %d tokens cached, want 32", got)
	}
}
