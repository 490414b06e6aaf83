package compare

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// bindings are the sides of a comparison on a machine of two nodes, in turns: off the
// node of the cards the model takes so many times as long.
func bindings(seed uint64, repeats int, spread, penalty float64) []Side {
	r := rand.New(rand.NewPCG(seed, 47))
	sides := []Side{{Name: "none"}, {Name: "node0"}, {Name: "node1"}, {Name: "interleaved"}}
	servers := []runlog.Server{
		{Command: "none=vllm serve qwen2.5", Binding: "unbound"},
		{Command: "node0=numactl --cpunodebind=0 --membind=0 vllm serve qwen2.5", Binding: "bound to node 0", Recommended: true},
		{Command: "node1=numactl --cpunodebind=1 --membind=1 vllm serve qwen2.5", Binding: "bound to node 1"},
		{Command: "interleaved=numactl --interleave=all vllm serve qwen2.5", Binding: "interleaved over all nodes"},
	}
	for repeat := range repeats {
		for i := range sides {
			slower := 1 / penalty
			if servers[i].Recommended {
				slower = 1
			}
			one := oneReport(users(100, at(4*repeat+i), faster(slower), noisy(r, spread)))
			one.Runs[0].Side, one.Runs[0].Server = sides[i].Name, &servers[i]
			sides[i].Reports = append(sides[i].Reports, one)
		}
	}
	return sides
}

func verdictOf(t *testing.T, sides []Side) string {
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
			if strings.HasPrefix(verdictOf(t, bindings(seed, 5, spread, 1)), "no binding differs from unbound by more than ") {
				equal++
			}
			if strings.HasPrefix(verdictOf(t, bindings(seed, 5, spread, 1.2)), "bound to node 0 is ") {
				found++
			}
		}
		if equal < 19 || found < 18 {
			t.Errorf("spread of %g: of 20 comparisons %d of equal bindings say so, and %d find the better one", spread, equal, found)
		}
	}
}

// Over many more, a difference where there is none is found in one of twenty at most,
// whatever the number of repeats.
func TestEqualBindingsOverMany(t *testing.T) {
	for _, repeats := range []int{5, 8} {
		const draws = 100
		found := 0
		for seed := range uint64(draws) {
			if !strings.HasPrefix(verdictOf(t, bindings(1000+seed, repeats, 0.03, 1)), "no binding differs") {
				found++
			}
		}
		if share := float64(found) / draws; share > 0.055 {
			t.Errorf("%d repeats: %.1f %% of comparisons of equal bindings find a difference", repeats, 100*share)
		}
	}
}

// The interval holds the true gain: 1/1.2 of the time is 16.7 % less.
func TestVerdictsHoldTheTruth(t *testing.T) {
	numbers := regexp.MustCompile(`is (\S+) % \[(\S+) %, (\S+) %\] faster in TPOT p50 than unbound$`)
	held := 0
	const draws = 40
	for seed := range uint64(draws) {
		text := verdictOf(t, bindings(seed, 5, 0.03, 1.2))
		m := numbers.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		by, low, high := number(t, m[1]), number(t, m[2]), number(t, m[3])
		if low > by || by > high {
			t.Errorf("%q", text)
		}
		if low <= 16.7 && 16.7 <= high {
			held++
		}
	}
	if held < draws*9/10 {
		t.Errorf("%d of %d intervals hold the true gain", held, draws)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBindingVerdicts(t *testing.T) {
	reversed := func(seed uint64) []Side { // the recommended one is as the others, one is worse
		sides := bindings(seed, 5, 0.01, 1)
		for _, r := range sides[2].Reports {
			faster(1 / 1.5)(&r.Steps[0])
			steady := r.Steps[0].Whole
			r.Steps[0].Steady = &steady
		}
		return sides
	}
	short := bindings(1, 2, 0.01, 1.2)
	loaded := bindings(1, 5, 0.01, 1.2)
	for _, r := range loaded[1].Reports {
		r.Steps[0].Checks.Achieved = 60
	}
	bare := bindings(1, 5, 0.01, 1.2)
	for _, s := range bare {
		for _, r := range s.Reports {
			for _, figures := range []*report.Figures{&r.Steps[0].Whole, r.Steps[0].Steady} {
				figures.Distributions = nil
			}
		}
	}
	for name, tt := range map[string]struct {
		sides []Side
		want  string
	}{
		"found":              {bindings(1, 5, 0.01, 1.2), `^bound to node 0 is 1[5-8] % \[1\d %, 1\d %\] faster in TPOT p50 than unbound$`},
		"a worse one":        {reversed(2), `^no binding is faster than unbound in TPOT p50; bound to node 1 is (4[89]|5[0-2]) % \[4\d %, 5\d %\] slower in TPOT p50 than unbound$`},
		"too few":            {short, `^too few runs to tell the bindings apart`},
		"other load":         {loaded, `faster in TPOT p50 than unbound, but the two were not under the same load or settings: read the warnings$`},
		"only throughput":    {bare, `^bound to node 0 is (19|2[01]) % \[\S+ %, \S+ %\] faster in output tokens/s than unbound$`},
		"none that is equal": {bindings(3, 5, 0.01, 1), `^no binding differs from unbound by more than \d\.\d % in TPOT p50$`},
	} {
		if got := verdictOf(t, tt.sides); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
	if c := compared(t, interleaved()); c.Bindings != nil {
		t.Errorf("sides that are no bindings are summed up: %+v", c.Bindings)
	}
}
