package queries

import (
	"context"
	"maps"
	"slices"
	"time"

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
	value  float64  // of a gauge always, of the others what a step adds
	empty  []string // labels that are exported without a value
}

// points are the samples of a series.
func (s series) points() promql.Series {
	p := promql.Series{Metric: s.labels}
	for i := range samples {
		at, grown := int64(i)*step.Milliseconds(), float64(i)*s.value
		switch s.kind {
		case Native:
			p.Histograms = append(p.Histograms, promql.HPoint{T: at, H: &histogram.FloatHistogram{
				Count: grown, Sum: grown, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []float64{grown},
			}})
		case Counter:
			p.Floats = append(p.Floats, promql.FPoint{T: at, F: grown})
		default:
			p.Floats = append(p.Floats, promql.FPoint{T: at, F: s.value})
		}
	}
	return p
}

// add stores a series, unless it is there already.
func (g *Golden) add(s series) {
	name := s.labels.Get(labels.MetricName)
	if !slices.ContainsFunc(g.metrics[name], func(known promql.Series) bool { return labels.Equal(known.Metric, s.labels) }) {
		g.metrics[name] = append(g.metrics[name], s.points())
	}
}

// find returns the series that fit all matchers.
func (g *Golden) find(matchers ...*labels.Matcher) []promql.Series {
	misses := func(m *labels.Matcher, of labels.Labels) bool { return !m.Matches(of.Get(m.Name)) }
	var all []promql.Series
	for name, of := range g.metrics {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return m.Name == labels.MetricName && !m.Matches(name) }) {
			continue
		}
		for _, s := range of {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return misses(m, s.Metric) }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Querier lets Prometheus' engine evaluate over the series.
func (g *Golden) Querier(int64, int64) (storage.Querier, error) { return querier{g}, nil }

type querier struct{ golden *Golden }

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return &seriesSet{rest: q.golden.find(matchers...)}
}

// LabelValues and LabelNames serve an API that nothing here asks.
func (q querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q querier) Close() error { return nil }

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

// labelNames are the labels that some of the series have, but the name.
func labelNames(all promql.Vector) map[string]bool {
	names := map[string]bool{}
	for _, s := range all {
		s.Metric.Range(func(l labels.Label) {
			if l.Name != labels.MetricName && l.Value != "" {
				names[l.Name] = true
			}
		})
	}
	return names
}

// values are those of a label among series, without the empty one.
func values(all []promql.Series, label string) []string {
	found := map[string]bool{}
	for _, s := range all {
		found[s.Metric.Get(label)] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}
