package dashboards_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Panel types that Grafana 9.3 has and that are used here, each with whether its values need a unit.
var panelTypes = map[string]bool{
	"timeseries": true, "stat": true, "heatmap": true, "bargauge": true, "barchart": true, "gauge": true,
	"state-timeline": false, "table": false,
}

// Settings of single series and columns that Grafana 9.3 has.
var overrideIDs = []string{
	"unit", "decimals", "min", "max", "displayName", "noValue", "color", "thresholds", "mappings", "links",
	"custom.lineStyle", "custom.lineWidth", "custom.fillOpacity", "custom.drawStyle", "custom.stacking", "custom.axisPlacement", "custom.hideFrom",
	"custom.displayMode", "custom.width", "custom.align", "custom.filterable",
}

// Transformations that Grafana 9.3 has.
var transformationIDs = []string{"merge", "filterFieldsByName", "organize", "sortBy", "groupingToMatrix"}

var usedSource = source{Type: "prometheus", UID: "${datasource}"}

func eachPanel(t *testing.T, test func(t *testing.T, b board, p panel)) {
	t.Helper()
	eachBoard(t, func(t *testing.T, b board) {
		for _, p := range b.Panels {
			if p.Type != "row" {
				t.Run(p.Title, func(t *testing.T) { test(t, b, p) })
			}
		}
	})
}

func TestPanel(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		for _, p := range b.Panels {
			if p.Title == "" {
				t.Errorf("panel %d has no title", p.ID)
			}
		}
	})
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		needsUnit, known := panelTypes[p.Type]
		if !known {
			t.Errorf("type %q: either Grafana 9.3 has no such panel, or it belongs into the list of this test", p.Type)
		}
		if !strings.HasSuffix(p.Description, ".") {
			t.Errorf("description %q is no sentence", p.Description)
		}
		if needsUnit && p.FieldConfig.Defaults.Unit == "" {
			t.Error("no unit")
		}
		if p.PluginVersion != "9.3.0" {
			t.Errorf("plugin version %q, want that of the Grafana whose options it has", p.PluginVersion)
		}
		if _, ok := p.FieldConfig.Defaults.Custom["cellOptions"]; ok {
			t.Error("cellOptions is newer than Grafana 9.3: use custom.displayMode")
		}
		for _, o := range p.FieldConfig.Overrides {
			if o.Matcher.ID == "byRegexp" && !matchesLegend(p, o.Matcher.Options) {
				t.Errorf("override of %q, which no series is called", o.Matcher.Options)
			}
			for _, property := range o.Properties {
				if !slices.Contains(overrideIDs, property.ID) {
					t.Errorf("override %q: either Grafana 9.3 has no such setting, or it belongs into the list of this test", property.ID)
				}
			}
		}
		for _, tr := range p.Transformations {
			if !slices.Contains(transformationIDs, tr.ID) {
				t.Errorf("transformation %q: either Grafana 9.3 has none such, or it belongs into the list of this test", tr.ID)
			}
		}
		if p.Type == "state-timeline" && len(p.FieldConfig.Defaults.Mappings) == 0 {
			t.Error("no mappings: states have no words and colours")
		}
		if p.Datasource != usedSource {
			t.Errorf("data source %+v", p.Datasource)
		}
	})
}

func TestQueries(t *testing.T) {
	eachPanel(t, func(t *testing.T, b board, p panel) {
		if len(p.Targets) == 0 {
			t.Error("no query")
		}
		seen := map[string]bool{}
		for _, q := range p.Targets {
			if q.RefID == "" || seen[q.RefID] {
				t.Errorf("refId %q", q.RefID)
			}
			seen[q.RefID] = true
			if q.Datasource != usedSource {
				t.Errorf("%s: data source %+v", q.RefID, q.Datasource)
			}
			if q.Expr == "" || q.Instant == q.Range {
				t.Errorf("%s: query %q, instant %t, range %t", q.RefID, q.Expr, q.Instant, q.Range)
			}
			want := "time_series"
			switch p.Type {
			case "heatmap":
				want = "heatmap"
			case "table", "barchart":
				want = "table"
			}
			if q.Format != want {
				t.Errorf("%s: format %q, want %q", q.RefID, q.Format, want)
			}
			checkLegend(t, b, q)
			if want == "time_series" && q.LegendFormat == "" && (p.Type != "stat" || len(p.Targets) > 1) {
				t.Errorf("%s: no legend", q.RefID)
			}
		}
	})
}

// checkLegend finds legends that are the same for what is not: numbers of cards and names of targets repeat from host to host.
func checkLegend(t *testing.T, b board, q target) {
	t.Helper()
	needs := map[string][]string{"device": {"vendor", "instance"}, "target": {"instance"}, "node": {"instance"}}
	if b.UID == "accelerator-benchmark" {
		needs["target"] = []string{"model", "step"} // its endpoints are addresses
	}
	tells := func(label string) bool { return strings.Contains(q.LegendFormat, "{{"+label+"}}") }
	for label, others := range needs {
		for _, other := range others {
			if tells(label) && !tells(other) {
				t.Errorf("%s: legend %q tells %s without %s", q.RefID, q.LegendFormat, label, other)
			}
		}
	}
	if strings.HasPrefix(q.Expr, "accelerator_memory_") && !tells("type") {
		t.Errorf("%s: legend %q does not tell the kinds of a card's memory apart", q.RefID, q.LegendFormat)
	}
}

// matchesLegend says whether some series may have a name that Grafana takes the pattern for. Without slashes around it,
// a pattern must match the whole name. Columns are the business of TestColumns.
func matchesLegend(p panel, pattern string) bool {
	if p.Type == "table" {
		return true
	}
	whole := regexp.MustCompile("^" + pattern + "$")
	for _, q := range p.Targets {
		for _, vendor := range []string{"metax", "ascend"} {
			if whole.MatchString(strings.ReplaceAll(q.LegendFormat, "{{vendor}}", vendor)) {
				return true
			}
		}
	}
	return false
}

// TestColumns is about tables: a column that is named is shown, a number has a unit or words, and nothing but what is named is shown.
func TestColumns(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.Type != "table" && p.Type != "barchart" {
			t.Skip("no table")
		}
		var kept []string
		names := map[string]string{}
		for _, tr := range p.Transformations {
			kept = append(kept, tr.Options.Include.Names...)
			for field, name := range tr.Options.RenameByName {
				names[field] = name
			}
		}
		if slices.ContainsFunc(p.Transformations, func(tr transformation) bool { return tr.ID == "groupingToMatrix" }) {
			t.Skip("its columns are values")
		}
		if len(kept) == 0 {
			t.Fatal("all fields of the data are shown")
		}
		for _, q := range p.Targets {
			field := "Value #" + q.RefID
			if len(p.Targets) == 1 {
				field = "Value"
			}
			name, ok := names[field]
			if !ok {
				continue // asked for its labels
			}
			if p.Type == "table" && !hasUnit(p, name) {
				t.Errorf("column %q has no unit", name)
			}
		}
		for field := range names {
			letter, isValue := strings.CutPrefix(field, "Value #")
			if isValue && !slices.ContainsFunc(p.Targets, func(q target) bool { return q.RefID == letter }) {
				t.Errorf("column %q is of no query", field)
			}
			if !slices.Contains(kept, field) {
				t.Errorf("column %q is named, but left out", field)
			}
		}
		for _, o := range p.FieldConfig.Overrides {
			if o.Matcher.ID != "byName" {
				continue
			}
			shown := false
			for _, name := range names {
				shown = shown || name == o.Matcher.Options
			}
			if !shown {
				t.Errorf("override of column %q, which is not shown", o.Matcher.Options)
			}
		}
	})
}

func hasUnit(p panel, column string) bool {
	if p.FieldConfig.Defaults.Unit != "" {
		return true
	}
	for _, o := range p.FieldConfig.Overrides {
		matches := o.Matcher.ID == "byName" && o.Matcher.Options == column
		if o.Matcher.ID == "byRegexp" {
			matches = regexp.MustCompile("^" + o.Matcher.Options + "$").MatchString(column)
		}
		for _, property := range o.Properties {
			if matches && (property.ID == "unit" || property.ID == "mappings") {
				return true
			}
		}
	}
	return false
}
