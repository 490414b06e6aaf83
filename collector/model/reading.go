package model

import (
	"slices"
	"strings"
)

// Metric is the name of a metric of cards or slices without the prefix "accelerator_".
// The package collector has the table of all of them; a test there holds every
// vendor's tables against it.
type Metric string

// IsSliceMetric reports whether the metric is one of slices, and no card's.
func (m Metric) IsSliceMetric() bool { return strings.HasPrefix(string(m), "slice_") }

// Reading is one value that a tool printed, in base units.
type Reading struct {
	Metric Metric
	Labels []string // values of the metric's own labels, in the order of its table
	Value  float64
}

// Readings are those of one card or slice, each metric once for the same labels.
type Readings []Reading

// Get returns the value of a metric, false when it was not printed.
func (rs Readings) Get(m Metric, labels ...string) (float64, bool) {
	for i := range rs {
		if rs[i].Metric == m && slices.Equal(rs[i].Labels, labels) {
			return rs[i].Value, true
		}
	}
	return 0, false
}

// Has reports whether a metric was printed.
func (rs Readings) Has(m Metric, labels ...string) bool {
	_, ok := rs.Get(m, labels...)
	return ok
}

// Add adds a reading, unless there is one of the same metric and labels already.
func (rs *Readings) Add(r Reading) {
	if !rs.Has(r.Metric, r.Labels...) {
		*rs = append(*rs, r)
	}
}
