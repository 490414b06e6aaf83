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

// byThreshold colours a value by the thresholds it passes, fixed by one colour.
func byThreshold() *dashboard.FieldColorBuilder {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)
}

func fixed(color string) *dashboard.FieldColorBuilder {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor(color)
}

// yesNo maps 1 and 0 of a series to words: green for what is good, red for what is not.
func yesNo(yes, no string) []dashboard.ValueMapping {
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{
		Type: dashboard.MappingTypeValueToText,
		Options: map[string]dashboard.ValueMappingResult{
			"1": {Text: &yes, Color: cog.ToPtr("green"), Index: cog.ToPtr(int32(0))},
			"0": {Text: &no, Color: cog.ToPtr("red"), Index: cog.ToPtr(int32(1))},
		},
	}}}
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

// onTheRight gives one series an axis of its own.
func onTheRight(unit string, more ...property) []property {
	return append(dashed(unitOf(unit), property{Id: "custom.axisPlacement", Value: "right"}), more...)
}
