package result

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// histogramTop is the longest gap that a histogram tells apart: no request of a load
	// test takes a day.
	histogramTop    = int64(24 * time.Hour)
	histogramDigits = 3
)

// Samples are integers, of nanoseconds or of tokens: these are how many of them make one
// of the report's units.
const (
	perSecond = 1e9
	perToken  = 1
)

// Distribution sums up samples: seconds, or tokens for lengths. All but Count is
// 0 when Count is.
type Distribution struct {
	Count       int64        `json:"count"`
	Mean        float64      `json:"mean"`
	Std         float64      `json:"std"` // of the population, as numpy.std
	Min         float64      `json:"min"`
	Max         float64      `json:"max"`
	Percentiles []Percentile `json:"percentiles,omitempty"` // ascending, the median among them; of gaps and lags within 0.1 %
}

// Percentile is one percentile of a [Distribution], interpolated linearly as
// numpy.percentile does.
type Percentile struct {
	P     float64 `json:"p"` // above 0, below 100
	Value float64 `json:"value"`
}

// At is the percentile p, and whether the distribution holds it.
func (d Distribution) At(p float64) (float64, bool) {
	for _, q := range d.Percentiles {
		if q.P == p {
			return q.Value, true
		}
	}
	return 0, false
}

// newDistribution is of samples that are all kept, in so many units to one of the
// report's. It sorts them.
func newDistribution(samples []int64, percentiles []float64, unit float64) Distribution {
	if len(samples) == 0 {
		return Distribution{}
	}
	slices.Sort(samples)
	var m moments
	for _, v := range samples {
		m.add(float64(v), 1)
	}
	d := m.distribution(samples[0], samples[len(samples)-1], unit)
	for _, p := range percentiles {
		value := interpolated(p, m.n, func(i int64) float64 { return float64(samples[i]) })
		d.Percentiles = append(d.Percentiles, Percentile{p, value / unit})
	}
	return d
}

// interpolated is the percentile p of n values in order as numpy.percentile has it: at
// (n-1)p/100, on a line between the values beside it.
func interpolated(p float64, n int64, at func(i int64) float64) float64 {
	i, part := math.Modf(p / 100 * float64(n-1))
	low := at(int64(i))
	if part == 0 {
		return low
	}
	return low + part*(at(int64(i)+1)-low)
}

// moments are Welford's running mean and sum of squares.
type moments struct {
	n        int64
	mean, m2 float64
}

// add takes a value so many times.
func (m *moments) add(v float64, times int64) {
	m.n += times
	delta := v - m.mean
	m.mean += delta * float64(times) / float64(m.n)
	m.m2 += delta * (v - m.mean) * float64(times)
}

// errorSquared is that of the mean's standard error, infinite of less than two values.
func (m *moments) errorSquared() float64 {
	if m.n < 2 {
		return math.Inf(1)
	}
	return m.m2 / float64(m.n-1) / float64(m.n)
}

func (m *moments) distribution(least, most int64, unit float64) Distribution {
	return Distribution{
		Count: m.n, Mean: m.mean / unit, Std: math.Sqrt(m.m2/float64(m.n)) / unit,
		Min: float64(least) / unit, Max: float64(most) / unit,
	}
}

// histogram counts durations where there are too many to keep: gaps between chunks. All
// but its percentiles is exact.
type histogram struct {
	moments
	counts   *hdrhistogram.Histogram
	min, max int64
}

func newHistogram() *histogram {
	return &histogram{counts: hdrhistogram.New(1, histogramTop, histogramDigits), min: math.MaxInt64}
}

// add counts a duration so many times. A clock that was set back gives 0.
func (h *histogram) add(v, times int64) {
	v = max(0, v)
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.moments.add(float64(v), times)
	_ = h.counts.RecordValues(min(v, histogramTop), times) // in range, so it cannot fail
}

func (h *histogram) distribution(percentiles []float64) Distribution {
	if h.n == 0 {
		return Distribution{}
	}
	d := h.moments.distribution(h.min, h.max, perSecond)
	for _, p := range percentiles {
		d.Percentiles = append(d.Percentiles, Percentile{p, h.percentile(p) / perSecond})
	}
	return d
}

// percentile is in nanoseconds.
func (h *histogram) percentile(p float64) float64 {
	return interpolated(p, h.n, func(i int64) float64 {
		top := h.counts.ValueAtPercentile(100 * float64(i+1) / float64(h.n)) // of its bucket
		return float64(min(max(top, h.min), h.max))
	})
}
