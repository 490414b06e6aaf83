package openai

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Least numbers of non-blank characters by which a text is judged, and the longest cycle.
const (
	minSame      = 16
	minCycled    = 48
	longestCycle = 8
)

// Degenerate returns what is broken about the text of an answer, whatever its language, and "" for nothing. Blank
// characters do not count. It is broken where one character makes 90 % of 16 or more, where a cycle of at most 8
// characters makes the whole of 48 or more, and where U+FFFD makes more than a tenth. Up to three U+FFFD at the end are a part of
// a character that max_tokens has cut.
func Degenerate(text string) string {
	var all []rune
	var most rune
	counts := map[rune]int{}
	for _, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		all = append(all, r)
		if counts[r]++; counts[r] > counts[most] {
			most = r
		}
	}
	n, lost := len(all), counts[utf8.RuneError]
	for i := n - 1; i >= max(0, n-utf8.UTFMax+1) && all[i] == utf8.RuneError; i-- {
		lost--
	}
	switch {
	case n >= minSame && 10*counts[most] >= 9*n:
		return fmt.Sprintf("%q makes %d of %d characters", most, counts[most], n)
	case 10*lost > n:
		return fmt.Sprintf("U+FFFD makes %d of %d characters", lost, n)
	}
	for cycle := 2; cycle <= longestCycle && n >= minCycled; cycle++ {
		if slices.Equal(all[cycle:], all[:n-cycle]) {
			return fmt.Sprintf("%q makes all %d characters", string(all[:cycle]), n)
		}
	}
	return ""
}
