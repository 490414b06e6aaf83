package queries

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// The samples of all series: one a minute, the last at the time of evaluation.
const (
	step    = time.Minute
	samples = 16
)

// now is when expressions are evaluated.
func now() time.Time { return time.UnixMilli(0).Add((samples - 1) * step) }

// series is a metric's name and labels, and what its samples do.
type series struct {
	labels labels.Labels
	kind   Kind
	value  float64 // of a gauge always, of the others what a step adds
}

func (s series) name() string { return s.labels.Get(model.MetricNameLabel) }

// points are the samples of a series.
func (s series) points() promql.Series {
	p := promql.Series{Metric: s.labels}
	for i := range samples {
		at, value := int64(i)*step.Milliseconds(), s.value
		if s.kind != Gauge {
			value *= float64(i)
		}
		if s.kind != Native {
			p.Floats = append(p.Floats, promql.FPoint{T: at, F: value})
			continue
		}
		p.Histograms = append(p.Histograms, promql.HPoint{T: at, H: &histogram.FloatHistogram{
			Count: value, Sum: value, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []float64{value},
		}})
	}
	return p
}

// add stores a series, unless it is there already.
func (g *Golden) add(s series) {
	name := s.name()
	if !slices.ContainsFunc(g.metrics[name], func(known promql.Series) bool { return labels.Equal(known.Metric, s.labels) }) {
		g.metrics[name] = append(g.metrics[name], s.points())
	}
}

// find returns the series that fit all matchers.
func (g *Golden) find(matchers ...*labels.Matcher) []promql.Series {
	var all []promql.Series
	for name, of := range g.metrics {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel && !m.Matches(name) }) {
			continue
		}
		for _, s := range of {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Metric.Get(m.Name)) }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// queryable lets Prometheus' engine evaluate over the series.
func (g *Golden) queryable() storage.Queryable {
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &seriesSet{rest: g.find(matchers...)}
		},
	}}
}

// seriesSet hands out series one by one.
type seriesSet struct {
	at   promql.Series
	rest []promql.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return promql.NewStorageSeries(s.at) }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// last are the samples of series at the time of evaluation.
func last(all []promql.Series) promql.Vector {
	var v promql.Vector
	for _, s := range all {
		sample := promql.Sample{Metric: s.Metric}
		if n := len(s.Floats); n > 0 {
			sample.F = s.Floats[n-1].F
		} else {
			sample.H = s.Histograms[len(s.Histograms)-1].H
		}
		v = append(v, sample)
	}
	return v
}

// labelNames are the labels that some of the series have, but the name.
func labelNames(all promql.Vector) map[string]bool {
	names := map[string]bool{}
	for _, s := range all {
		s.Metric.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel && l.Value != "" {
				names[l.Name] = true
			}
		})
	}
	return names
}

// values are those of a label among series, without the empty one.
func values(all promql.Vector, label string) []string {
	found := map[string]bool{}
	for _, s := range all {
		found[s.Metric.Get(label)] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}
