package words

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNumber: as many digits as matter in every size, and never a NaN.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1e-12: "0.000000000", 0.00123: "0.0012", 0.0999: "0.100", 0.1: "0.10", 9.994: "9.99", 12.345: "12.3", 999.9: "999.9",
		1234.5: "1234", 1e9: "1e+09", -3.14159: "-3.14", math.Inf(1): "-", math.NaN(): "-",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	got := []string{
		Percent(0.062), Percent(math.NaN()), Integer(3), Integer(math.Inf(-1)), Percentile(99), Percentile(99.9),
		Seconds(0.0012345), Seconds(61.26), Counted(1, "line"), Counted(0, "line"),
		CountedVerb(1, "answer", "has", "have"), CountedVerb(2, "answer", "has", "have"), Clean(" a\x1b[2J\n"),
		Sentence("only 5 of 6."),
	}
	want := []string{"6.20 %", "-", "3", "-", "99", "99.9", "1.23ms", "1m1.3s", "1 line", "0 lines", "1 answer has", "2 answers have", "a [2J", "Only 5 of 6."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
