package result

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func samplesOf(limit int, values ...int64) *samples {
	s := &samples{limit: limit}
	for _, v := range values {
		s.add(v)
	}
	return s
}

// TestDistribution has the figures of numpy: mean, std and percentile with its
// linear interpolation.
func TestDistribution(t *testing.T) {
	ps := []float64{25, 50, 99}
	for name, tt := range map[string]struct {
		samples *samples
		want    Distribution
	}{
		"none": {samplesOf(9), Distribution{}},
		"one":  {samplesOf(9, 7e9), Distribution{Count: 1, Mean: 7, Min: 7, Max: 7, Exact: true, Percentiles: []Percentile{{25, 7}, {50, 7}, {99, 7}}}},
		"four": {samplesOf(9, 4e9, 1e9, 2e9, 3e9), Distribution{
			Count: 4, Mean: 2.5, Std: math.Sqrt(1.25), Min: 1, Max: 4, Exact: true,
			Percentiles: []Percentile{{25, 1.75}, {50, 2.5}, {99, 3.97}},
		}},
		"a clock set back": {samplesOf(9, -5e9, 1e9), Distribution{
			Count: 2, Mean: 0.5, Std: 0.5, Max: 1, Exact: true, Percentiles: []Percentile{{25, 0.25}, {50, 0.5}, {99, 0.99}},
		}},
		"more than are kept": {samplesOf(3, 1000, 1000, 1000, 1000), Distribution{
			Count: 4, Mean: 1e-6, Min: 1e-6, Max: 1e-6, Percentiles: []Percentile{{25, 1e-6}, {50, 1e-6}, {99, 1e-6}},
		}},
		"longer than a histogram tells apart": {samplesOf(0, int64(time.Hour), int64(48*time.Hour)), Distribution{
			Count: 2, Mean: 24.5 * 3600, Std: 23.5 * 3600, Min: 3600, Max: 48 * 3600,
			Percentiles: []Percentile{{25, 3600}, {50, 3600}, {99, 24 * 3600}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.samples.distribution(ps, perSecond), cmpopts.EquateApprox(1e-3, 1e-9)); diff != "" {
				t.Errorf("distribution (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHistogramIsNear holds that percentiles of more samples than are kept are
// within 0.1 % of the exact ones, and everything else the same, also where parts
// were summed up and joined.
func TestHistogramIsNear(t *testing.T) {
	const n = 200_000
	ps := []float64{1, 50, 90, 99, 99.9}
	for name, draw := range map[string]func(*rand.Rand) int64{
		"chunk gaps":  func(r *rand.Rand) int64 { return int64(20e6 * math.Exp(r.NormFloat64())) },
		"long tail":   func(r *rand.Rand) int64 { return int64(1e6 * math.Pow(r.Float64(), -2)) },
		"all alike":   func(*rand.Rand) int64 { return 1_234_567_890 },
		"client lags": func(r *rand.Rand) int64 { return int64(5e3 * r.ExpFloat64()) },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			exact, near, joined, half := samplesOf(n), samplesOf(1000), samplesOf(1000), samplesOf(n)
			for i := range n {
				v := draw(rng)
				exact.add(v)
				near.add(v)
				if i%3 == 0 {
					half.add(v)
				} else {
					joined.add(v)
				}
			}
			joined.join(half)
			want := exact.distribution(ps, perSecond)
			for _, s := range []*samples{near, joined} {
				got := s.distribution(ps, perSecond)
				if !want.Exact || got.Exact {
					t.Fatalf("exact %v and %v, want true and false", want.Exact, got.Exact)
				}
				diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0), cmpopts.IgnoreFields(Distribution{}, "Exact", "Percentiles"))
				if diff != "" {
					t.Errorf("distribution (-exact +histogram):\n%s", diff)
				}
				if last := got.Percentiles[len(ps)-1].Value; last > got.Max {
					t.Errorf("p99.9 of %v is over the maximum of %v", last, got.Max)
				}
				// A gap between two samples adds its own width where they are few.
				if diff := cmp.Diff(want.Percentiles, got.Percentiles, cmpopts.EquateApprox(1.2e-3, 1e-9)); diff != "" {
					t.Errorf("percentiles (-exact +histogram):\n%s", diff)
				}
			}
		})
	}
}

func TestJoinedSamplesStayExact(t *testing.T) {
	over := samplesOf(4, 4, 1)
	over.join(samplesOf(4, 3, 2, 5))
	if d := over.distribution(nil, perToken); d.Exact || d.Count != 5 {
		t.Errorf("%d samples, exact %v, where 4 may be kept", d.Count, d.Exact)
	}
	s := samplesOf(5, 4, 1)
	s.join(samplesOf(5, 3, 2, 5))
	want := samplesOf(5, 1, 2, 3, 4, 5).distribution([]float64{30, 50}, perToken)
	if diff := cmp.Diff(want, s.distribution([]float64{30, 50}, perToken), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("distribution (-want +got):\n%s", diff)
	}
}

func TestMedianIsAlwaysGiven(t *testing.T) {
	for _, tt := range []struct{ wanted, want []float64 }{
		{nil, []float64{50, 90, 95, 99}},
		{[]float64{99.9, 25, 99.9}, []float64{25, 50, 99.9}},
	} {
		got, err := percentiles(tt.wanted, nil)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("percentiles of %v: %v (-want +got):\n%s", tt.wanted, err, diff)
		}
	}
}
