package load

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const arrivals = 100_000

func TestGapsFollowTheirDistribution(t *testing.T) {
	const rate = 50.0
	for _, shape := range []float64{0.25, 0.5, 1, 4} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("burstiness %g seed %d", shape, seed), func(t *testing.T) {
				step := runlog.Step{Arrival: runlog.ArrivalGamma, Burstiness: shape, Rate: rate, Requests: arrivals}
				if shape == 1 {
					step.Arrival = runlog.ArrivalPoisson
				}
				at := slices.Collect(offsets(step, seed))
				if len(at) != arrivals || at[0] != 0 || !slices.IsSorted(at) {
					t.Fatalf("%d arrivals, the first at %s", len(at), at[0])
				}
				gaps := make([]float64, arrivals-1)
				for i := range gaps {
					gaps[i] = (at[i+1] - at[i]).Seconds()
				}
				near(t, "index of dispersion", dispersion(at, rate), renewalDispersion(shape))
				mean, std := stat.MeanStdDev(gaps, nil)
				near(t, "mean gap", mean, 1/rate)
				near(t, "coefficient of variation", std/mean, 1/math.Sqrt(shape))
				slices.Sort(gaps)
				theory := distuv.Gamma{Alpha: shape, Beta: rate * shape}
				for _, p := range []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
					below, _ := slices.BinarySearch(gaps, theory.Quantile(p))
					near(t, fmt.Sprintf("share below the quantile %g", p), float64(below)/arrivals, p)
				}
				// Kolmogorov and Smirnov's bound, at the level of 0.1 %.
				if d := distance(gaps, theory); d > 1.95/math.Sqrt(arrivals) {
					t.Errorf("the gaps are %g away from their distribution", d)
				}
			})
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.05*math.Abs(want) {
		t.Errorf("%s: %g, theory says %g", what, got, want)
	}
}

// window is how many arrivals are due in one count on the mean.
const window = 20.0

// dispersion is the variance over the mean of the arrivals in equal windows.
func dispersion(at []time.Duration, rate float64) float64 {
	counts := make([]float64, int(at[len(at)-1].Seconds()*rate/window))
	for _, a := range at {
		if n := int(a.Seconds() * rate / window); n < len(counts) {
			counts[n]++
		}
	}
	mean, variance := stat.MeanVariance(counts, nil)
	return variance / mean
}

// renewalDispersion is the same of a renewal process with gamma gaps: 1/shape for
// long windows, with Cox's correction (Renewal Theory, 1962, 4.5) for short ones.
func renewalDispersion(shape float64) float64 {
	return 1/shape + (1-1/(shape*shape))/6/window
}

// distance is the greatest between the distribution of sorted samples and theory,
// at every hundredth sample. The shortest gaps are left out: they are rounded to
// nanoseconds.
func distance(sorted []float64, theory distuv.Gamma) float64 {
	most := 0.0
	for i := 0; i < len(sorted); i += 100 {
		if x := sorted[i]; x > 1e-6 {
			most = max(most, math.Abs(theory.CDF(x)-float64(i)/float64(len(sorted))))
		}
	}
	return most
}

func TestArrivalsCanBeRepeated(t *testing.T) {
	step := runlog.Step{Arrival: runlog.ArrivalGamma, Burstiness: 0.5, Rate: 10, Requests: 1000}
	first := slices.Collect(offsets(step, 7))
	if diff := cmp.Diff(first, slices.Collect(offsets(step, 7))); diff != "" {
		t.Errorf("the same seed gave other arrivals:\n%s", diff)
	}
	if slices.Equal(first, slices.Collect(offsets(step, 8))) {
		t.Error("another seed gave the same arrivals")
	}
}

// Machines of one load and steps of a run may have seeds side by side. Were their
// gaps alike, their bursts would fall together.
func TestGapsOfNeighboringSeedsAreUnrelated(t *testing.T) {
	const seeds, bound = 20_000, 4.5 // standard deviations of the correlation of unrelated numbers
	step := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 1}
	draw := func(seed uint64, n int) []float64 {
		gap, drawn := gaps(step, seed), make([]float64, n)
		for i := range drawn {
			drawn[i] = gap()
		}
		return drawn
	}
	unrelated := func(what string, a, b []float64) {
		t.Helper()
		if r := stat.Correlation(a, b, nil) * math.Sqrt(float64(len(a))); math.Abs(r) > bound {
			t.Errorf("%s: a correlation of %.1f standard deviations", what, r)
		}
	}
	// The n-th gaps of many seeds against those of their neighbors.
	const first = 4
	var nth [first][]float64
	for seed := range uint64(seeds + 1) {
		for n, g := range draw(seed, first) {
			nth[n] = append(nth[n], g)
		}
	}
	for n, g := range nth {
		unrelated(fmt.Sprintf("gap %d of neighbors", n), g[:seeds], g[1:])
	}
	// The whole streams of some, also where one is behind by a gap.
	for _, seed := range []uint64{0, 1, 41, 1<<32 - 1, math.MaxUint64} {
		a, b := draw(seed, seeds), draw(seed+1, seeds)
		unrelated(fmt.Sprintf("streams of %d and the next", seed), a, b)
		unrelated(fmt.Sprintf("streams of %d and the next, shifted", seed), a[1:], b[:seeds-1])
	}
}

// A third of a second is no whole number of nanoseconds: summed up, a hundred
// thousand of them are off by 33 µs.
func TestConstantArrivalsAreExact(t *testing.T) {
	step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 3, Requests: arrivals}
	n := 0
	for at := range offsets(step, 1) {
		if want := time.Duration(math.Round(float64(n) * 1e9 / 3)); at != want {
			t.Fatalf("arrival %d at %d ns, want %d", n, at, want)
		}
		n++
	}
}

func TestRateRisesInALine(t *testing.T) {
	const rate, ramp = 100.0, 10.0
	for _, kind := range []runlog.Arrival{runlog.ArrivalConstant, runlog.ArrivalPoisson} {
		step := runlog.Step{Arrival: kind, Rate: rate, RampUp: ramp * time.Second, Requests: arrivals}
		at := slices.Collect(offsets(step, 1))
		until := func(s float64) float64 {
			n, _ := slices.BinarySearch(at, time.Duration(s*1e9))
			return float64(n)
		}
		for _, s := range []float64{2.5, 5, 7.5, 10} {
			// Of a Poisson process, four standard deviations.
			want := rate * s * s / (2 * ramp)
			if got := until(s); math.Abs(got-want) > 1+4*math.Sqrt(want) {
				t.Errorf("%s: %g arrivals in the first %g s, want %g", kind, got, s, want)
			}
		}
		near(t, string(kind)+": arrivals after the ramp", until(510)-until(10), 500*rate)
	}
}

func TestRareArrivalsDoNotOverflow(t *testing.T) {
	step := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 1e-300, Requests: 3}
	at := slices.Collect(offsets(step, 1))
	if !slices.IsSorted(at) || time.Now().Add(at[2]).Before(time.Now()) {
		t.Errorf("arrivals at %s", at)
	}
}
