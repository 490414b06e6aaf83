// Package spelling finds what a misspelt name was to be.
package spelling

// Nearest is the candidate that a misspelt name most likely means, the first of
// several, "" where none is near: within a third of its letters.
func Nearest(name string, candidates []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if d := edits(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// edits is how many letters must be put in, taken out, replaced or swapped with
// their neighbour to make b of a.
func edits(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := 1
			if a[i-1] == b[j-1] {
				changed = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
