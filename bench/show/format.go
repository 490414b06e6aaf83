package show

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// unknown stands where there is no figure.
const unknown = "-"

// Clean makes text from outside fit for a line of a terminal.
func Clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text))
}

// formatNumber writes v with as many digits as matter, in few columns.
func formatNumber(v float64) string {
	decimals := 0
	switch a := math.Abs(v); {
	case a == 0:
	case a < 0.1:
		decimals = min(1-int(math.Floor(math.Log10(a))), 9)
	case a < 10:
		decimals = 2
	case a < 1000:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
