package queries

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	common "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// TextProblems returns what is wrong with the texts of an alert: with labels that they take from its result, and with
// the queries in them. Prometheus itself expands them.
func (g *Golden) TextProblems(r Rule) []string {
	result, problems := g.evaluate(r.Expr)
	if len(problems) > 0 {
		return nil // they are the expression's own
	}
	for _, texts := range []map[string]string{r.Labels, r.Annotations} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			var found []string
			for _, s := range result {
				of := s.Metric.Map()
				for label := range labelNames(result) {
					of[label] = s.Metric.Get(label) // nothing, where only others have it
				}
				if found = g.textProblems(texts[name], of, s); len(found) == 0 {
					break // what the text asks for may be of one vendor
				}
			}
			for _, p := range found {
				problems = append(problems, name+": "+p)
			}
		}
	}
	return problems
}

// textProblems is what is wrong with a text about one series.
func (g *Golden) textProblems(text string, of map[string]string, s promql.Sample) []string {
	full, empty := expansion{golden: g, has: map[string]bool{}}, expansion{golden: g, has: map[string]bool{}, empty: true}
	err := full.expand(text, of, s)
	// What a text says where a query returns nothing may have queries too, and fail for want of an answer.
	_ = empty.expand(text, of, s)
	problems := slices.Concat(full.problems, empty.problems)
	if err != nil && len(problems) == 0 {
		problems = append(problems, err.Error())
	}
	if len(problems) == 0 {
		problems = full.lacking(text)
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// expansion is that of one text.
type expansion struct {
	golden   *Golden
	empty    bool            // answers nothing
	has      map[string]bool // labels of the answers
	problems []string
}

func (x *expansion) expand(text string, of map[string]string, s promql.Sample) error {
	// The variables that Prometheus declares.
	const variables = `{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}`
	data := template.AlertTemplateData(of, nil, "", s)
	_, err := template.NewTemplateExpander(context.Background(), variables+text, "text", data, common.Time(now().UnixMilli()), x.query, &url.URL{}, []string{"missingkey=error"}).Expand()
	return err
}

// query answers a query of the text.
func (x *expansion) query(_ context.Context, expr string, _ time.Time) (promql.Vector, error) {
	result, problems := x.golden.evaluate(expr)
	if strings.Contains(expr, "%!") {
		problems = append(problems, "printf says "+expr)
	}
	x.problems = append(x.problems, problems...)
	maps.Copy(x.has, labelNames(result))
	if x.empty {
		return nil, nil
	}
	return result, nil
}

// lacking tells which labels the text takes from answers that do not have them.
func (x *expansion) lacking(text string) []string {
	var problems []string
	for _, m := range regexp.MustCompile(`\blabel "(\w+)"`).FindAllStringSubmatch(text, -1) {
		if !x.has[m[1]] && m[1] != labels.MetricName {
			problems = append(problems, fmt.Sprintf("the answers have no label %s, but %s", m[1], list(x.has)))
		}
	}
	return problems
}
