package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

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

func fixed(color string) *dashboard.FieldColorBuilder {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor(color)
}

// word is what is shown for a value, and its colour, if it has one of its own.
type word struct{ value, text, color string }

// words maps values to words.
func words(all ...word) []dashboard.ValueMapping {
	options := map[string]dashboard.ValueMappingResult{}
	for i, w := range all {
		result := dashboard.ValueMappingResult{Text: &w.text, Index: cog.ToPtr(int32(i))}
		if w.color != "" {
			result.Color = &w.color
		}
		options[w.value] = result
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}}
}

// yesNo maps 1 and 0 of a series to words: green for what is good, red for what is not.
func yesNo(yes, no string) []dashboard.ValueMapping {
	return words(word{"1", yes, "green"}, word{"0", no, "red"})
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

// healthMappings are the words and colours of accelerator_healthy.
func healthMappings() []dashboard.ValueMapping { return yesNo("healthy", "unhealthy") }

// properties are the settings of one column or series, for the panels' OverrideByName.
type property = dashboard.DynamicConfigValue

func unitOf(unit string) property { return property{Id: "unit", Value: unit} }

// noLink takes the panel's data links off a series that is no card.
func noLink() property { return property{Id: "links", Value: []any{}} }

// colorOf gives one series a colour of its own.
func colorOf(color string) property {
	return property{Id: "color", Value: map[string]any{"mode": "fixed", "fixedColor": color}}
}

// dashed draws a line against which others are read, such as a limit: without a filling.
func dashed(more ...property) []property {
	return append([]property{
		{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 4}}},
		{Id: "custom.fillOpacity", Value: 0},
	}, more...)
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

// filled puts colour under a line.
func filled(opacity int) property { return property{Id: "custom.fillOpacity", Value: opacity} }

// thick is for the line that a panel is about.
func thick() property { return property{Id: "custom.lineWidth", Value: 2} }
