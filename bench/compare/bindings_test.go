package compare

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

func verdict(t *testing.T, sides []Side) string {
	t.Helper()
	c := compared(t, sides)
	if len(c.Bindings) != 1 {
		t.Fatalf("%d levels are summed up", len(c.Bindings))
	}
	return c.Bindings[0].Verdict
}

// What the project promises of its verdicts: of 20 comparisons of bindings that do not
// differ at least 19 say so, and a fifth more is found in at least 18, with five repeats.
func TestBindingsAreToldApart(t *testing.T) {
	for _, spread := range []float64{0.01, 0.03, 0.05} {
		equal, found := 0, 0
		for seed := range uint64(20) {
			if strings.HasPrefix(verdict(t, bindings(seed, 5, spread, 1)), "no binding differs from unbound by more than ") {
				equal++
			}
			if strings.HasPrefix(verdict(t, bindings(seed, 5, spread, 1.2)), "bound to node 0 is ") {
				found++
			}
		}
		if equal < 19 || found < 18 {
			t.Errorf("spread of %g: of 20 comparisons %d of equal bindings say so, and %d find the better one", spread, equal, found)
		}
	}
}

// The interval holds the true gain: 1/1.2 of the time is 16.7 % less.
func TestVerdictsHoldTheTruth(t *testing.T) {
	numbers := regexp.MustCompile(`is (\S+) % \[(\S+) %, (\S+) %\] faster in TPOT p50 than unbound$`)
	held := 0
	const draws = 40
	for seed := range uint64(draws) {
		text := verdict(t, bindings(seed, 5, 0.03, 1.2))
		m := numbers.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		var v [3]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		if v[1] > v[0] || v[0] > v[2] {
			t.Errorf("%q", text)
		}
		if v[1] <= 16.7 && 16.7 <= v[2] {
			held++
		}
	}
	if held < draws*9/10 {
		t.Errorf("%d of %d intervals hold the true gain", held, draws)
	}
}

func TestBindingVerdicts(t *testing.T) {
	bare := bindings(1, 5, 0.01, 1.2)
	for _, s := range bare {
		for _, r := range s.Reports {
			for _, figures := range []*result.Figures{&r.Steps[0].Whole, r.Steps[0].Steady} {
				figures.Distributions = nil
			}
		}
	}
	equal := bindings(3, 5, 0.01, 1)
	for name, tt := range map[string]struct {
		sides []Side
		want  string
	}{
		"recommended first": {[]Side{equal[1], equal[0]}, `^no binding differs from bound to node 0 by more than \d\.\d % in TPOT p50$`},
		"no tokens":         {bare, `^too few runs with a TPOT p50 to tell the bindings apart: 5 of each are needed$`},
	} {
		if got := verdict(t, tt.sides); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
	if c := compared(t, interleaved()); c.Bindings != nil {
		t.Errorf("sides that are no bindings are summed up: %+v", c.Bindings)
	}
}

// A binding under which the server did not start, or not always, takes nothing from the
// others.
func TestBindingsWithoutOne(t *testing.T) {
	const found = `^bound to node 0 is 1[5-9]\.\d % \[1\d\.\d %, 1\d\.\d %\] faster in TPOT p50 than unbound$`
	never := bindings(1, 5, 0.01, 1.2)
	never = append(never[:2], never[3])
	once := bindings(1, 5, 0.01, 1.2)
	once[2].Reports = once[2].Reports[:1]
	for name, tt := range map[string]struct {
		sides []Side
		runs  []int // of each binding in the table
	}{
		"never": {never, []int{5, 5, 5}},
		"once":  {once, []int{5, 5, 1, 5}},
	} {
		b := compared(t, tt.sides).Bindings[0]
		var runs []int
		for _, r := range b.Rows {
			runs = append(runs, len(r.TPOT.Values))
		}
		if diff := cmp.Diff(tt.runs, runs); diff != "" || !regexp.MustCompile(found).MatchString(b.Verdict) {
			t.Errorf("%s: %q, runs in the table (-want +got):\n%s", name, b.Verdict, diff)
		}
	}
}
