package dashboards_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Panel types that Grafana 9.3 has and that are used here, each with whether its values need a unit.
var panelTypes = map[string]bool{
	"timeseries": true, "stat": true, "state-timeline": false, "table": false,
}

// Settings of single series and columns that Grafana 9.3 has.
var overrideIDs = []string{
	"unit", "decimals", "min", "max", "displayName", "noValue", "color", "thresholds", "mappings", "links",
	"custom.lineStyle", "custom.scaleDistribution", "custom.lineWidth", "custom.fillOpacity", "custom.drawStyle", "custom.stacking", "custom.axisPlacement", "custom.hideFrom",
	"custom.displayMode", "custom.width",
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
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		needsUnit, known := panelTypes[p.Type]
		if !known {
			t.Errorf("type %q: either Grafana 9.3 has no such panel, or it belongs into the list of this test", p.Type)
		}
		if p.Title == "" || p.Description == "" {
			t.Errorf("title %q, description %q", p.Title, p.Description)
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
		if p.Type == "state-timeline" && p.FieldConfig.Defaults.Color.Mode != "fixed" {
			t.Error("Grafana has no legend of states where colours are a gradient")
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
			if p.Type == "table" {
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

// checkLegend finds legends that are the same for what is not: numbers of cards and names of targets repeat from host to host,
// and a legend that has the host only where several are chosen would change when another appears.
func checkLegend(t *testing.T, q target) {
	t.Helper()
	tells := func(label string) bool { return strings.Contains(q.LegendFormat, "{{"+label+"}}") }
	if tells("device") && (!tells("vendor") || !tells("instance")) || tells("target") && !tells("instance") {
		t.Errorf("%s: legend %q does not tell the host", q.RefID, q.LegendFormat)
	}
}

// TestColumns is about tables: a column that is named is shown, a number has a unit or words, and nothing but what is named is shown.
func TestColumns(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.Type != "table" {
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
		if len(p.Targets) > 1 {
			checkJoin(t, p, kept)
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

// checkJoin: Grafana makes one frame of several queries only by columns that all of them have.
func checkJoin(t *testing.T, p panel, kept []string) {
	t.Helper()
	shared := slices.ContainsFunc(kept, func(field string) bool {
		if strings.HasPrefix(field, "Value") || field == "udie" || field == "port" { // empty on cards with one port
			return false
		}
		return !slices.ContainsFunc(p.Targets, func(q target) bool {
			by := grouping.FindStringSubmatch(q.Expr)
			return by != nil && !slices.Contains(strings.Split(by[1], ", "), field)
		})
	})
	if !shared {
		t.Errorf("its queries share none of the columns %q", kept)
	}
}

// grouping are the labels by which the outermost aggregation keeps series apart.
var grouping = regexp.MustCompile(`^(?:[\d. *()]|histogram_quantile\([\d.]+, |clamp_min\(|time\(\) - |topk\(\d+, |label_join\()*(?:sum|max|min|avg|count|group|topk|count_values) by \(([^)]*)\)`)

// TestEmptyCells: words for no data stand in a table without rows, and in no empty cell of one with rows; a bar without a
// value is gray.
func TestEmptyCells(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.Type != "table" {
			t.Skip("no table")
		}
		first := p.FieldConfig.Overrides[0]
		if first.Matcher.Options != ".*" || first.Properties[0].ID != "noValue" || first.Properties[0].Value != "" {
			t.Errorf("the first override is %+v", first)
		}
		for _, o := range p.FieldConfig.Overrides {
			look := fmt.Sprint(o.Properties)
			if strings.Contains(look, "{custom.displayMode basic}") && !strings.Contains(look, "match:null+nan result:map[color:#8e8e8e text:–]") {
				t.Errorf("%s: without a value, Grafana draws an empty bar in the lowest step's colour", o.Matcher.Options)
			}
		}
	})
}

// TestCountersOfAscend: they are polled each minute, so that a shorter rate falls to 0 in between. Traffic, which never
// rests, is the mean of a minute, as five minutes hold four polls or five.
func TestCountersOfAscend(t *testing.T) {
	short := regexp.MustCompile(`rate\(accelerator_(ecc|ras|pci|pcie|sio|link|network|roce|ub)_\w+\{[^}]*\}\[([^\]]+)\]`)
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		for _, q := range p.Targets {
			if p.Type == "timeseries" && regexp.MustCompile(`accelerator_(link|network)_bytes_total`).MatchString(q.Expr) && !strings.Contains(q.Expr, "[1m:15s]") {
				t.Errorf("%s dips each minute: %s", q.RefID, q.Expr)
			}
			for _, m := range short.FindAllStringSubmatch(q.Expr, -1) {
				if m[2] != "5m" && m[2] != "15m" {
					t.Errorf("%s: %s", q.RefID, m[0])
				}
			}
		}
	})
}

// TestCardBeginsWithItsAlerts: a card that its tool calls healthy may have critical alerts.
func TestCardBeginsWithItsAlerts(t *testing.T) {
	for _, b := range boards(t) {
		if first := b.Panels[0]; b.file == "card.json" && (first.Title != "Firing alerts" || !strings.Contains(first.Targets[0].Expr, `device=~"$card|"`)) {
			t.Errorf("it begins with %s %q: %s", first.Type, first.Title, first.Targets[0].Expr)
		}
	}
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
		if p.Type != "stat" {
			if d.NoValue == "" {
				t.Error("no words for no data")
			}
			if scale["type"] == "log" && !strings.Contains(fmt.Sprint(p.FieldConfig.Overrides), "{{byRegexp .*} [{noValue }]}") {
				t.Error("Grafana 9.3 writes words for no data at the ticks of a logarithmic axis")
			}
			return
		}
		i := slices.IndexFunc(d.Mappings, func(m mapping) bool { return m.Type == "special" && m.Options.Match == "null+nan" })
		if i < 0 || d.Mappings[i].Options.Result.Text == "" || d.Mappings[i].Options.Result.Color != "#8e8e8e" {
			t.Errorf("mappings %+v, want gray words for no value", d.Mappings)
		}
	})
}

// TestAxes: a ratio has all of 0 to 100 %, also where all is 0, and a logarithmic axis
// has ticks at 1, 2 and 5.
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

// TestAlertsHaveRoom: 1366 pixels hold the names of hosts, and what an alert is about.
func TestAlertsHaveRoom(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.Title == "Firing alerts" && p.Type == "table" && (p.GridPos.W != 24 || p.GridPos.H > 8) {
			t.Errorf("%+v: it is cut, or empty for a screen where nothing fires", p.GridPos)
		}
		if p.Title == "Firing alerts" && p.Type == "stat" && p.Targets[0].LegendFormat != "critical" {
			t.Errorf("%s comes first", p.Targets[0].LegendFormat)
		}
	})
}

// TestProofIsSeen: latency by load is open, and why probes fail stands beside how long they take.
func TestProofIsSeen(t *testing.T) {
	for _, b := range boards(t) {
		beside := map[string]int{}
		for _, p := range b.Panels { // without those of closed rows
			beside[p.Title] = p.GridPos.Y
		}
		if b.file == "load-latency.json" && (beside["By utilization"] == 0 || beside["Failed probes by reason, and missed objectives"] != beside["Time per output token"]) {
			t.Errorf("%v", beside)
		}
	}
}

// TestReasonsAreNotGreen: by Grafana's own colours the first reason of a failure would be.
func TestReasonsAreNotGreen(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		for i, q := range p.Targets {
			ofAll := slices.ContainsFunc(p.FieldConfig.Overrides, func(o override) bool { return o.Matcher.ID == "byRegexp" && o.Matcher.Options == ".*" })
			if p.Type == "timeseries" && i == 0 && strings.HasSuffix(q.LegendFormat, "{{reason}}") && !ofAll {
				t.Error("its reasons have any colours")
			}
			if vendor := regexp.MustCompile(`^\{\{vendor}}`).MatchString(q.LegendFormat); vendor && p.Type == "timeseries" && !strings.Contains(fmt.Sprint(p.FieldConfig.Overrides), "kunlunxin.*") {
				t.Errorf("%s: a vendor has another colour in each panel", q.LegendFormat)
			}
		}
	})
}

// TestTargetsDiffer: of several targets each line of a measure has a colour, and dashes, of its own.
func TestTargetsDiffer(t *testing.T) {
	for _, b := range boards(t) {
		for i := 0; i < len(b.Panels[0].Targets) && b.file == "load-latency.json"; i++ {
			q := b.Panels[0].Targets[i]
			_, measure, numbered := strings.Cut(q.LegendFormat, "{{n}} ")
			colors := map[string]bool{}
			for _, o := range b.Panels[0].FieldConfig.Overrides {
				for _, property := range o.Properties {
					if property.ID == "color" && (o.Matcher.Options == q.RefID || strings.HasSuffix(o.Matcher.Options, `\) `+measure)) {
						colors[fmt.Sprint(property.Value)] = true
					}
				}
			}
			if !numbered || len(colors) != 4 {
				t.Errorf("%s has the colours %v", q.LegendFormat, colors)
			}
		}
	}
}
