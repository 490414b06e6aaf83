package load

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const arrivals = 100_000

// instants are the first n of a step.
func instants(step runlog.Step, seed uint64, n int) []time.Duration {
	due := newPacer(step, seed)
	at := make([]time.Duration, n)
	for i := range at {
		at[i] = due(nil)
	}
	return at
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.05*math.Abs(want) {
		t.Errorf("%s: %g, theory says %g", what, got, want)
	}
}

func TestGapsFollowTheirDistribution(t *testing.T) {
	const rate = 50.0
	for _, shape := range []float64{0.25, 1, 4} {
		t.Run(fmt.Sprintf("burstiness %g", shape), func(t *testing.T) {
			step := runlog.Step{Arrival: runlog.ArrivalGamma, Burstiness: shape, Rate: rate, Requests: arrivals}
			if shape == 1 {
				step.Arrival = runlog.ArrivalPoisson
			}
			at := instants(step, 7, arrivals)
			if at[0] != 0 || !slices.IsSorted(at) {
				t.Fatalf("the first at %s", at[0])
			}
			gaps := make([]float64, arrivals-1)
			for i := range gaps {
				gaps[i] = (at[i+1] - at[i]).Seconds()
			}
			mean, std := stat.MeanStdDev(gaps, nil)
			near(t, "coefficient of variation", std/mean, 1/math.Sqrt(shape))
			slices.Sort(gaps)
			// Kolmogorov and Smirnov's bound, at the level of 0.1 %. The shortest gaps
			// are rounded to nanoseconds.
			theory := distuv.Gamma{Alpha: shape, Beta: rate * shape}
			for i, gap := range gaps {
				if d := math.Abs(theory.CDF(gap) - float64(i)/arrivals); gap > 1e-6 && d > 1.95/math.Sqrt(arrivals) {
					t.Fatalf("the gaps are %g away from their distribution", d)
				}
			}
		})
	}
}

// A few gaps may be short or long by chance. As vLLM's, they are scaled, so that the rate
// offered is the one asked for.
func TestRequestsTakeTheirTime(t *testing.T) {
	for seed := range uint64(20) {
		for name, step := range map[string]runlog.Step{
			"by number":             {Arrival: runlog.ArrivalPoisson, Rate: 2, Requests: 40},
			"by duration":           {Arrival: runlog.ArrivalPoisson, Rate: 2, Duration: 20 * time.Second},
			"in bursts":             {Arrival: runlog.ArrivalGamma, Burstiness: 0.2, Rate: 2, Duration: 20 * time.Second},
			"by duration, a ramp":   {Arrival: runlog.ArrivalPoisson, Rate: 2, Duration: 25 * time.Second, RampUp: 10 * time.Second},
			"all of it is the ramp": {Arrival: runlog.ArrivalPoisson, Rate: 4, Duration: 20 * time.Second, RampUp: 20 * time.Second},
		} {
			total, end := sumOfGaps(step, seed), step.Duration.Seconds()
			if step.RampUp > 0 {
				total += step.RampUp.Seconds() / 2
			}
			if end == 0 {
				end = 20
			}
			if at := instants(step, seed, 41); math.Abs(total-end) > 1e-9 || at[39] >= time.Duration(end*1e9) || step.Duration > 0 && at[40] < step.Duration {
				t.Errorf("%s, seed %d: gaps sum up to %g s, request 40 at %s, 41 at %s", name, seed, total, at[39], at[40])
			}
		}
	}
}

// sumOfGaps is that of all gaps of a step in seconds, as they are scaled.
func sumOfGaps(step runlog.Step, seed uint64) float64 {
	n, scale := scaled(step, seed)
	draw, sum := gaps(step, seed), 0.0
	for range n {
		sum += draw()
	}
	return sum * scale
}

func TestArrivalsCanBeRepeated(t *testing.T) {
	step := runlog.Step{Arrival: runlog.ArrivalGamma, Burstiness: 0.5, Rate: 10, Requests: 1000}
	first := instants(step, 7, 1000)
	if !slices.Equal(first, instants(step, 7, 1000)) {
		t.Error("the same seed gave other arrivals")
	}
	if slices.Equal(first, instants(step, 8, 1000)) {
		t.Error("another seed gave the same arrivals")
	}
}

// Machines of one load have seeds side by side. Were their gaps alike, their bursts would
// fall together.
func TestGapsOfNeighboringSeedsAreUnrelated(t *testing.T) {
	const seeds, bound = 20_000, 4.5 // standard deviations of the correlation of unrelated numbers
	step := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 1}
	first := make([]float64, seeds+1)
	for seed := range first {
		first[seed] = gaps(step, gapSeed(uint64(seed), 0))()
	}
	if r := stat.Correlation(first[:seeds], first[1:], nil) * math.Sqrt(seeds); math.Abs(r) > bound {
		t.Errorf("the first gaps of neighbors: a correlation of %.1f standard deviations", r)
	}
}

// A third of a second is no whole number of nanoseconds: summed up, a hundred
// thousand of them are off by 33 µs.
func TestConstantArrivalsAreExact(t *testing.T) {
	step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 3, Requests: arrivals}
	for n, at := range instants(step, 1, arrivals) {
		if want := time.Duration(math.Round(float64(n) * 1e9 / 3)); at != want {
			t.Fatalf("arrival %d at %d ns, want %d", n, at, want)
		}
	}
}

func TestRateRisesInALine(t *testing.T) {
	const rate, ramp = 100.0, 10.0
	for _, kind := range []runlog.Arrival{runlog.ArrivalConstant, runlog.ArrivalPoisson} {
		step := runlog.Step{Arrival: kind, Rate: rate, RampUp: ramp * time.Second, Requests: arrivals}
		at := instants(step, 1, arrivals)
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
