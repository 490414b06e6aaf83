package queries

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Query is one PromQL expression and where it stands.
type Query struct {
	File      string // base name of the file
	Dashboard string // uid of the dashboard, "" for a rule
	Panel     string // title of the panel, or what else the expression is of
	Ref       string // refId of a panel's query, "" elsewhere
	Expr      string // as written, with Grafana's variables in it
	// Instant is set where the panel asks for one point in time only.
	Instant bool
	// Labels are those that the panel's legend, or the variable, takes from the result.
	Labels []string
	// OneAtATime is set where a variable of the dashboard holds one value, such as a card, and never all.
	OneAtATime bool
	// Variables are the dashboard's own, with what they hold when it is opened.
	Variables map[string]string
}

// String tells where the query stands.
func (q Query) String() string {
	parts := []string{q.File}
	if q.Dashboard != "" {
		parts = append(parts, q.Dashboard)
	}
	parts = append(parts, fmt.Sprintf("%q", q.Panel))
	if q.Ref != "" {
		parts = append(parts, q.Ref)
	}
	return strings.Join(parts, " ")
}

// builtIn are the variables that Grafana itself fills, for a panel of an hour.
func builtIn() map[string]string {
	return map[string]string{
		"__interval": "15s", "__interval_ms": "15000", "__rate_interval": "1m",
		"__range": "1h", "__range_s": "3600", "__range_ms": "3600000",
		"__from": "0", "__to": "3600000", "__auto": "1m",
	}
}

// Substitute puts values where Grafana would: those given, else those of the
// dashboard, else Grafana's own. A variable that nothing tells is an error.
func (q Query) Substitute(given map[string]string) (string, error) {
	values := builtIn()
	maps.Copy(values, q.Variables)
	maps.Copy(values, given)
	// $1 of label_replace is no variable.
	variable := regexp.MustCompile(`\$\{([A-Za-z_]\w*)(?::\w+)?\}|\[\[([A-Za-z_]\w*)(?::\w+)?\]\]|\$([A-Za-z_]\w*)`)
	var unknown []string
	text := variable.ReplaceAllStringFunc(q.Expr, func(found string) string {
		name := strings.Join(variable.FindStringSubmatch(found)[1:], "")
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return value
	})
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return "", fmt.Errorf("%s: unknown variables: %s", q, strings.Join(slices.Compact(unknown), ", "))
	}
	return text, nil
}
