package collector

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// part is what one source gives a scrape: a main table, what a command said of a card, the nodes. It is not changed once it
// is made: there are thousands of samples, and they outlive many scrapes.
type part struct {
	source  any // a pointer to what is not changed either
	samples []sample
	err     error // of those that could not be made
}

// sample is a metric that is ready for a scrape.
type sample struct {
	part   *part
	series *series
	key    string // the values of its labels, by which a family is sorted
	metric *dto.Metric
}

// add makes a sample: the one place where texts of tools become labels. Lists are labels as they are.
func (p *part) add(s *series, v float64, labels []string, lists ...string) {
	for i := range labels {
		labels[i] = labelValue(labels[i])
	}
	m, err := prometheus.NewConstMetric(s.desc, s.kind, v, append(labels, lists...)...)
	if err != nil { // a panic here would cost the other collectors their series
		p.err = errors.Join(p.err, fmt.Errorf("%s: %w", s.name, err))
		return
	}
	made := sample{part: p, series: s, metric: new(dto.Metric)}
	_ = m.Write(made.metric) // never fails for a constant
	for _, l := range made.metric.Label {
		made.key += l.GetValue() + "\x00"
	}
	p.samples = append(p.samples, made)
}

// families returns the metric families of all parts, in no order; their samples are sorted. Where two parts have the same
// sample, the first one counts.
func families(parts []*part) (all []*dto.MetricFamily, err error) {
	bySeries := map[*series][]sample{}
	for _, p := range parts {
		err = errors.Join(err, p.err)
		for _, s := range p.samples {
			bySeries[s.series] = append(bySeries[s.series], s)
		}
	}
	for series, samples := range bySeries {
		slices.SortStableFunc(samples, func(a, b sample) int { return strings.Compare(a.key, b.key) })
		f := &dto.MetricFamily{Name: &series.name, Help: &series.help, Type: series.kind.ToDTO()}
		for i, s := range samples {
			switch {
			case i == 0 || s.key != samples[i-1].key:
				f.Metric = append(f.Metric, s.metric)
			case s.part == samples[i-1].part:
				err = errors.Join(err, fmt.Errorf("%s: twice with the same labels: %q", series.name, s.key))
			}
		}
		all = append(all, f)
	}
	return all, err
}
