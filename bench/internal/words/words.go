// Package words writes figures as people read them.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
)

// Unknown stands where there is no figure.
const Unknown = "-"

// Clean makes text from outside fit for a line of a terminal.
func Clean(text string) string { return strings.TrimSpace(plaintext.Line(text)) }

// Known reports whether v is a finite number.
func Known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Number writes v with as many digits as matter, in few columns.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case !Known(v):
		return Unknown
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

// Integer writes a count that came as a float.
func Integer(v float64) string {
	if !Known(v) {
		return Unknown
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Percent writes a share of 0 to 1.
func Percent(share float64) string {
	if !Known(share * 100) {
		return Unknown
	}
	return Number(share*100) + " %"
}

// Seconds writes a duration with a fitting unit and three digits.
func Seconds(seconds float64) string {
	d, unit := time.Duration(seconds*float64(time.Second)), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// Percentile writes 99 as "99" and 99.9 as "99.9".
func Percentile(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// Counted writes "1 line", "2 lines".
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CountedVerb writes "1 answer has" or "2 answers have".
func CountedVerb(n int, what, one, many string) string {
	if n == 1 {
		return Counted(n, what) + " " + one
	}
	return Counted(n, what) + " " + many
}

// Sentence begins a text that is not empty, in ASCII, with a capital.
func Sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// List collects sentences, or the parts of one.
type List []string

// If adds a text where it applies, made of a format and its arguments.
func (l *List) If(applies bool, format string, args ...any) {
	if applies {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

// String is the parts with commas between.
func (l List) String() string { return strings.Join(l, ", ") }
