package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

func plain() result.Column { return result.Column{HigherIsBetter: true} }

func draw(r *rand.Rand, n int, center, spread float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		// Log-normal: latencies have a long tail, which a t-test would take ill.
		values[i] = center * math.Exp(spread*r.NormFloat64())
	}
	return values
}

// When nothing differs, no more than the promised share of comparisons finds a
// difference, whatever the number of repeats; and the test is not simply blind.
func TestFalseFindingsAreRare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{4, 5, 8} {
		const draws = 12000
		found := 0
		for range draws {
			if v := judge(draw(r, n, 100, 0.1), draw(r, n, 100, 0.1), plain(), math.NaN()); v.Better != nil {
				found++
			}
		}
		if share := float64(found) / draws; share > alpha+0.005 || share < 0.015 {
			t.Errorf("n=%d: %.1f %% of comparisons of equal sides find a difference", n, 100*share)
		}
	}
}

// Five repeats find what matters: a shift of several times the spread always, of
// twice the spread mostly.
func TestRealDifferencesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, tt := range []struct{ shift, least float64 }{{1.15, 1}, {1.06, 0.7}} {
		const draws = 500
		found := 0
		for range draws {
			v := judge(draw(r, 5, 100, 0.02), draw(r, 5, 100*tt.shift, 0.02), plain(), math.NaN())
			if v.Finding == Higher && *v.Better {
				found++
			}
		}
		if share := float64(found) / draws; share < tt.least {
			t.Errorf("a shift of %g over a spread of 2 %% is found in %.1f %% of comparisons", tt.shift, 100*share)
		}
	}
}

// With ties, which failure shares have, the test must not find more than it should.
func TestTiesFindNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	m := result.Column{Unit: result.Share}
	const draws = 3000
	found := 0
	for range draws {
		a, b := make([]float64, 5), make([]float64, 5)
		for i := range a {
			a[i], b[i] = float64(r.IntN(3))/1000, float64(r.IntN(3))/1000
		}
		if v := judge(a, b, m, math.NaN()); v.P != nil && *v.P < alpha {
			found++
		}
	}
	if share := float64(found) / draws; share > alpha+0.005 {
		t.Errorf("%.1f %% of comparisons of equal failure shares find a difference", 100*share)
	}
}

func TestVerdicts(t *testing.T) {
	percent := result.Column{Unit: result.Share}
	latency := result.Column{Unit: result.Milliseconds}
	five := func(from float64) []float64 { return []float64{from, from + 1, from + 2, from + 3, from + 4} }
	tests := []struct {
		name       string
		base, side []float64
		m          result.Column
		want       string
	}{
		{"higher is better", five(100), five(112), plain(), "12 % higher, better (p=0.008, n=5+5)"},
		{"lower is worse", five(112), five(100), plain(), "11 % lower, worse (p=0.008, n=5+5)"},
		{"slower is worse", five(100), five(150), latency, "49 % higher, worse (p=0.008, n=5+5)"},
		{"small", five(1000), five(1010), plain(), "1.0 % higher, better (p=0.008, n=5+5)"},
		{"many runs", draw(rand.New(rand.NewPCG(1, 1)), 12, 1, 0), five(5), plain(), "600 % higher, better (p<0.001, n=12+5)"},
		{"points", []float64{0, 0, 0, 0}, []float64{0.03, 0.031, 0.029, 0.03}, percent, "3.0 points higher, worse (p=0.029, n=4+4)"},
		{"from nothing", []float64{0, 0, 0, 0}, five(1), plain(), "higher, better (p=0.016, n=4+5)"},
		{"noise", five(100), five(101), plain(), "no difference can be told: seen 0.98 % higher, 3.6 % needed to tell (p=0.444, n=5+5)"},
		{"equal", []float64{0, 0}, []float64{0, 0, 0}, percent, "equal in all runs (n=2+3)"},
		{"single", []float64{1}, []float64{2}, plain(), "no difference can be told: one run a side, seen 100 % higher"},
		{"three", []float64{1, 2, 3}, []float64{7, 8, 9}, plain(), "no difference can be told: 3+3 runs are too few, seen 300 % higher"},
		{"three and five", []float64{1, 2, 3}, five(10), plain(), "500 % higher, better (p=0.036, n=3+5)"},
		{"one-sided", nil, five(10), plain(), "not measured on both"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(tt.base, tt.side, tt.m, detectable(len(tt.base), len(tt.side))).Text; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestEstimate(t *testing.T) {
	tests := []struct {
		values []float64
		want   Estimate
	}{
		{nil, Estimate{}},
		{[]float64{7}, Estimate{Median: 7, Low: 7, High: 7}},
		{[]float64{3, 1, 2}, Estimate{Median: 2, Low: 1, High: 3, Confidence: 0.75}},
		{[]float64{5, 4, 3, 2, 1}, Estimate{Median: 3, Low: 1, High: 5, Confidence: 0.9375}},
		{[]float64{1, 2, 3, 4, 5, 6}, Estimate{Median: 3.5, Low: 1, High: 6, Confidence: 0.96875}},
	}
	for _, tt := range tests {
		got := estimate(tt.values)
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Estimate{}, "Values"), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("estimate of %v (-want +got):\n%s", tt.values, diff)
		}
	}
}

// With 6 runs or more the interval holds the true median as often as it says.
func TestIntervalsHoldTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 23))
	for _, n := range []int{5, 8} {
		const draws = 4000
		held, promised := 0, 0.0
		for range draws {
			e := estimate(draw(r, n, 100, 0.3))
			promised = e.Confidence
			if e.Low <= 100 && 100 <= e.High {
				held++
			}
		}
		if share := float64(held) / draws; math.Abs(share-promised) > 0.02 {
			t.Errorf("n=%d: %.1f %% of intervals hold the median, promised %.1f %%", n, 100*share, 100*promised)
		}
	}
}

func TestFigure(t *testing.T) {
	tests := []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 4, "0"},
		{9.99996, 4, "10.00"},
		{0.76612, 4, "0.7661"},
		{1234.4, 4, "1234"},
		{123456, 4, "123500"},
		{0.000012345, 3, "0.0000123"},
		{-3.14159, 3, "-3.14"},
	}
	for _, tt := range tests {
		if got := figure(tt.v, tt.digits); got != tt.want {
			t.Errorf("figure(%g, %d) = %s, want %s", tt.v, tt.digits, got, tt.want)
		}
	}
}

// The difference that is said to be found in 80 of 100 comparisons is found so often,
// by the test itself.
func TestDetectableIsDetected(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 41))
	for _, n := range [][2]int{{4, 4}, {5, 5}, {3, 5}, {8, 8}, {25, 25}} {
		const draws = 3000
		needed, found := detectable(n[0], n[1]), 0
		for range draws {
			base, side := make([]float64, n[0]), make([]float64, n[1])
			for i := range base {
				base[i] = 100 + r.NormFloat64()
			}
			for i := range side {
				side[i] = 100 + r.NormFloat64() + needed
			}
			if judge(base, side, plain(), math.NaN()).Finding == Higher {
				found++
			}
		}
		if share := float64(found) / draws; math.Abs(share-power) > 0.03 {
			t.Errorf("%d+%d runs: %.2f standard deviations are found in %.1f %%", n[0], n[1], needed, 100*share)
		}
	}
	if few := detectable(3, 3); !math.IsNaN(few) {
		t.Errorf("3+3 runs find %g", few)
	}
}

// 39 runs beside one can fall in 40 ways, of which 2 are no less than 0.05: too few,
// whichever side they are on.
func TestManyRunsBesideOneAreTooFew(t *testing.T) {
	for _, n := range [][2]int{{39, 1}, {1, 39}} {
		if enough(n[0], n[1]) {
			t.Errorf("%d+%d runs are said to be enough", n[0], n[1])
		}
		if got := detectable(n[0], n[1]); !math.IsNaN(got) {
			t.Errorf("%d+%d runs find %g", n[0], n[1], got)
		}
	}
	if !enough(40, 1) || math.IsNaN(detectable(40, 1)) {
		t.Error("40 runs beside one are said to be too few")
	}
}

// More repeats find smaller differences, across the change of method too.
func TestDetectableShrinks(t *testing.T) {
	last := math.Inf(1)
	for _, n := range []int{4, 5, 8, 15, 20, 21, 40} {
		needed := detectable(n, n)
		if !(needed < last) {
			t.Errorf("%d+%d runs need %g standard deviations, fewer runs %g", n, n, needed, last)
		}
		last = needed
	}
}

// Of ten rankings of 2 and 3 values, U is 0 once, 1 once, 2 twice and so on.
func TestRankings(t *testing.T) {
	if diff := cmp.Diff([]float64{1, 1, 2, 2, 2, 1, 1}, rankings(2, 3)); diff != "" {
		t.Errorf("rankings (-want +got):\n%s", diff)
	}
}
