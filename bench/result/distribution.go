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
	// histogramTop is the longest gap that a histogram tells apart: no request of a load
	// test takes a day.
	histogramTop    = int64(24 * time.Hour)
	histogramDigits = 3
	// gapParts are into how many parts gaps are divided in the order of their requests, to
	// see how far their percentiles differ.
	gapParts = 10
)

// Samples are integers, of nanoseconds or of tokens: these are how many of them make one
// of the report's units.
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

func unknown() Value { return Value(math.NaN()) }

// Distribution sums up samples: seconds, or tokens for lengths. All but Count and Waiting is
// 0 when Count is.
type Distribution struct {
	Count int64 `json:"count"`
	// Waiting counts requests that ended by a timeout or stall before the sample was there. They
	// are in the percentiles, behind all others.
	Waiting int64   `json:"waiting,omitempty"`
	Mean    float64 `json:"mean"`
	// MeanError is half of the 95 % confidence interval of the mean, by the number of
	// independent samples.
	MeanError   Value        `json:"mean_plus_minus,omitzero"`
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
	// AtLeast is true where the percentile falls among requests that were still waiting when
	// they ended: Value is what is known of it.
	AtLeast bool `json:"at_least,omitempty"`
	// Error is half of the 95 % confidence interval, and Independent how many independent
	// samples it rests on; not known of gaps.
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

// ranked are samples in order: those that are known, and behind them what others waited.
type ranked struct{ known, waited []int64 }

// at is the i-th sample, or the least that it can be.
func (r ranked) at(i int64) float64 {
	if known := int64(len(r.known)); i >= known {
		longest := r.waited[i-known]
		if known > 0 {
			longest = max(longest, r.known[known-1])
		}
		return float64(longest)
	}
	return float64(r.known[i])
}

// newDistribution is of samples in the order of sending, in so many units to one of the report's.
func newDistribution(samples []int64, percentiles []float64, unit float64) Distribution {
	var r ranked
	var m moments
	for _, v := range samples {
		if v < 0 {
			r.waited = append(r.waited, ^v)
			continue
		}
		r.known = append(r.known, v)
		m.add(float64(v), 1)
	}
	slices.Sort(r.known)
	slices.Sort(r.waited)
	d := Distribution{Waiting: int64(len(r.waited))}
	if m.n > 0 {
		d = m.distribution(r.known[0], r.known[m.n-1], unit)
		d.Waiting, d.MeanError = int64(len(r.waited)), Value(standardError(samples)*confidence/unit)
	}
	last := int64(len(samples) - 1)
	for _, p := range percentiles {
		if last < 0 {
			break
		}
		value := interpolated(p, last+1, r.at)
		independent := independentAt(samples, value)
		off := confidence * 100 * math.Sqrt(p/100*(1-p/100)/independent)
		low, high := interpolated(max(0, p-off), last+1, r.at), interpolated(min(100, p+off), last+1, r.at)
		d.Percentiles = append(d.Percentiles, Percentile{
			P: p, Value: value / unit, AtLeast: math.Ceil(p/100*float64(last)) >= float64(len(r.known)),
			Error: Value((high - low) / 2 / unit), Independent: Value(independent),
		})
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
		Count: m.n, Mean: m.mean / unit, MeanError: unknown(), Std: math.Sqrt(m.m2/float64(m.n)) / unit,
		Min: float64(least) / unit, Max: float64(most) / unit,
	}
}

// histogram counts durations where there are too many to keep: gaps between chunks. All
// but its percentiles is exact.
type histogram struct {
	moments
	parts    [gapParts]gapPart
	min, max int64
}

// gapPart is a part of the gaps; counts is nil of none.
type gapPart struct {
	moments
	counts *hdrhistogram.Histogram
}

func newHistogram() *histogram { return &histogram{min: math.MaxInt64} }

// add counts a duration of a part so many times.
func (h *histogram) add(part int, v, times int64) {
	v = max(0, v)
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.moments.add(float64(v), times)
	one := &h.parts[part]
	if one.counts == nil {
		one.counts = hdrhistogram.New(1, histogramTop, histogramDigits)
	}
	one.moments.add(float64(v), times)
	_ = one.counts.RecordValues(min(v, histogramTop), times) // in range, so it cannot fail
}

func (h *histogram) distribution(percentiles []float64) Distribution {
	if h.n == 0 {
		return Distribution{}
	}
	all := hdrhistogram.New(1, histogramTop, histogramDigits)
	var means []float64
	var ofParts []map[float64]int64
	for _, part := range h.parts {
		if part.counts != nil {
			all.Merge(part.counts)
			means = append(means, part.mean)
			ofParts = append(ofParts, part.counts.ValueAtPercentiles(slices.Clone(percentiles)))
		}
	}
	d := h.moments.distribution(h.min, h.max, perSecond)
	d.MeanError = Value(partsError(means) / perSecond)
	for _, p := range percentiles {
		value := interpolated(p, h.n, func(i int64) float64 {
			top := all.ValueAtPercentile(100 * float64(i+1) / float64(h.n)) // of its bucket
			return float64(min(max(top, h.min), h.max))
		})
		var values []float64
		for _, part := range ofParts {
			values = append(values, float64(part[p]))
		}
		d.Percentiles = append(d.Percentiles, Percentile{P: p, Value: value / perSecond, Error: Value(partsError(values) / perSecond), Independent: unknown()})
	}
	return d
}

// partsError is half of the 95 % confidence interval of a figure that was taken of each part.
func partsError(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	_, variance := stat.MeanVariance(values, nil)
	return confidence * math.Sqrt(variance/float64(len(values))*inefficiency(values))
}
