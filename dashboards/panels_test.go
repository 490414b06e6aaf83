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
	"custom.lineStyle", "custom.scaleDistribution", "custom.lineWidth", "custom.fillOpacity", "custom.drawStyle", "custom.stacking", "custom.axisPlacement", "custom.hideFrom",
	"custom.displayMode", "custom.width", "custom.align", "custom.filterable",
}

// Transformations that Grafana 9.3 has.
var transformationIDs = []string{"merge", "filterFieldsByName", "organize", "sortBy", "groupingToMatrix"}

var usedSource = source{Type: "prometheus", UID: "${datasource}"}

func eachPanel(t *testing.T, test func(t *testing.T, b board, p panel)) {
	t.Helper()
	eachBoard(t, func(t *testing.T, b board) {
		for _, p := range b.all() {
			t.Run(p.Title, func(t *testing.T) { test(t, b, p) })
		}
	})
}

func TestPanel(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		for _, p := range b.all() {
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
	eachPanel(t, func(t *testing.T, _ board, p panel) {
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
			checkLegend(t, q)
			if want == "time_series" && q.LegendFormat == "" && (p.Type != "stat" || len(p.Targets) > 1) {
				t.Errorf("%s: no legend", q.RefID)
			}
		}
	})
}

// checkLegend finds legends that are the same for what is not: numbers of cards and names of targets repeat from host to host.
func checkLegend(t *testing.T, q target) {
	t.Helper()
	// "at" is the host, and empty where one is chosen.
	needs := map[string][]string{"device": {"vendor", "at"}, "target": {"at"}}
	tells := func(label string) bool { return strings.Contains(q.LegendFormat, "{{"+label+"}}") }
	for label, others := range needs {
		for _, other := range others {
			if tells(label) && !tells(other) {
				t.Errorf("%s: legend %q tells %s without %s", q.RefID, q.LegendFormat, label, other)
			}
		}
	}
	if tells("at") && !strings.Contains(q.Expr, `"at", "$1 · "`) {
		t.Errorf("%s: the query gives no label at", q.RefID)
	}
	if tells("instance") && !strings.Contains(q.Expr, "vllm:") {
		t.Errorf("%s: legend %q has the host also where one is chosen", q.RefID, q.LegendFormat)
	}
}

// matchesLegend reports whether some series may have a name that Grafana takes the pattern for. Without slashes around it,
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

// TestNoDataHasWords: where a card or a server has no such thing the panel says so, and is not green.
func TestNoDataHasWords(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		d := p.FieldConfig.Defaults
		scale, _ := d.Custom["scaleDistribution"].(map[string]any)
		switch {
		case scale["type"] == "log":
			if d.NoValue != "" {
				t.Error("Grafana 9.3 writes words for no data at the ticks of a logarithmic axis")
			}
			return
		case p.Type != "stat":
			if d.NoValue == "" {
				t.Error("no words for no data")
			}
			return
		}
		i := slices.IndexFunc(d.Mappings, func(m mapping) bool { return m.Type == "special" && m.Options.Match == "null+nan" })
		if i < 0 || d.Mappings[i].Options.Result.Text == "" || d.Mappings[i].Options.Result.Color != "#8e8e8e" {
			t.Errorf("mappings %+v, want gray words for no value", d.Mappings)
		}
	})
}

// TestAxes: a ratio has all of 0 to 100 %, also where all is 0, and a logarithmic axis has a line for each power of ten.
func TestAxes(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		d := p.FieldConfig.Defaults
		if p.Type != "timeseries" {
			t.Skip("no axes")
		}
		if d.Unit == "percentunit" && (d.Min == nil || *d.Min != 0 || d.Max == nil || *d.Max != 1) {
			t.Errorf("a ratio from %v to %v", d.Min, d.Max)
		}
		if scale, _ := d.Custom["scaleDistribution"].(map[string]any); scale["type"] == "log" && scale["log"] != 10.0 {
			t.Errorf("scale %v", scale)
		}
		for _, o := range p.FieldConfig.Overrides {
			set := map[string]any{}
			for _, property := range o.Properties {
				set[property.ID] = property.Value
			}
			if set["unit"] == "percentunit" && (set["min"] != 0.0 || set["max"] != 1.0) {
				t.Errorf("a ratio from %v to %v on the right", set["min"], set["max"])
			}
		}
	})
}

// TestFilling: lines of many series are not filled, as they would hide one another.
func TestFilling(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.Type != "timeseries" {
			t.Skip("no lines")
		}
		stacking, _ := p.FieldConfig.Defaults.Custom["stacking"].(map[string]any)
		if stacking["mode"] != "normal" && p.FieldConfig.Defaults.Custom["fillOpacity"] != 0.0 {
			t.Errorf("all lines are filled: %v", p.FieldConfig.Defaults.Custom["fillOpacity"])
		}
	})
}

// TestPercentiles: a percentile has the same colour everywhere, and windows without an observation are left out: legends
// would show them as NaN.
func TestPercentiles(t *testing.T) {
	colors := map[string]string{"p50": "green", "p90": "yellow", "p99": "orange"}
	seen := 0
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		for _, q := range p.Targets {
			want, ok := colors[q.LegendFormat]
			if !ok {
				continue
			}
			seen++
			if !strings.HasSuffix(q.Expr, ">= 0") {
				t.Errorf("%s may be NaN: %s", q.LegendFormat, q.Expr)
			}
			got := any(nil)
			for _, o := range p.FieldConfig.Overrides {
				for _, property := range o.Properties {
					if value, ok := property.Value.(map[string]any); ok && o.Matcher.Options == q.LegendFormat && property.ID == "color" {
						got = value["fixedColor"]
					}
				}
			}
			if got != want {
				t.Errorf("%s is %v, want %s", q.LegendFormat, got, want)
			}
		}
	})
	if seen == 0 {
		t.Error("no percentiles")
	}
}

// TestHeatMaps: more rows than these write their labels over one another.
func TestHeatMaps(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.Type != "heatmap" {
			t.Skip("no heat map")
		}
		for _, q := range p.Targets {
			bounds := regexp.MustCompile(`le=~"([^"]+)"`).FindStringSubmatch(q.Expr)
			switch {
			case bounds != nil && strings.Count(bounds[1], "|") > 13:
				t.Errorf("%d rows", strings.Count(bounds[1], "|")+1)
			case bounds == nil && strings.Contains(q.Expr, "_bucket"):
				t.Error("shows every bucket")
			}
		}
	})
}
