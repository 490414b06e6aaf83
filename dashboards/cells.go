package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// How a cell of a table shows its value, in the words of oldestGrafana.
const (
	cellBackground = "color-background"
	cellText       = "color-text"
	cellGauge      = "gradient-gauge"
)

// linkCell makes a column lead elsewhere.
func linkCell(links ...link) []property {
	return []property{{Id: "links", Value: links}}
}

// wholeCell is a number without decimals: increases are extrapolated, and are whole in truth.
func wholeCell(steps ...step) []property {
	return append(textCell(count, "green", steps...), property{Id: "decimals", Value: 0})
}

// gaugeCell shows a ratio as a bar, coloured by the steps it passes.
func gaugeCell(base string, steps ...step) []property {
	return []property{
		unitOf(ratio),
		{Id: "min", Value: 0},
		{Id: "max", Value: 1},
		{Id: "custom.displayMode", Value: cellGauge},
		colored(base, steps...),
	}
}

// coloredCell shows a value on the colour of the step it passes.
func coloredCell(unit, base string, steps ...step) []property {
	return []property{unitOf(unit), {Id: "custom.displayMode", Value: cellBackground}, colored(base, steps...)}
}

// textCell shows a value in the colour of the step it passes.
func textCell(unit, base string, steps ...step) []property {
	return []property{unitOf(unit), {Id: "custom.displayMode", Value: cellText}, colored(base, steps...)}
}

// colored are the thresholds of one column.
func colored(base string, steps ...step) property {
	levels := []map[string]any{{"color": base, "value": nil}}
	for _, s := range steps {
		levels = append(levels, map[string]any{"color": s.color, "value": s.at})
	}
	return property{Id: "thresholds", Value: map[string]any{"mode": "absolute", "steps": levels}}
}

// ageCell shows the time since something happened, or that it never did.
func ageCell(steps ...step) []property {
	return append(textCell(seconds, "green", steps...), property{Id: "mappings", Value: neverWord()})
}

// mappedCell shows words for values.
func mappedCell(mappings []dashboard.ValueMapping) []property {
	return []property{{Id: "mappings", Value: mappings}, {Id: "custom.displayMode", Value: cellText}}
}

// neverWord maps an age counted from 1970, which is that of what never happened, to a word.
func neverWord() []dashboard.ValueMapping {
	// Grafana 9.3 takes an open end for 0.
	from, to, text, color := 1e9, 1e12, "never", "red"
	return []dashboard.ValueMapping{{RangeMap: &dashboard.RangeMap{
		Type:    dashboard.MappingTypeRangeToText,
		Options: dashboard.DashboardRangeMapOptions{From: &from, To: &to, Result: dashboard.ValueMappingResult{Text: &text, Color: &color}},
	}}}
}
