package result

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/gonum/stat"
)

const (
	// confidence is how many standard errors make half of a 95 % confidence interval.
	confidence = 1.96
	// maxBins bounds the runs of successive samples whose means are looked at for how they depend on one another.
	maxBins         = 256
	histogramTop    = int64(24 * time.Hour) // no gap between chunks takes longer
	histogramDigits = 3
	gapParts        = 10 // into which gaps are divided in the order of their requests, to see how far these differ
)

// A sample is nanoseconds or tokens. So many of them make one of the report's units.
const (
	perSecond = 1e9
	perToken  = 1
)

// Value is a figure, NaN where it is not known, which JSON has as null.
type Value float64

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(v), 'g', -1, 64), nil
}

// Known reports whether there is a figure.
func (v Value) Known() bool { return !math.IsNaN(float64(v)) }

// IsZero leaves a figure that is not known out of JSON where its tag says omitzero.
func (v Value) IsZero() bool { return !v.Known() }

// Unknown is a figure that is not known.
func Unknown() Value { return Value(math.NaN()) }

// Distribution sums up seconds, or tokens. All but Count, Waiting and Percentiles is 0 when Count is.
type Distribution struct {
	Count int64 `json:"count"`
	// Waiting counts requests that ended by a timeout or stall before the sample was there. They
	// are in the percentiles, behind all others.
	Waiting int64   `json:"waiting,omitempty"`
	Mean    float64 `json:"mean"`
	// MeanError is half of the 95 % confidence interval of the mean, by the number of independent samples.
	MeanError   Value        `json:"mean_plus_minus,omitzero"`
	Std         float64      `json:"std"` // of the population, as numpy.std
	Min         float64      `json:"min"`
	Max         float64      `json:"max"`
	Percentiles []Percentile `json:"percentiles,omitempty"` // ascending, the median among them; of gaps within 0.1 %
}

// Percentile is one percentile of a [Distribution], interpolated linearly as numpy.percentile does.
type Percentile struct {
	P     float64 `json:"p"` // above 0, below 100
	Value float64 `json:"value"`
	// AtLeast is true where the percentile falls among requests that were still waiting when
	// they ended: Value is what is known of it.
	AtLeast bool `json:"at_least,omitempty"`
	// Error is half of the 95 % confidence interval, not known where that ends beyond all samples.
	// Independent is how many independent samples there are; not known of gaps.
	Error       Value `json:"plus_minus,omitzero"`
	Independent Value `json:"independent,omitzero"`
}

// At is the percentile p, and whether the distribution holds it.
func (d Distribution) At(p float64) (Percentile, bool) {
	i := slices.IndexFunc(d.Percentiles, func(q Percentile) bool { return q.P == p })
	if i < 0 {
		return Percentile{}, false
	}
	return d.Percentiles[i], true
}

// newDistribution is of samples in the order of sending, as a [request] has them, so many units to one of the report's.
func newDistribution(samples []Value, percentiles []float64, unit float64) Distribution {
	if len(samples) == 0 {
		return Distribution{}
	}
	inOrder := make([]float64, len(samples)) // of sending; infinite where a request still waited
	var known, waited []float64
	for i, v := range samples {
		if v < 0 {
			inOrder[i] = math.Inf(1)
			waited = append(waited, float64(-v)/unit)
			continue
		}
		inOrder[i] = float64(v) / unit
		known = append(known, inOrder[i])
	}
	d := Distribution{Count: int64(len(known)), Waiting: int64(len(waited))}
	ranked := slices.Sorted(slices.Values(known))
	if len(known) > 0 {
		mean, variance := stat.PopMeanVariance(known, nil)
		d.Mean, d.Std, d.Min, d.Max = mean, math.Sqrt(variance), ranked[0], ranked[len(ranked)-1]
		d.MeanError = Value(confidence * errorOfMean(known))
	}
	slices.Sort(waited)
	for _, w := range waited {
		ranked = append(ranked, max(w, d.Max))
	}
	above := make([]float64, len(samples)) // 1 for a sample above a percentile
	rank := func(p float64) float64 { return interpolated(p, len(ranked), func(i int) float64 { return ranked[i] }) }
	for _, p := range percentiles {
		value := rank(p)
		for i, v := range inOrder {
			if above[i] = 0; v > value {
				above[i] = 1
			}
		}
		independent := float64(len(above)) // samples, by how those above and below the value follow one another
		if share, e := stat.Mean(above, nil), errorOfMean(above); e > 0 {
			independent = min(max(share*(1-share)/(e*e), 1), independent)
		}
		margin := confidence * 100 * math.Sqrt(p/100*(1-p/100)/independent)
		e := Unknown() // where the interval ends beyond all samples
		if p+margin < 100 && p-margin > 0 {
			e = Value(rank(p+margin)-rank(p-margin)) / 2
		}
		isWaiting := math.Ceil(p/100*float64(len(ranked)-1)) >= float64(len(known))
		d.Percentiles = append(d.Percentiles, Percentile{P: p, Value: value, AtLeast: isWaiting, Error: e, Independent: Value(independent)})
	}
	return d
}

// interpolated is the percentile p of n values in order, as numpy.percentile has it.
func interpolated(p float64, n int, at func(i int) float64) float64 {
	i, part := math.Modf(p / 100 * float64(n-1))
	low := at(int(i))
	if part == 0 {
		return low
	}
	return low + part*(at(int(i)+1)-low)
}

// errorOfMean is the standard error of the mean of values that depend on one another, NaN of less than two.
func errorOfMean(values []float64) float64 {
	bins := binned(values)
	if len(bins) < 2 {
		return math.NaN()
	}
	return math.Sqrt(stat.Variance(bins, nil) / float64(len(bins)) * inefficiency(bins))
}

// binned are the means of runs of successive values, each as long as the others.
func binned(values []float64) []float64 {
	n := len(values)
	bins := make([]float64, min(n, maxBins))
	for i := range bins {
		bins[i] = stat.Mean(values[i*n/len(bins):(i+1)*n/len(bins)], nil)
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

// newTrend is of values at instants in order, in nanoseconds; false of fewer than eight bins.
func newTrend(at, values []float64) (Trend, bool) {
	const leastBins, clearErrors = 8, 1.5 // halves of a 95 % interval: 3 standard errors
	xs, ys := binned(at), binned(values)
	if len(ys) < leastBins {
		return Trend{}, false
	}
	offset, slope := stat.LinearRegression(xs, ys, nil, false)
	rest := make([]float64, len(ys))
	for i := range ys {
		rest[i] = ys[i] - offset - slope*xs[i]
	}
	spread, mean := stat.PopVariance(xs, nil), stat.Mean(ys, nil)
	if !(spread > 0) || !(mean > 0) {
		return Trend{}, false
	}
	e := confidence * math.Sqrt(stat.PopVariance(rest, nil)/float64(len(ys)-2)*inefficiency(rest)/spread)
	const hour = 3600 * perSecond
	length := at[len(at)-1] - at[0]
	isClear := math.Abs(slope) > clearErrors*e && math.Abs(slope)*length/mean > fairPart && length >= hour/60
	return Trend{PerHour: slope * hour / mean, PlusMinus: e * hour / mean, Clear: isClear}, true
}

// moments are Welford's running mean and sum of squares.
type moments struct {
	n        int64
	mean, m2 float64
}

func (m *moments) add(v float64, times int64) {
	m.n += times
	delta := v - m.mean
	m.mean += delta * float64(times) / float64(m.n)
	m.m2 += delta * (v - m.mean) * float64(times)
}

// histogram counts durations where there are too many to keep: gaps between chunks. All but its percentiles is exact.
type histogram struct {
	moments
	parts    [gapParts]gapPart
	min, max int64
}

type gapPart struct {
	moments
	counts *hdrhistogram.Histogram // nil of no gaps
}

func newHistogram() *histogram { return &histogram{min: math.MaxInt64} }

func (h *histogram) add(part int, v, times int64) {
	v = max(0, v)
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.moments.add(float64(v), times)
	p := &h.parts[part]
	if p.counts == nil {
		p.counts = hdrhistogram.New(1, histogramTop, histogramDigits)
	}
	p.add(float64(v), times)
	_ = p.counts.RecordValues(min(v, histogramTop), times) // in range, so it cannot fail
}

func (h *histogram) distribution(percentiles []float64) Distribution {
	if h.n == 0 {
		return Distribution{}
	}
	all := hdrhistogram.New(1, histogramTop, histogramDigits)
	var means []float64
	values := map[float64][]float64{} // of each part, by percentile
	for _, part := range h.parts {
		if part.counts == nil {
			continue
		}
		all.Merge(part.counts)
		means = append(means, part.mean)
		for p, v := range part.counts.ValueAtPercentiles(slices.Clone(percentiles)) {
			values[p] = append(values[p], float64(v))
		}
	}
	d := Distribution{
		Count: h.n, Mean: h.mean / perSecond, MeanError: Value(confidence * errorOfMean(means) / perSecond),
		Std: math.Sqrt(h.m2/float64(h.n)) / perSecond, Min: float64(h.min) / perSecond, Max: float64(h.max) / perSecond,
	}
	for _, p := range percentiles {
		value := interpolated(p, int(h.n), func(i int) float64 {
			top := all.ValueAtPercentile(100 * float64(i+1) / float64(h.n)) // of its bucket
			return float64(min(max(top, h.min), h.max))
		})
		e := Value(confidence * errorOfMean(values[p]) / perSecond)
		d.Percentiles = append(d.Percentiles, Percentile{P: p, Value: value / perSecond, Error: e, Independent: Unknown()})
	}
	return d
}
