package collector

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// longestLabel is the most bytes of a label value. Prometheus drops a whole scrape over one that is longer than its
// label_value_length_limit.
const longestLabel = 200

// labelValue is a text of a tool as the value of a label, of at most 200 bytes. Where it is too long, a mark and
// the hash of all of it stand for the end, so that no two texts become one label.
func labelValue(text string) string {
	const mark, hashed = "…", 8
	const room = longestLabel - len(mark) - 2*hashed
	// A text as long as a shortened one might be one, and is shortened too.
	if len(text) < longestLabel-utf8.UTFMax+1 {
		return text
	}
	end := room
	for end > room-utf8.UTFMax+1 && !utf8.RuneStart(text[end]) {
		end--
	}
	sum := sha256.Sum256([]byte(text))
	return text[:end] + mark + hex.EncodeToString(sum[:hashed])
}
