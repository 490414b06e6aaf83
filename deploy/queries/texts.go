package queries

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// TextProblems returns what is wrong with the texts of an alert: with labels that they take from its result, and with
// the queries in them. Prometheus itself expands them. A text may be about one vendor: one good series is enough.
func (g *Golden) TextProblems(r Rule) []string {
	result, problems := g.evaluate(r.Expr)
	if len(problems) > 0 {
		return nil // they are the expression's own
	}
	texts := maps.Clone(r.Labels)
	if texts == nil {
		texts = map[string]string{}
	}
	maps.Copy(texts, r.Annotations)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		var found []string
		for _, s := range result {
			of := s.Metric.Map()
			for label := range labelNames(result) {
				of[label] = s.Metric.Get(label) // empty where only others have it
			}
			data := template.AlertTemplateData(of, nil, "", s)
			if found = g.expand(texts[name], data); len(found) == 0 {
				break
			}
		}
		for _, problem := range found {
			problems = append(problems, name+": "+problem)
		}
	}
	return problems
}

// expand returns what is wrong with a text.
func (g *Golden) expand(text string, data any) (problems []string) {
	const variables = `{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}`
	has := map[string]bool{} // labels of the answers
	expand := func(answers bool) error {
		query := func(_ context.Context, expr string, _ time.Time) (promql.Vector, error) {
			result, found := g.evaluate(expr)
			if problems = append(problems, found...); strings.Contains(expr, "%!") {
				problems = append(problems, "printf says "+expr)
			}
			maps.Copy(has, labelNames(result))
			if !answers {
				return nil, nil
			}
			return result, nil
		}
		_, err := template.NewTemplateExpander(context.Background(), variables+text, "text", data, model.Time(now().UnixMilli()), query,
			&url.URL{}, []string{"missingkey=error"}).Expand()
		return err
	}
	// What a text says where there is no answer may have queries too, and may well fail.
	_ = expand(false)
	if err := expand(true); err != nil && len(problems) == 0 {
		problems = append(problems, err.Error())
	}
	for _, m := range regexp.MustCompile(`\blabel "(\w+)"`).FindAllStringSubmatch(text, -1) {
		if len(problems) == 0 && !has[m[1]] {
			problems = append(problems, "the answers have no label "+m[1]+", but "+list(has))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}
