package show

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// unknown stands where there is no figure.
const unknown = "-"

// clean makes text from outside fit for a line of a terminal.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text))
}

func isKnown(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// formatNumber writes v with as many digits as matter, in few columns.
func formatNumber(v float64) string {
	switch a := math.Abs(v); {
	case !isKnown(v):
		return unknown
	case a == 0:
		return "0"
	case a < 0.1:
		return strconv.FormatFloat(v, 'f', min(1-int(math.Floor(math.Log10(a))), 9), 64)
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 1000:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a < 1e9:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// formatCount writes a count that came as a float.
func formatCount(v float64) string {
	if !isKnown(v) {
		return unknown
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// formatPercent writes a share of 0 to 1.
func formatPercent(share float64) string { return formatNumber(share*100) + " %" }
