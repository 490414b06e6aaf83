package dataset

import (
	"context"
	"strings"
)

// merging is a tokenizer of letters in which, as in real ones, text made of
// tokens is read as other tokens: two equal letters are one token, and é is two.
type merging struct{ calls int }

const (
	half1 = 501 // of é
	half2 = 502
	lone  = 503 // half an é, shown as ?
	pair  = 600 // of the letter a; b is next
	one   = 700 // the letter a; b is next
)

func (m *merging) Detokenize(_ context.Context, tokens []int32) (string, error) {
	m.calls++
	var b strings.Builder
	for i := 0; i < len(tokens); i++ {
		switch id := tokens[i]; {
		case id == half1 && i+1 < len(tokens) && tokens[i+1] == half2:
			b.WriteString("é")
			i++
		case id < pair:
			b.WriteByte('?')
		case id < one:
			b.WriteString(strings.Repeat(string('a'+id-pair), 2))
		case id < FirstToken:
			b.WriteByte(byte('a' + id - one))
		case id%7 == 0:
			b.WriteString("é")
		default:
			b.WriteByte(byte('a' + id%26))
		}
	}
	return b.String(), nil
}

func (m *merging) Tokenize(_ context.Context, text string) ([]int32, error) {
	m.calls++
	var tokens []int32
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == 'é':
			tokens = append(tokens, half1, half2)
		case r == '?':
			tokens = append(tokens, lone)
		case i+1 < len(runes) && runes[i+1] == r:
			tokens = append(tokens, pair+r-'a')
			i++
		default:
			tokens = append(tokens, one+r-'a')
		}
	}
	return tokens, nil
}

// miscounting always reads one token more than there is room for.
type miscounting struct {
	merging
	want int
}

func (m *miscounting) Tokenize(ctx context.Context, text string) ([]int32, error) {
	tokens, err := m.merging.Tokenize(ctx, text)
	for err == nil && len(tokens) <= m.want {
		tokens = append(tokens, lone)
	}
	return tokens[:m.want+1], err
}
