package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Units as Grafana names them.
const (
	ratio   = "percentunit"
	seconds = "s"
	watts   = "watt"
	joules  = "joule"
	celsius = "celsius"
	bytes   = "bytes"
	count   = "short"
	reqPerS = "reqps"
	plain   = "none"

	tokensPerSec = "suffix:tokens/s"
	bytesPerSec  = "Bps"
	bitsPerSec   = "bps"
	hertz        = "hertz"
	eventsPerSec = "suffix: /s"
)

// timeSeries draws lines, a third of the width, on a linear axis.
func timeSeries(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	return linePanel(title, description, unit, queries...).NoValue("not reported")
}

// logSeries draws latencies, which span decades, on an axis with ticks at 1, 2 and 5. The words none are for a panel without
// series: Grafana 9.3 would also write them at ticks of such an axis that have no number.
func logSeries(title, description, none string, queries ...query) *timeseries.PanelBuilder {
	return linePanel(title, description, seconds, queries...).NoValue(none).
		OverrideByRegexp(".*", []property{{Id: "noValue", Value: ""}}).
		ScaleDistribution(common.NewScaleDistributionConfigBuilder().Type(common.ScaleDistributionLog).Log(10))
}

// linePanel are not filled, as more than a few would hide one another. Ratios have all of 0 to 100 %, also where all is 0.
func linePanel(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).
		Datasource(source()).Targets(withRefIDs(queries)).
		Span(8).Height(8).
		DrawStyle(common.GraphDrawStyleLine).
		LineWidth(1).FillOpacity(0).
		ShowPoints(common.VisibilityModeAuto).
		SpanNulls(common.BoolOrFloat64{Bool: cog.ToPtr(false)}).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeMulti).
			Sort(common.SortOrderDescending))
	if unit == ratio {
		p = p.Min(0).Max(1)
	}
	for i, q := range queries {
		if q.look != nil {
			p = p.OverrideByQuery(letter(i), q.look)
		}
	}
	return p
}

// figures is a legend as a table, for panels whose figures are read.
func figures() *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().
		ShowLegend(true).
		DisplayMode(common.LegendDisplayModeTable).
		Calcs([]string{"lastNotNull", "mean", "max"})
}

// stacked piles the series of a panel up.
func stacked() *common.StackingConfigBuilder {
	return common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A")
}

// statPanel shows one figure a series, a sixth of the width, and the word none where there is no value.
func statPanel(title, description, unit, none string, queries ...query) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).
		Datasource(source()).Targets(withRefIDs(queries)).
		Span(4).Height(4).
		Mappings([]dashboard.ValueMapping{absent(none)}).
		GraphMode(common.BigValueGraphModeNone).
		Orientation(common.VizOrientationAuto).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Values(false).Calcs([]string{"lastNotNull"}).Fields(""))
}

// stateTimeline shows states over time as coloured bars; its mappings give the colours. With Grafana's own scheme, a gradient, no
// legend would tell them. Newer Grafanas than 9.3 would show 20 rows a page.
func stateTimeline(title, description string, mappings []dashboard.ValueMapping, queries ...query) *statetimeline.PanelBuilder {
	return statetimeline.NewPanelBuilder().
		Title(title).Description(description).Mappings(mappings).
		Datasource(source()).Targets(withRefIDs(queries)).
		Span(24).Height(8).
		ShowValue(common.VisibilityModeNever).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor("transparent")).
		NoValue("not reported").
		RowHeight(0.9).PerPage(0).LineWidth(0).FillOpacity(80).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeSingle).
			Sort(common.SortOrderNone))
}

// percentiles draws the percentiles of all that was observed in a window, each in the colour that it has everywhere.
func percentiles(title, description, none, p50, p90, p99 string, more ...query) *timeseries.PanelBuilder {
	queries := append([]query{
		overTime(p50, "p50", colorOf("green")),
		overTime(p90, "p90", colorOf("yellow")),
		overTime(p99, "p99", colorOf("orange")),
	}, more...)
	return logSeries(title, description, none, queries...).Span(12).Legend(figures().Placement(common.LegendPlacementRight))
}

// cardLines draws a figure of cards: the mean, the highest, and each card. A line of a card leads to it.
func cardLines(title, description, unit, mean, highest, each string, more ...query) *timeseries.PanelBuilder {
	queries := append([]query{
		overTime(mean, "mean", colorOf("blue"), thick(), filled(15), noLink()),
		overTime(highest, "highest", colorOf("orange"), thick(), noLink()),
		overTime(each, cardLegend, property{Id: "custom.hideFrom", Value: map[string]any{"legend": true, "tooltip": false, "viz": false}}),
	}, more...)
	return timeSeries(title, description+" Cards have a line each where the chosen hosts have no more than 64.", unit, queries...).
		Min(0).DataLinks(toCardOfSeries())
}

// cardLegend names a card; the host is in it also where one is chosen, so that a line keeps its name when another appears.
const cardLegend = `{{instance}} {{vendor}} {{device}}`
