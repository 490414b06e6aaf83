package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// property is a setting of one column or series, for the panels' OverrideByName.
type property = dashboard.DynamicConfigValue

// step is a threshold: from at on, the colour is color.
type step struct {
	at    float64
	color string
}

// thresholds colours values below all steps with base.
func thresholds(base string, steps ...step) *dashboard.ThresholdsConfigBuilder {
	out := []dashboard.Threshold{{Color: base}}
	for _, s := range steps {
		out = append(out, dashboard.Threshold{Value: cog.ToPtr(s.at), Color: s.color})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(out)
}

// blue is the colour of what is neither good nor bad.
func blue() *dashboard.FieldColorBuilder {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor("blue")
}

// valueText shows text for a value, in a colour.
func valueText(value, text, color string) dashboard.ValueMapping {
	result := dashboard.ValueMappingResult{Text: &text, Color: &color}
	return dashboard.ValueMapping{ValueMap: &dashboard.ValueMap{
		Type: dashboard.MappingTypeValueToText, Options: map[string]dashboard.ValueMappingResult{value: result},
	}}
}

// gray is for what is not known, which is neither good nor bad.
const gray = "#8e8e8e"

// absent shows text where there is no value. Without it Grafana writes "No data" in the lowest threshold's colour, which
// mostly is green.
func absent(text string) dashboard.ValueMapping {
	return dashboard.ValueMapping{SpecialValueMap: &dashboard.SpecialValueMap{
		Type: dashboard.MappingTypeSpecialValue,
		Options: dashboard.DashboardSpecialValueMapOptions{
			Match: dashboard.SpecialValueMatchNullAndNan, Result: dashboard.ValueMappingResult{Text: &text, Color: cog.ToPtr(gray)},
		},
	}}
}

// neverMapping maps an age counted from 1970, which is that of what never happened, to a word. Grafana 9.3 takes an open end for 0.
func neverMapping() dashboard.ValueMapping {
	return dashboard.ValueMapping{RangeMap: &dashboard.RangeMap{
		Type: dashboard.MappingTypeRangeToText,
		Options: dashboard.DashboardRangeMapOptions{
			From: cog.ToPtr(1e9), To: cog.ToPtr(1e12), Result: dashboard.ValueMappingResult{Text: cog.ToPtr("never"), Color: cog.ToPtr("red")},
		},
	}}
}

func healthy() []dashboard.ValueMapping {
	return []dashboard.ValueMapping{valueText("1", "healthy", "green"), valueText("0", "unhealthy", "red")}
}

// targetStates are the states of a target, the worse the higher.
func targetStates() []dashboard.ValueMapping {
	return []dashboard.ValueMapping{
		valueText("0", "ok", "green"), valueText("1", "unknown", gray), valueText("2", "busy", "yellow"), valueText("3", "failing", "red"), valueText("4", "stalled", "red"),
	}
}

func unitOf(unit string) property { return property{Id: "unit", Value: unit} }

// whole shows a number without decimals.
func whole() property { return property{Id: "decimals", Value: 0} }

// width is that of a column in pixels.
func width(pixels int) property { return property{Id: "custom.width", Value: pixels} }

// noLink takes the panel's data links off a series that is no card.
func noLink() property { return property{Id: "links", Value: []any{}} }

// colorOf gives one series a colour of its own.
func colorOf(color string) property {
	return property{Id: "color", Value: map[string]any{"mode": "fixed", "fixedColor": color}}
}

// colorByVendor gives the series of each vendor its colour, that of its limits too. Red is kept for what is wrong.
func colorByVendor(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	for _, v := range [][2]string{
		{"metax", "blue"},
		{"ascend", "purple"},
		{"nvidia", "green"},
		{"hygon", "orange"},
		{"iluvatar", "yellow"},
		{"kunlunxin", "light-purple"},
		{"moorethreads", "light-blue"},
		{"enflame", "dark-yellow"},
	} {
		p.OverrideByRegexp(v[0]+".*", []property{colorOf(v[1])})
	}
	return p
}

// colorByReason gives failures colours by what failed, none of which is green: the way or the program red, time orange, the
// answer purple or yellow.
func colorByReason(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	for _, r := range [][2]string{
		{".*", "orange"},
		{"(.* )?(dns|connect|tls|not_found|permission|no_device|driver|stuck)", "red"},
		{"(.* )?(stalled|exit|busy)", "dark-orange"},
		{"http_.*", "purple"},
		{"stream_error|protocol|truncated|(.* )?(parse|output_too_large|unsupported)", "yellow"},
		{"empty|degenerate|.* warnings", "light-yellow"},
		{"canceled", gray},
	} {
		p.OverrideByRegexp(r[0], []property{colorOf(r[1])})
	}
	return p
}

// styleByTarget tells the lines of one measure apart by the number that their name has: a measure keeps its colour, of which each
// further target has a shade, and its dashes. Colours by name are newer than Grafana 9.3.
func styleByTarget(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	for _, t := range []struct {
		number, shade string
		dash          []int
	}{
		{"2", "super-light-", []int{12, 6}},
		{"3", "dark-", []int{2, 5}},
		{"4", "light-", []int{16, 4, 2, 4}},
	} {
		p.OverrideByRegexp(`.* \(`+t.number+`\) .*`, []property{{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": t.dash}}})
		for _, m := range [][2]string{{"utilization", "blue"}, {"time to first token", "orange"}, {"inter-token latency", "green"}, {"failed probes", "red"}} {
			p.OverrideByRegexp(`.* \(`+t.number+`\) `+m[0], []property{colorOf(t.shade + m[1])})
		}
	}
	return p.OverrideByRegexp(`.* \([2-4]\) utilization`, []property{filled(0)})
}

// filled puts colour under a line.
func filled(opacity int) property { return property{Id: "custom.fillOpacity", Value: opacity} }

// thick is for the line that a panel is about.
func thick() property { return property{Id: "custom.lineWidth", Value: 2} }

// dashed draws a line against which others are read, such as a limit: without a filling.
func dashed(more ...property) []property {
	return append([]property{{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 4}}}, filled(0)}, more...)
}

// notStacked keeps a line off the pile of its panel.
func notStacked() property {
	return property{Id: "custom.stacking", Value: map[string]any{"mode": "none", "group": "A"}}
}

// onTheRight gives a ratio the linear axis on the right, of 0 to 100 %.
func onTheRight(more ...property) []property {
	return append([]property{
		unitOf(ratio),
		{Id: "min", Value: 0},
		{Id: "max", Value: 1},
		{Id: "custom.axisPlacement", Value: "right"},
		{Id: "custom.scaleDistribution", Value: map[string]any{"type": "linear"}},
	}, more...)
}

// colored are the thresholds of one column or series.
func colored(base string, steps ...step) property {
	built, _ := thresholds(base, steps...).Build() // it refuses nothing
	return property{Id: "thresholds", Value: built}
}

// cells says how a column's cells are drawn, in the words of oldestGrafana: color-background, color-text or basic, which is a bar.
func cells(mode string) property { return property{Id: "custom.displayMode", Value: mode} }

// textCell shows a value in the colour of the step it passes.
func textCell(unit string, steps ...step) []property {
	return []property{unitOf(unit), cells("color-text"), colored("green", steps...)}
}

// gaugeCell shows a ratio as a bar in the colour of the step it passes: with a gradient, newer Grafanas than 9.3 never show the last
// one. Where there is no value, Grafana would draw an empty bar in the lowest step's colour.
func gaugeCell(base string, steps ...step) []property {
	bar := []property{unitOf(ratio), {Id: "min", Value: 0}, {Id: "max", Value: 1}, cells("basic"), colored(base, steps...)}
	return append(bar, property{Id: "mappings", Value: []dashboard.ValueMapping{absent("–")}})
}

// mapped shows words for values.
func mapped(mappings ...dashboard.ValueMapping) []property {
	return []property{{Id: "mappings", Value: mappings}, cells("color-text")}
}

// someIsBad colours a number of events. Increases are extrapolated, and are whole in truth.
func someIsBad(color string) []property {
	return append(textCell(count, step{0.5, color}), whole())
}

// age shows the time since something happened, or that it never did.
func age(steps ...step) []property {
	return append(textCell(seconds, steps...), property{Id: "mappings", Value: []dashboard.ValueMapping{neverMapping()}})
}

// succeeded shows whether the last try of something was good.
func succeeded() []property {
	return mapped(valueText("1", "succeeded", "green"), valueText("0", "failed", "red"))
}

// Where colours change. TestLimitsAreTheAlerts compares these steps with the alerts of deploy/prometheus/rules/alerts.yml.

// probeAgeSteps are the colours of the age of a probe's last success: the alert's, and three times that.
func probeAgeSteps() []step { return []step{{300, "orange"}, {900, "red"}} }

// memorySteps are the colours of a share of memory in use: red as the alert comes, orange shortly before.
func memorySteps() []step { return []step{{0.95, "orange"}, {0.98, "red"}} }

// failureSteps are the colours of a share of failures: more than the budget, and so many that it is soon spent.
func failureSteps() []step { return []step{{0.01, "orange"}, {0.1, "red"}} }

// remotePageSteps are the colours of a share of pages that were wanted on, or taken from, another NUMA node.
func remotePageSteps() []step { return []step{{0.1, "orange"}, {0.3, "red"}} }
