package queries

import (
	"encoding/json"
	"errors"
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
	Annotations struct {
		List []annotation `json:"list"`
	} `json:"annotations"`
}

type panel struct {
	Title   string   `json:"title"`
	Type    string   `json:"type"`
	Targets []target `json:"targets"`
	Panels  []panel  `json:"panels"` // of a row that is closed
}

type target struct {
	Expr         string `json:"expr"`
	RefID        string `json:"refId"`
	LegendFormat string `json:"legendFormat"`
	Instant      bool   `json:"instant"`
}

type variable struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Query    json.RawMessage `json:"query"` // text, or an object with the text in it
	AllValue string          `json:"allValue"`
	Current  struct {
		Value json.RawMessage `json:"value"` // text, or a list of texts
	} `json:"current"`
}

type annotation struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
}

// fromFiles reads the files of a folder in order, of which there may be none.
func fromFiles[T any](dir, pattern, what string, read func(file string) ([]T, error)) ([]T, error) {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", what, err)
	}
	var all []T
	for _, file := range files {
		some, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s from %s: %w", what, file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// Dashboards reads the queries of all dashboards in a folder: of panels,
// variables and annotations, in the order of the files.
func Dashboards(dir string) ([]Query, error) {
	all, err := fromFiles(dir, "*.json", "dashboards", readDashboard)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no queries in the dashboards of %s", dir)
	}
	return all, nil
}

func readDashboard(file string) ([]Query, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	if d.UID == "" {
		return nil, errors.New("no uid")
	}
	base := Query{File: filepath.Base(file), Dashboard: d.UID, Variables: map[string]string{}}
	for _, v := range d.Templating.List {
		base.Variables[v.Name] = v.value()
	}
	var all []Query
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		q, err := v.read(base)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		all = append(all, q)
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			q := base
			q.Panel, q.Expr = "annotation "+a.Name, a.Expr
			all = append(all, q)
		}
	}
	return append(all, panelQueries(base, d.Panels)...), nil
}

func panelQueries(base Query, panels []panel) []Query {
	var all []Query
	for _, p := range panels {
		for _, t := range p.Targets {
			q := base
			q.Panel, q.Ref, q.Expr, q.Instant = p.Title, t.RefID, t.Expr, t.Instant
			q.Labels = templateLabels(t.LegendFormat)
			all = append(all, q)
		}
		all = append(all, panelQueries(base, p.Panels)...)
	}
	return all
}

// templateLabels are the labels that a legend names: {{device}}.
func templateLabels(legend string) []string {
	var labels []string
	for _, m := range regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`).FindAllStringSubmatch(legend, -1) {
		labels = append(labels, m[1])
	}
	return labels
}

// text is the variable's query, in either of the forms that Grafana has written.
func (v variable) text() (string, error) {
	var plain string
	if json.Unmarshal(v.Query, &plain) == nil {
		return plain, nil
	}
	var object struct {
		Query string `json:"query"`
	}
	err := json.Unmarshal(v.Query, &object)
	return object.Query, err
}

// read takes the selector or expression out of label_values(…) or query_result(…).
func (v variable) read(base Query) (Query, error) {
	text, err := v.text()
	if err != nil {
		return Query{}, err
	}
	m := regexp.MustCompile(`^\s*(?:label_values\(\s*(.+?)\s*,\s*(\w+)|query_result\(\s*(.+?))\s*\)\s*$`).FindStringSubmatch(text)
	if m == nil {
		return Query{}, fmt.Errorf("neither label_values(metric, label) nor query_result(…): %s", text)
	}
	base.Panel, base.Instant, base.Expr = "variable "+v.Name, true, m[1]+m[3]
	if m[2] != "" {
		base.Labels = []string{m[2]}
	}
	return base, nil
}

// value is what the variable holds when the dashboard is opened, as PromQL sees it.
func (v variable) value() string {
	var values []string
	if one := ""; json.Unmarshal(v.Current.Value, &one) == nil {
		values = []string{one}
	} else {
		_ = json.Unmarshal(v.Current.Value, &values) // neither: the variable holds nothing yet
	}
	switch {
	case v.Type == "query" && len(values) == 0, len(values) == 1 && values[0] == "":
		return anything
	case len(values) == 1 && values[0] == "$__all" && v.AllValue != "":
		return v.AllValue
	case len(values) == 1 && values[0] == "$__all":
		return anything
	case len(values) == 0: // a constant, or a choice whose first is meant
		text, _ := v.text()
		first, _, _ := strings.Cut(text, ",")
		return strings.TrimSpace(first)
	}
	return strings.Join(values, "|")
}
