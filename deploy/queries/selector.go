package queries

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector checks that a selector finds series, and each of its matchers something.
func (c *check) selector(e *parser.VectorSelector) part {
	var named, others []*labels.Matcher
	for _, m := range e.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel:
			named = append(named, m)
		case !takesAny(m):
			others = append(others, m)
		}
	}
	found := last(c.golden.find(named...))
	before := len(c.problems)
	if len(found) == 0 {
		c.problem("%s is no metric that is known", e)
	}
	for _, m := range named {
		c.names(e, m)
	}
	for _, m := range others {
		c.values(e, m, found)
	}
	if len(c.problems) > before {
		return part{expr: e, broken: true}
	}
	fitted, found := fit(others, found)
	if len(found) == 0 {
		c.problem("no series of %s fits all its matchers", e)
		return part{expr: e, broken: true}
	}
	return part{
		expr:   &parser.VectorSelector{Name: e.Name, LabelMatchers: append(slices.Clone(named), fitted...)},
		series: found,
	}
}

// names checks each alternative of a name that is asked for by regular expression.
func (c *check) names(e *parser.VectorSelector, m *labels.Matcher) {
	for _, alternative := range parts(m) {
		if m.Type == labels.MatchRegexp && !slices.ContainsFunc(slices.Collect(maps.Keys(c.golden.metrics)), alternative.Matches) {
			c.problem("%s: %s is no metric that is known", e, alternative.Value)
		}
	}
}

// values checks the label of a matcher, and each value of a closed one for itself.
func (c *check) values(e *parser.VectorSelector, m *labels.Matcher, among promql.Vector) {
	if len(among) == 0 {
		return
	}
	known := values(among, m.Name)
	if len(known) == 0 {
		c.problem("%s has no label %s, but %s", e, m.Name, list(labelNames(among)))
		return
	}
	if m.Value == anything || !closedIn(among, m.Name) {
		return
	}
	for _, alternative := range parts(m) {
		if alternative.Value != "" && !slices.ContainsFunc(known, alternative.Matches) &&
			(!alternative.Matches("") || len(among) == len(having(among, m.Name))) {
			c.problem("%s of %s is never %q, but %s", m.Name, e, alternative.Value, strings.Join(known, ", "))
		}
	}
	// Which of 1 and 1.0 is written depends on the format of the scrape.
	if number, err := strconv.Atoi(m.Value); m.Name == labels.BucketLabel && err == nil && (m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual) {
		c.problem(`le=%q of %s is written %d.0 in OpenMetrics; ask for le=~"%d|%d.0"`, m.Value, e, number, number, number)
	}
}

// closedIn reports whether all values of a label are known.
func closedIn(among promql.Vector, label string) bool {
	return !slices.ContainsFunc(among, func(s promql.Sample) bool { return !closed(s.Metric.Get(model.MetricNameLabel), label) })
}

// having are the series that have a label.
func having(all promql.Vector, label string) promql.Vector {
	return slices.DeleteFunc(slices.Clone(all), func(s promql.Sample) bool { return s.Metric.Get(label) == "" })
}

// fit returns matchers that find what fits those given, and what that is. Of an open label, whose values are not known,
// a value stands for the first there is, and an expression for any.
func fit(matchers []*labels.Matcher, among promql.Vector) ([]*labels.Matcher, promql.Vector) {
	var fitted, open []*labels.Matcher
	for _, m := range matchers {
		if m.Value != "" && (!closedIn(among, m.Name) || m.Value == anything) {
			open = append(open, m)
			continue
		}
		among, fitted = fitting(m, among), append(fitted, m)
	}
	for _, m := range open {
		if !m.Matches("") {
			among = having(among, m.Name)
		}
	}
	for _, m := range open {
		m = opened(m, among)
		among, fitted = fitting(m, among), append(fitted, m)
	}
	return fitted, among
}

// fitting are the series that a matcher finds.
func fitting(m *labels.Matcher, among promql.Vector) promql.Vector {
	return slices.DeleteFunc(slices.Clone(among), func(s promql.Sample) bool { return !m.Matches(s.Metric.Get(m.Name)) })
}

// opened is the matcher of an open label that finds something.
func opened(m *labels.Matcher, among promql.Vector) *labels.Matcher {
	known := values(among, m.Name)
	switch {
	case m.Type == labels.MatchEqual && len(known) > 0 && !slices.Contains(known, m.Value):
		return labels.MustNewMatcher(labels.MatchEqual, m.Name, known[0])
	case m.Type == labels.MatchRegexp && m.Matches(""), m.Type == labels.MatchNotRegexp, m.Type == labels.MatchNotEqual:
		return labels.MustNewMatcher(labels.MatchRegexp, m.Name, anything)
	case m.Type == labels.MatchRegexp:
		return labels.MustNewMatcher(labels.MatchRegexp, m.Name, ".+")
	}
	return m
}

// takesAny reports whether a matcher holds a variable that takes any value.
func takesAny(m *labels.Matcher) bool {
	return (m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp) && slices.Contains(alternatives(m.Value), anything)
}

// parts are what a matcher asks for, each in a matcher of its own, also where it asks for all others.
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

// alternatives are what stands between the bars of a regular expression, brackets taken as a whole.
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
