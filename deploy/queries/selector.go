package queries

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector checks the name, labels and values of a vector selector.
func (k *checker) selector(e *parser.VectorSelector) shape {
	found := k.catalogue.named(e)
	if len(found) == 0 {
		k.problem("%s is no metric that is known", e)
		return shape{open: true}
	}
	k.names(e)
	fitting := slices.DeleteFunc(slices.Clone(found), func(name string) bool {
		return len(k.catalogue.refused(name, e.LabelMatchers)) > 0
	})
	if len(fitting) == 0 {
		if len(found) > 1 {
			k.problem("%s fits none of the %d metrics that have such names", e, len(found))
		} else {
			k.problems = append(k.problems, k.catalogue.refused(found[0], e.LabelMatchers)...)
		}
		fitting = found
	}
	s := k.catalogue.metrics[fitting[0]].shape()
	for _, name := range fitting[1:] {
		s = either(s, k.catalogue.metrics[name].shape())
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
			if m.Type == labels.MatchEqual {
				s.fixed[m.Name] = m.Value
			}
		}
	}
	return s
}

// shape is what is known of all series of a metric.
func (m metric) shape() shape {
	s := shape{labels: maps.Clone(m.labels), open: m.open, kind: m.kind, origins: map[string]bool{m.origin: true}, fixed: map[string]string{}}
	for label, values := range m.values {
		if len(values) == 1 && m.labels[label] {
			s.fixed[label] = list(values)
		}
	}
	return s
}

// names checks each alternative of a name that is asked for by regular expression.
func (k *checker) names(e *parser.VectorSelector) {
	for _, m := range e.LabelMatchers {
		if m.Name != model.MetricNameLabel || m.Type != labels.MatchRegexp {
			continue
		}
		for _, part := range parts(m) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(k.catalogue.metrics)), part.Matches) {
				k.problem("%s: %s is no metric that is known", e, part.Value)
			}
		}
	}
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

// refused tells what is wrong with the label matchers for a metric.
func (c *Catalogue) refused(name string, matchers []*labels.Matcher) []string {
	known := c.metrics[name]
	var problems []string
	for _, m := range matchers {
		_, has := known.labels[m.Name]
		switch values, isClosed := known.values[m.Name]; {
		case m.Name == model.MetricNameLabel || takesAny(m):
		case !has && !known.open:
			problems = append(problems, fmt.Sprintf("%s has no label %s, but %s", name, m.Name, known.shape()))
		case m.Value == "" && m.Matches("") && known.labels[m.Name]:
			problems = append(problems, fmt.Sprintf("%s of %s is never empty", m.Name, name))
		case !isClosed || m.Value == "":
		case m.Name == labels.BucketLabel:
			problems = append(problems, boundary(name, m, values)...)
		default:
			problems = append(problems, outside(name, m, values, !known.labels[m.Name])...)
		}
	}
	if len(problems) == 0 && !known.occurs(func(label, value string) bool {
		return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
			return m.Name == label && !takesAny(m) && !m.Matches(value)
		})
	}) {
		problems = append(problems, fmt.Sprintf("no series of %s fits all of %s", name, matchers))
	}
	return problems
}

// takesAny tells whether a matcher holds a variable whose values are not known.
func takesAny(m *labels.Matcher) bool {
	return slices.Contains(alternatives(m.Value), anything)
}

// outside tells what a matcher asks for and a closed label never has.
func outside(name string, m *labels.Matcher, values map[string]bool, mayLack bool) []string {
	some := func(m *labels.Matcher) bool {
		return mayLack && m.Matches("") || slices.ContainsFunc(slices.Collect(maps.Keys(values)), m.Matches)
	}
	var problems []string
	for _, part := range parts(m) {
		if part.Value != "" && !some(part) {
			problems = append(problems, fmt.Sprintf("%s of %s is never %q, but %s", m.Name, name, part.Value, list(values)))
		}
	}
	if len(problems) == 0 && !some(m) {
		problems = append(problems, fmt.Sprintf("%s leaves none of %s of %s", m, list(values), name))
	}
	return problems
}

// parts are what a matcher asks for, each in a matcher of its own, also where it asks
// for all others.
func parts(m *labels.Matcher) []*labels.Matcher {
	kind, asked := labels.MatchEqual, m.SetMatches()
	switch {
	case m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual:
		asked = []string{m.Value}
	case len(asked) == 0:
		kind, asked = labels.MatchRegexp, alternatives(m.Value)
	}
	var all []*labels.Matcher
	for _, value := range asked {
		part, err := labels.NewMatcher(kind, m.Name, value)
		if err != nil { // taken apart in the wrong place
			return []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, m.Name, m.Value)}
		}
		all = append(all, part)
	}
	return all
}

// alternatives are what stands between the bars of a regular expression, brackets
// taken as a whole.
func alternatives(expr string) []string {
	if strings.Contains(expr, "(?") || strings.Contains(expr, `\Q`) {
		return []string{expr} // flags hold for what follows them
	}
	var all []string
	start, depth, class := 0, 0, false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			all, start = append(all, expr[start:i]), i+1
		}
	}
	return append(all, expr[start:])
}

// boundary checks a bucket's boundary. Prometheus before 3.0 keeps the text that was
// sent, which for a whole number is 1.0 in OpenMetrics and 1 elsewhere: only a
// regular expression finds both.
func boundary(name string, m *labels.Matcher, boundaries map[string]bool) []string {
	var problems []string
	asked := m.SetMatches()
	whole := false
	if m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual {
		asked, whole = []string{m.Value}, true
	}
	for _, value := range asked {
		if !hasBoundary(boundaries, value) {
			problems = append(problems, fmt.Sprintf("le of %s is never %q, but %s", name, value, list(boundaries)))
			continue
		}
		number, _ := strconv.ParseFloat(value, 64) // is one
		plain := strconv.FormatFloat(number, 'f', -1, 64)
		if whole && !strings.ContainsAny(plain, ".I") {
			problems = append(problems, fmt.Sprintf(`le=%q of %s is written %s.0 in OpenMetrics; ask for le=~"%s|%s.0"`, value, name, plain, plain, plain))
		}
	}
	return problems
}

func list(values map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}
