package result

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

const (
	// confidence is how many standard errors make half of a 95 % confidence interval.
	confidence = 1.96
	// maxBins bounds the runs of successive samples whose means are looked at for how they depend on one another.
	maxBins = 256
)

// binned are the means of runs of successive values, each as long as the others, at most 256.
func binned(n int, value func(i int) float64) []float64 {
	bins := make([]float64, min(n, maxBins))
	for i := range bins {
		from, to := i*n/len(bins), (i+1)*n/len(bins)
		for k := from; k < to; k++ {
			bins[i] += value(k) / float64(to-from)
		}
	}
	return bins
}

// inefficiency is how many successive values say as much as one independent value, at least 1:
// 1 + 2 Σ autocorrelation, summed while pairs of it are positive (Geyer's initial positive sequence, 1992).
func inefficiency(values []float64) float64 {
	n, sum := len(values), -1.0
	mean, variance := stat.PopMeanVariance(values, nil)
	if variance == 0 {
		return 1
	}
	correlation := func(lag int) (c float64) {
		for i := range n - lag {
			c += (values[i] - mean) * (values[i+lag] - mean)
		}
		return c / (float64(n) * variance)
	}
	for lag := 0; lag+1 < n; lag += 2 {
		pair := correlation(lag) + correlation(lag+1)
		if pair <= 0 {
			break
		}
		sum += 2 * pair
	}
	return max(1, sum)
}

// errorOfMean is the standard error of the mean of n values that depend on one another.
func errorOfMean(n int, value func(i int) float64) float64 {
	bins := binned(n, value)
	if len(bins) < 2 {
		return math.NaN()
	}
	_, variance := stat.MeanVariance(bins, nil)
	return math.Sqrt(variance / float64(len(bins)) * inefficiency(bins))
}

// standardError is that of the mean of samples in the order of sending; those still waiting are left out.
func standardError(samples []int64) float64 {
	known := make([]float64, 0, len(samples))
	for _, v := range samples {
		if v >= 0 {
			known = append(known, float64(v))
		}
	}
	return errorOfMean(len(known), func(i int) float64 { return known[i] })
}

// independentAt is how many independent samples there are behind a percentile with that value, from 1 to
// all of them: by how samples above and below it follow one another.
func independentAt(samples []int64, value float64) float64 {
	n := float64(len(samples))
	above := func(i int) float64 {
		if v := samples[i]; v < 0 || float64(v) > value {
			return 1
		}
		return 0
	}
	share := 0.0
	for i := range samples {
		share += above(i) / n
	}
	e := errorOfMean(len(samples), above)
	if !(e > 0) {
		return n
	}
	return min(max(share*(1-share)/(e*e), 1), n)
}

// Trend is how a latency changed during a window.
type Trend struct {
	Measure Key `json:"measure"`
	// PerHour is the change an hour as a share of the mean, PlusMinus half of its 95 %
	// confidence interval.
	PerHour   float64 `json:"per_hour"`
	PlusMinus float64 `json:"plus_minus"`
	// Clear is true where the change is beyond chance, and more than 5 % in a window of a minute or more.
	Clear bool `json:"clear"`
}

// newTrend is of values at instants in order, in nanoseconds; false of fewer than eight bins.
func newTrend(at, values []float64) (Trend, bool) {
	const leastBins, clearErrors = 8, 1.5 // halves of a 95 % interval: 3 standard errors
	ys, xs := binned(len(values), func(i int) float64 { return values[i] }), binned(len(at), func(i int) float64 { return at[i] - at[0] })
	if len(ys) < leastBins {
		return Trend{}, false
	}
	offset, slope := stat.LinearRegression(xs, ys, nil, false)
	rest := make([]float64, len(ys))
	for i := range ys {
		rest[i] = ys[i] - offset - slope*xs[i]
	}
	n := float64(len(ys))
	_, spread := stat.PopMeanVariance(xs, nil)
	_, variance := stat.PopMeanVariance(rest, nil)
	e := confidence * math.Sqrt(variance/(n-2)*inefficiency(rest)/spread)
	mean := stat.Mean(ys, nil)
	if !(spread > 0) || !(mean > 0) {
		return Trend{}, false
	}
	const hour = 3600 * perSecond
	length := at[len(at)-1] - at[0]
	isClear := math.Abs(slope) > clearErrors*e && math.Abs(slope)*length/mean > fairPart && length >= hour/60
	return Trend{PerHour: slope * hour / mean, PlusMinus: e * hour / mean, Clear: isClear}, true
}
