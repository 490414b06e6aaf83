package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Units as Grafana names them.
const (
	ratio   = "percentunit"
	seconds = "s"
	watts   = "watt"
	celsius = "celsius"
	bytes   = "bytes"
	count   = "short"
	reqPerS = "reqps"
	plain   = "none"

	tokensPerSec = "suffix:tokens/s"
)

// timeSeries draws lines, a third of the width, on a linear axis.
func timeSeries(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	return lines(title, description, unit, queries...).NoValue("not reported")
}

// logSeries draws latencies, on an axis with a line for each power of ten as they span decades. It says Grafana's "No data",
// since Grafana 9.3 would write words of ours at every tick of such an axis that has no number.
func logSeries(title, description string, queries ...query) *timeseries.PanelBuilder {
	return lines(title, description, seconds, queries...).
		ScaleDistribution(common.NewScaleDistributionConfigBuilder().Type(common.ScaleDistributionLog).Log(10))
}

// lines are not filled, as more than a few would hide one another. Ratios have all of 0 to 100 %, also where all is 0.
func lines(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).
		Datasource(source()).Targets(lettered(queries)).
		Span(8).Height(8).
		DrawStyle(common.GraphDrawStyleLine).
		LineWidth(1).FillOpacity(0).
		ShowPoints(common.VisibilityModeAuto).
		SpanNulls(common.BoolOrFloat64{Bool: cog.ToPtr(false)}).
		Legend(listLegend()).
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

func listLegend() *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().
		ShowLegend(true)
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
		Datasource(source()).Targets(lettered(queries)).
		Span(4).Height(4).
		Mappings([]dashboard.ValueMapping{absent(none)}).
		GraphMode(common.BigValueGraphModeNone).
		Orientation(common.VizOrientationAuto).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Values(false).Calcs([]string{"lastNotNull"}).Fields(""))
}

// heatMap shows a histogram over time, half of the width. Its queries are made by asBuckets.
func heatMap(title, description, unit string, queries ...query) *heatmap.PanelBuilder {
	return heatmap.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).
		Datasource(source()).Targets(lettered(queries)).
		Span(12).Height(8).
		NoValue("not reported").
		Color(heatmap.NewHeatmapColorOptionsBuilder().
			Mode(heatmap.HeatmapColorModeScheme).
			Scheme("Oranges").Fill("dark-orange").
			Scale(heatmap.HeatmapColorScaleExponential).
			Exponent(0.5).Steps(64)).
		RowsFrame(heatmap.NewRowsHeatmapOptionsBuilder().Layout(common.HeatmapCellLayoutAuto)).
		ShowValue(common.VisibilityModeNever).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit).AxisPlacement(common.AxisPlacementLeft)).
		Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).YHistogram(false))
}

// stateTimeline shows states over time as coloured bars; its mappings give the colours.
func stateTimeline(title, description string, mappings []dashboard.ValueMapping, queries ...query) *statetimeline.PanelBuilder {
	return statetimeline.NewPanelBuilder().
		Title(title).Description(description).Mappings(mappings).
		Datasource(source()).Targets(lettered(queries)).
		Span(24).Height(8).
		ShowValue(common.VisibilityModeNever).
		NoValue("not reported").
		RowHeight(0.9).LineWidth(0).FillOpacity(80).
		Legend(listLegend()).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeSingle).
			Sort(common.SortOrderNone))
}
