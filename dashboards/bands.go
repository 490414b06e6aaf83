package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// band sorts the time of each target into bands of load: expr has one series a target with the value 1, whose label
// "band" is the number of the band that its load is in.
type band struct {
	expr  string
	names []string // of band 0, 1, …
}

// bandOf numbers the bands of a figure that has one series a target, with no labels but byTarget: "without ()" keeps them.
// "by (a, b, c)" loses labels of it from the second instant on in Prometheus 2.42.
func bandOf(expr string, names ...string) band {
	return band{expr: `count_values without () ("band", ` + expr + `)`, names: names}
}

// quantile is that of all observations of a histogram made while the load of their target was in each band. Only with the
// buckets summed over a band's time is it a quantile: one of the windows' or of the targets' quantiles would not be.
func (b band) quantile(q float64, histogram string) string {
	return fmt.Sprintf(`histogram_quantile(%g, sum by (band, le) (sum_over_time((sum by (`+byTarget+`, le) (increase(%s[$window])) * on (`+byTarget+`) group_left (band) %s)[$__range:$__interval])))`,
		q, histogram, b.expr)
}

// share is the part of the targets' time for which their load was in each band.
func (b band) share() string {
	return fmt.Sprintf(`sum by (band) (sum_over_time(%s[$__range:$__interval])) / on () group_left () sum (sum_over_time(%[1]s[$__range:$__interval]))`, b.expr)
}

// bandChart draws one group of bars a band. Its queries give a label band; their names are those of the bars.
func bandChart(title, description, unit string, b band, names []string, exprs ...string) *barchart.PanelBuilder {
	shown := []column{{"band", "Load"}}
	queries := make([]query, len(exprs))
	for i, expr := range exprs {
		queries[i] = asRows(expr)
		field := "Value"
		if len(exprs) > 1 {
			field = "Value #" + string(rune('A'+i))
		}
		shown = append(shown, column{field, names[i]})
	}
	shape := append([]dashboard.DataTransformerConfig{merged()}, columnsOf(shown...)...)
	shape = append(shape, sortedBy("Load"))
	return barchart.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).Min(0).
		Datasource(source()).Targets(lettered(queries)).
		Span(8).Height(9).
		// Enough steps for a smooth figure, and no more than Prometheus answers at once also for a month.
		Interval("1m").MaxDataPoints(240).
		Transformations(shape).
		OverrideByName("Load", []property{{Id: "mappings", Value: []dashboard.ValueMapping{numbered(b.names)}}}).
		Orientation(common.VizOrientationVertical).
		ShowValue(common.VisibilityModeAuto).
		Stacking(common.StackingModeNone).
		XTickLabelMaxLength(100).
		GroupWidth(0.7).BarWidth(0.95).
		FillOpacity(80).LineWidth(1).
		Legend(listLegend()).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderNone))
}

// numbered maps "0", "1" and so on to names.
func numbered(names []string) dashboard.ValueMapping {
	options := map[string]dashboard.ValueMappingResult{}
	for i, name := range names {
		options[fmt.Sprint(i)] = dashboard.ValueMappingResult{Text: cog.ToPtr(name), Index: cog.ToPtr(int32(i))}
	}
	return dashboard.ValueMapping{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}
}
