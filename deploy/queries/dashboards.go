// Package queries reads the PromQL of the dashboards. Its tests hold that, and the PromQL of rules, their tests and the
// documents, against the metrics that the programs export.
package queries

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// dashboard is what is read of Grafana's JSON.
type dashboard struct {
	UID        string  `json:"uid"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type panel struct {
	Title   string `json:"title"`
	Targets []struct {
		Expr         string `json:"expr"`
		RefID        string `json:"refId"`
		LegendFormat string `json:"legendFormat"`
		Instant      bool   `json:"instant"`
	} `json:"targets"`
	Panels []panel `json:"panels"` // of a row that is closed
}

type variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Query      any    `json:"query"` // text, or an object with the text in it
	IncludeAll bool   `json:"includeAll"`
	AllValue   string `json:"allValue"`
	Current    struct {
		Value any `json:"value"` // text, or a list of texts
	} `json:"current"`
}

// Dashboards reads the queries of the dashboards that match a pattern: of panels and variables.
func Dashboards(pattern string) ([]Query, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("listing dashboards %s: %d files, %w", pattern, len(files), err)
	}
	var all []Query
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", file, err)
		}
		all = append(all, d.queries(filepath.Base(file))...)
	}
	return all, nil
}

var labelValues = regexp.MustCompile(`^\s*(?:label_values\(\s*(.+?)\s*,\s*(\w+)|query_result\(\s*(.+?))\s*\)\s*$`)

func (d *dashboard) queries(file string) []Query {
	base := Query{File: file, Dashboard: d.UID, Variables: map[string]string{}}
	for _, v := range d.Templating.List {
		base.Variables[v.Name] = v.value()
		base.OneAtATime = base.OneAtATime || v.Type == "query" && !v.IncludeAll
	}
	var all []Query
	for _, v := range d.Templating.List {
		m := labelValues.FindStringSubmatch(v.text())
		if v.Type != "query" || m == nil {
			continue
		}
		q := base
		q.Panel, q.Instant, q.Expr = "variable "+v.Name, true, m[1]+m[3]
		if m[2] != "" {
			q.Labels = []string{m[2]}
		}
		all = append(all, q)
	}
	return append(all, panelQueries(base, d.Panels)...)
}

var legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

func panelQueries(base Query, panels []panel) []Query {
	var all []Query
	for _, p := range panels {
		for _, t := range p.Targets {
			q := base
			q.Panel, q.Ref, q.Expr, q.Instant = p.Title, t.RefID, t.Expr, t.Instant
			for _, m := range legendLabel.FindAllStringSubmatch(t.LegendFormat, -1) {
				q.Labels = append(q.Labels, m[1])
			}
			all = append(all, q)
		}
		all = append(all, panelQueries(base, p.Panels)...)
	}
	return all
}

// text is the variable's query, in either of the forms that Grafana has written.
func (v variable) text() string {
	if object, ok := v.Query.(map[string]any); ok {
		text, _ := object["query"].(string)
		return text
	}
	text, _ := v.Query.(string)
	return text
}

// value is what the variable holds when the dashboard is opened, as PromQL sees it.
func (v variable) value() string {
	var values []string
	switch current := v.Current.Value.(type) {
	case string:
		values = append(values, current)
	case []any:
		for _, one := range current {
			values = append(values, fmt.Sprint(one))
		}
	}
	joined := strings.Join(values, "|")
	if joined == "$__all" && v.AllValue != "" {
		return v.AllValue
	}
	if joined == "$__all" || joined == "" {
		return ".*"
	}
	return joined
}
