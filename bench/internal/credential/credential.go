// Package credential keeps what was sent as a credential from being repeated: an
// endpoint may say back what it got, in the spelling of whatever stands between.
package credential

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"iter"
	"slices"
	"strings"
)

// Hidden is shown in place of a text that repeats a credential.
const Hidden = "not shown: it repeats a credential"

const (
	minSecret = 4  // bytes; a shorter value is no secret, and would hide half of all texts
	piece     = 8  // bytes in a row of a longer secret that tell too much of it
	maxRounds = 16 // of escaping, one around the other, that are taken off a text
)

// In reports whether text repeats one of secrets: eight bytes in a row of it, or all of
// one of 4 to 7 bytes. Blanks around a secret are no part of it, and shorter ones are
// none. A repetition is also found behind the escapes of JSON, program text, HTML and
// URLs, one around the other, in quoted-printable and in letters of full width; one of
// eight bytes also in base64, in hexadecimal digits, in other letters of case, and with other marks between its letters and digits. A text that is escaped more
// than 16 times over counts as one. The work grows linearly with text and secrets.
func In(text string, secrets []string) bool {
	secrets = trimmed(secrets)
	if len(secrets) == 0 {
		return false
	}
	forms, plain := spellings(text)
	if !plain {
		return true
	}
	told := pieceSet{all: map[uint64]struct{}{}}
	for _, form := range forms {
		for p := range pieces(form) {
			told.add(p)
		}
	}
	for _, s := range secrets {
		own, _ := spellings(s)
		for _, form := range own {
			if len(form) >= minSecret && len(form) < piece && slices.ContainsFunc(forms, func(f string) bool { return strings.Contains(f, form) }) {
				return true
			}
		}
		for _, form := range append(own, encoded(s)...) {
			for p := range pieces(form) {
				if told.has(p) {
					return true
				}
			}
		}
	}
	return false
}

// pieceSet are the pieces of a text. Most of a secret's are not among them, which a bit
// tells faster than a map: a load test can fail a thousand times a second.
type pieceSet struct {
	bits [1 << 9]uint64
	all  map[uint64]struct{}
}

func (s *pieceSet) add(p uint64) {
	word, bit := place(p)
	s.bits[word] |= bit
	s.all[p] = struct{}{}
}

func (s *pieceSet) has(p uint64) bool {
	word, bit := place(p)
	if s.bits[word]&bit == 0 {
		return false
	}
	_, ok := s.all[p]
	return ok
}

// place is a word and a bit of it for a piece, spread by a multiplication.
func place(p uint64) (word, bit uint64) {
	hash := p * 0x9E3779B97F4A7C15 >> 49
	return hash >> 6, 1 << (hash & 63)
}

// trimmed are the values that are long enough to be secrets, each once.
func trimmed(values []string) []string {
	var secrets []string
	for _, s := range values {
		if s = strings.TrimSpace(s); len(s) >= minSecret && !slices.Contains(secrets, s) {
			secrets = append(secrets, s)
		}
	}
	return secrets
}

// pieces are all bytes in a row of s that tell too much of a secret, as numbers: of s
// in small letters, and of its letters and digits alone.
func pieces(s string) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		var all, bare uint64
		n := 0
		for i := range len(s) {
			c := s[i]
			switch {
			case c >= 'A' && c <= 'Z':
				c += 'a' - 'A'
			case c < ' ', c == '+': // a blank to a reader, and in a query
				c = ' '
			}
			all = all<<8 | uint64(c)
			if i >= piece-1 && !yield(all) {
				return
			}
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
				bare = bare<<8 | uint64(c)
				if n++; n >= piece && !yield(bare) {
					return
				}
			}
		}
	}
}

// spellings are text as it is, and with one round after the other of its escapes taken
// off until none is left, which plain tells. What may be no escape is taken off aside,
// such as HTML's without a semicolon.
func spellings(text string) (all []string, plain bool) {
	for range maxRounds {
		all = append(all, text)
		for _, aside := range []func(string) string{html.UnescapeString, unquotePrintable, halfWidth} {
			if loose := aside(text); loose != text {
				all = append(all, loose)
			}
		}
		next := unescape(text)
		if next == text {
			return all, true
		}
		text = next
	}
	return all, false
}

// encoded is what hexadecimal digits and base64 make of s; base64 for each of the three places in which it can stand
// among the bytes that are encoded with it, without what those take part in.
func encoded(s string) []string {
	if len(s) < piece {
		return nil
	}
	all := []string{hex.EncodeToString([]byte(s))}
	for before, shared := range []int{0, 2, 3} {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before, before+len(s)), s...))
		if (before+len(s))%3 != 0 {
			text = text[:len(text)-1]
		}
		all = append(all, text[shared:])
	}
	return all
}
