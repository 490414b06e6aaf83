package result

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestHistogramIsNear: percentiles of a histogram are within 0.1 % of the exact ones, of
// few values and of many, and everything else is the same.
func TestHistogramIsNear(t *testing.T) {
	ps := []float64{1, 50, 90, 99, 99.9}
	for name, draw := range map[string]func(*rand.Rand) int64{
		"chunk gaps":  func(r *rand.Rand) int64 { return int64(20e6 * math.Exp(r.NormFloat64())) },
		"long tail":   func(r *rand.Rand) int64 { return int64(1e6 * math.Pow(r.Float64(), -2)) },
		"all alike":   func(*rand.Rand) int64 { return 1_234_567_890 },
		"client lags": func(r *rand.Rand) int64 { return int64(5e3 * r.ExpFloat64()) },
	} {
		for _, n := range []int{1, 7, 200_000} {
			rng := rand.New(rand.NewPCG(5, 6))
			h, exact := newHistogram(), make([]Value, n)
			for i := range exact {
				v := draw(rng)
				exact[i] = Value(v)
				h.add(i*gapParts/n, v, 1)
			}
			want, got := newDistribution(exact, ps, perSecond), h.distribution(ps)
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-3, 1e-9), cmpopts.IgnoreFields(Percentile{}, "Error", "Independent"), cmpopts.IgnoreFields(Distribution{}, "MeanError")); diff != "" {
				t.Errorf("%s, %d values (-exact +histogram):\n%s", name, n, diff)
			}
		}
	}
}

func TestMedianIsAlwaysGiven(t *testing.T) {
	for _, tt := range []struct{ wanted, want []float64 }{
		{nil, []float64{50, 66, 75, 80, 90, 95, 98, 99}},
		{[]float64{99.9, 25, 99.9}, []float64{25, 50, 66, 75, 80, 90, 95, 98, 99, 99.9}},
	} {
		got := Options{Percentiles: tt.wanted}.withDefaults([]runlog.Run{{}})
		equal(t, fmt.Sprintf("percentiles of %v", tt.wanted), tt.want, got.computed)
	}
}
