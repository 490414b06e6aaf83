package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// defaultMaxExact is [Options.MaxExact] when that is 0.
	defaultMaxExact = 1_000_000
	// histogramTop is the most a histogram tells apart, in samples' units: no
	// request of a load test takes a day.
	histogramTop   = int64(24 * time.Hour)
	histogramDigit = 3
	median         = 50
	// usualPercentile is the one to give where none was asked for.
	usualPercentile = 99
)

// perSecond is how many units of a sample make a second, perToken how many make a
// token: samples are kept as integers, of nanoseconds or of tokens.
const (
	perSecond = 1e9
	perToken  = 1
)

// moments are Welford's running mean and sum of squares.
type moments struct {
	n        int64
	mean, m2 float64
}

func (m *moments) add(v float64) {
	m.n++
	delta := v - m.mean
	m.mean += delta / float64(m.n)
	m.m2 += delta * (v - m.mean)
}

// variance is the sample's, of two values at least.
func (m *moments) variance() float64 { return m.m2 / float64(m.n-1) }

// join adds the values of o.
func (m *moments) join(o moments) {
	n, delta := float64(m.n+o.n), o.mean-m.mean
	m.m2 += o.m2 + delta*delta*float64(m.n)*float64(o.n)/n
	m.mean += delta * float64(o.n) / n
	m.n += o.n
}

// samples are one distribution, in bounded memory: up to limit samples are kept
// as they are, more are counted in a histogram. Count, mean, deviation, minimum
// and maximum are exact either way.
type samples struct {
	moments  // in the samples' own units
	limit    int
	min, max int64
	kept     []int64
	hist     *hdrhistogram.Histogram // nil while all samples are kept
}

// add takes a sample. What cannot be below 0 is not: a clock that was set back
// gives 0.
func (s *samples) add(v int64) {
	v = max(0, v)
	if s.n == 0 {
		s.min, s.max = v, v
	}
	s.min, s.max = min(s.min, v), max(s.max, v)
	s.moments.add(float64(v))
	s.keep(v)
}

func (s *samples) keep(v int64) {
	if s.hist == nil && len(s.kept) < s.limit {
		s.kept = append(s.kept, v)
		return
	}
	s.toHistogram()
	s.count(v)
}

// toHistogram moves what is kept into the histogram.
func (s *samples) toHistogram() {
	if s.hist != nil {
		return
	}
	s.hist = hdrhistogram.New(1, histogramTop, histogramDigit)
	for _, v := range s.kept {
		s.count(v)
	}
	s.kept = nil
}

func (s *samples) count(v int64) {
	_ = s.hist.RecordValue(min(v, histogramTop)) // in range, so it cannot fail
}

// join adds the samples of o, which is of no more use then.
func (s *samples) join(o *samples) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		*s = *o
		return
	}
	s.moments.join(o.moments)
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	if s.hist == nil && o.hist == nil && len(s.kept)+len(o.kept) <= s.limit {
		s.kept = append(s.kept, o.kept...)
		return
	}
	s.toHistogram()
	for _, v := range o.kept {
		s.count(v)
	}
	if o.hist != nil {
		s.hist.Merge(o.hist)
	}
}

// distribution sums the samples up, unit of them to one of the report's, with the
// percentiles ps.
func (s *samples) distribution(ps []float64, unit float64) Distribution {
	if s.n == 0 {
		return Distribution{}
	}
	d := Distribution{
		Count: s.n, Mean: s.mean / unit, Std: math.Sqrt(s.m2/float64(s.n)) / unit,
		Min: float64(s.min) / unit, Max: float64(s.max) / unit, Exact: s.hist == nil,
	}
	slices.Sort(s.kept)
	d.Percentiles = make([]Percentile, len(ps))
	for i, p := range ps {
		d.Percentiles[i] = Percentile{P: p, Value: s.quantile(p) / unit}
	}
	return d
}

// quantile needs what is kept sorted.
func (s *samples) quantile(p float64) float64 {
	if s.hist == nil {
		return interpolated(s.kept, p)
	}
	// A histogram gives the top of its bucket, which may be above the maximum.
	return float64(min(max(s.hist.ValueAtPercentile(p), s.min), s.max))
}

// p99 is in seconds. It is of a distribution that was summed up.
func (s *samples) p99() (seconds float64, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	return s.quantile(99) / perSecond, true
}

// interpolated is the percentile p of sorted values as numpy.percentile has it: at
// (n-1)p/100, on a line between the values beside it.
func interpolated(sorted []int64, p float64) float64 {
	at := p / 100 * float64(len(sorted)-1)
	below := int(at)
	low := float64(sorted[below])
	if below+1 == len(sorted) {
		return low
	}
	return low + (at-float64(below))*(float64(sorted[below+1])-low)
}

// percentiles are those to give: the wanted or the usual ones, the chosen and the
// median among them, ascending.
func percentiles(wanted, chosen []float64) ([]float64, error) {
	if len(wanted) == 0 {
		wanted = []float64{90, 95, usualPercentile}
	}
	ps := slices.Concat([]float64{median}, wanted, chosen)
	for _, p := range ps {
		if !(p > 0 && p < 100) {
			return nil, fmt.Errorf("percentile %v: give one above 0 and below 100", p)
		}
	}
	slices.SortFunc(ps, cmp.Compare[float64])
	return slices.Compact(ps), nil
}
