package fakevllm

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// One word is one token: a run of letters between blanks, or a single CJK
// character. What the server writes is made of these words, so that counting
// the words of an answer gives its tokens.
const (
	plainWords = `the a queue fills while cards decode each step adds one token per request and latency grows with load
memory holds keys values pages blocks of every prompt so long answers take more room than short ones when
users arrive faster wait longer until batch has free slot power rises temperature follows fans spin up then
settle again node local access beats remote links carry partial sums between neighbours gradients sleep here
only forward passes run measure first calm second busy compare both trust neither alone`
	wideWords = `模型推理延迟吞吐显存缓存请求排队批次步长温度功率节点链路调度用户负载首字后续均值分位`
)

// lexicon maps tokens to ids and back. The lowest ids are the server's own words;
// other words get an id when they are first met.
type lexicon struct {
	own   []string // plain ones first
	plain int      // how many of own are plain

	mu    sync.Mutex
	words []string // own ones and those learned
	ids   map[string]int32
}

// These bound the words kept for clients; the rest share one id.
const (
	maxLearned    = 1 << 16 // words
	maxLearnedLen = 64      // bytes of one
)

func newLexicon() *lexicon {
	l := &lexicon{ids: map[string]int32{}}
	for _, text := range []string{plainWords, wideWords} {
		l.plain = len(l.words)
		for w := range tokens(text) {
			l.learn(w)
		}
	}
	l.own = slices.Clone(l.words)
	return l
}

func (l *lexicon) learn(token string) int32 {
	id, known := l.ids[token]
	if !known {
		id = int32(len(l.words))
		l.ids[token] = id
		l.words = append(l.words, token)
	}
	return id
}

// id returns the id of a token, learning it if there is room.
func (l *lexicon) id(token string) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok := l.ids[token]; ok {
		return id
	}
	if full := len(l.own) + maxLearned; len(l.words) == full || len(token) > maxLearnedLen {
		return int32(full)
	}
	return l.learn(strings.Clone(token))
}

// token returns the word of an id. An id nobody has learned is read as one of
// the server's words, so that any list of ids makes a text of as many tokens.
func (l *lexicon) token(id int32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id >= 0 && int(id) < len(l.words) {
		return l.words[id]
	}
	return l.own[uint32(id)%uint32(len(l.own))]
}

// appendWord appends the answer's i-th word, with the blank that parts it from
// the one before.
func (l *lexicon) appendWord(dst []byte, seed uint64, i int, wide bool) []byte {
	h := mix(seed + uint64(i))
	n := uint64(len(l.own))
	if wide {
		return append(dst, l.own[l.plain+int(h%(n-uint64(l.plain)))]...)
	}
	return l.appendToken(dst, l.own[h%n], i == 0)
}

func (l *lexicon) appendToken(dst []byte, word string, first bool) []byte {
	if r, _ := utf8.DecodeRuneInString(word); !first && !isWide(r) {
		dst = append(dst, ' ')
	}
	return append(dst, word...)
}

// tokens yields the tokens of a text.
func tokens(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1
		for i, r := range text {
			wide := isWide(r)
			if !wide && !unicode.IsSpace(r) {
				if start < 0 {
					start = i
				}
				continue
			}
			if start >= 0 && !yield(text[start:i]) {
				return
			}
			start = -1
			if wide && !yield(text[i:i+utf8.RuneLen(r)]) {
				return
			}
		}
		if start >= 0 {
			yield(text[start:])
		}
	}
}

// isWide reports whether a character is a token by itself.
func isWide(r rune) bool {
	return r >= 0x2E80 && (r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7AF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFF01 && r <= 0xFFEF || r >= 0x20000 && r <= 0x3FFFF) && r != 0x3000
}

// mix spreads the bits of x (the finisher of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
