package collector

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Prometheus drops a whole scrape over a label value that is longer than its label_value_length_limit.
const (
	longestLabel = 200     // bytes
	longestLists = 4 << 10 // bytes of a sample's lists of CPUs and nodes: every second one of 256 CPUs takes 456
)

// putLists writes a sample of 1 with lists of CPUs or nodes behind its labels. They are not shortened, since a part of a
// list is another list: there is no sample with lists that are too long.
func (e emitter) putLists(name string, lists []string, labels ...string) {
	if len(strings.Join(lists, "")) <= longestLists {
		e.part.add(e.series[name], 1, labels, lists...)
	}
}

// labelValue is a text of a tool as the value of a label, of at most 200 bytes. Where it is too long, a mark and
// the hash of all of it stand for the end, so that no two texts become one label.
func labelValue(text string) string {
	const mark, hashed = "…", 8
	const room = longestLabel - len(mark) - 2*hashed
	// A text as long as a shortened one might be one, and is shortened too.
	if len(text) < longestLabel-utf8.UTFMax+1 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(text[:room], "") + mark + hex.EncodeToString(sum[:hashed])
}
