package queries

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector checks the name, labels and values of a vector selector.
func (k *Checker) selector(e *parser.VectorSelector) shape {
	found := k.catalogue.named(e)
	if len(found) == 0 {
		k.problem("%s is no metric that is known", e)
		return shape{open: true}
	}
	var s shape
	for i, name := range found {
		m := k.catalogue.metrics[name]
		this := shape{labels: maps.Clone(m.labels), open: m.open, kind: m.kind, origins: map[string]bool{m.origin: true}}
		if i == 0 {
			s = this
		} else {
			s = either(s, this)
		}
		if e.Name != "" {
			k.matchers(e, m)
		}
	}
	for _, m := range e.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel || !s.may(m.Name):
		case m.Matches(""):
			if m.Type == labels.MatchEqual { // {label=""} asks for series without it
				delete(s.labels, m.Name)
			}
		default:
			s.labels[m.Name] = true
		}
	}
	return s
}

// named are the metrics that a selector means by name.
func (c *Catalogue) named(e *parser.VectorSelector) []string {
	if e.Name != "" {
		if _, ok := c.metrics[e.Name]; ok {
			return []string{e.Name}
		}
		return nil
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(c.metrics)) {
		if !slices.ContainsFunc(e.LabelMatchers, func(m *labels.Matcher) bool {
			return m.Name == model.MetricNameLabel && !m.Matches(name)
		}) {
			found = append(found, name)
		}
	}
	return found
}

// matchers checks the label matchers of one metric.
func (k *Checker) matchers(e *parser.VectorSelector, known metric) {
	for _, m := range e.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			continue
		}
		if _, ok := known.labels[m.Name]; !ok && !known.open {
			k.problem("%s has no label %s, but %s", e.Name, m.Name, shape{labels: known.labels})
			continue
		}
		values, isClosed := known.values[m.Name]
		if !isClosed || m.Value == "" || m.Value == anything {
			continue
		}
		if m.Name == labels.BucketLabel {
			k.boundary(e, m, values)
			continue
		}
		asked := m.SetMatches()
		if m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual {
			asked = []string{m.Value}
		}
		for _, value := range asked {
			if value != "" && !values[value] {
				k.problem("%s of %s is never %q, but %s", m.Name, e.Name, value, list(values))
			}
		}
		some := slices.ContainsFunc(slices.Collect(maps.Keys(values)), m.Matches)
		if m.Type == labels.MatchRegexp && len(asked) == 0 && !some && !m.Matches("") {
			k.problem("%s of %s never matches %q, but is one of %s", m.Name, e.Name, m.Value, list(values))
		}
	}
}

// boundary checks a bucket's boundary. Prometheus before 3.0 keeps the text that was
// sent, which for a whole number is 1.0 in OpenMetrics and 1 elsewhere: only a
// regular expression finds both.
func (k *Checker) boundary(e *parser.VectorSelector, m *labels.Matcher, boundaries map[string]bool) {
	asked := m.SetMatches()
	whole := false
	if m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual {
		asked, whole = []string{m.Value}, true
	}
	for _, value := range asked {
		if !hasBoundary(boundaries, value) {
			k.problem("le of %s is never %q, but %s", e.Name, value, list(boundaries))
			continue
		}
		number, _ := strconv.ParseFloat(value, 64) // is one
		plain := strconv.FormatFloat(number, 'f', -1, 64)
		if whole && !strings.ContainsAny(plain, ".I") {
			k.problem(`le=%q of %s is written %s.0 in OpenMetrics; ask for le=~"%s|%s.0"`, value, e.Name, plain, plain, plain)
		}
	}
}

func list(values map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}
