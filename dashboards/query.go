package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

type query = *prometheus.DataqueryBuilder

func newQuery(expr string) query {
	return prometheus.NewDataqueryBuilder().
		Datasource(source()).
		EditorMode(prometheus.QueryEditorModeCode).
		Expr(expr)
}

// overTime asks for the whole time range; legend may hold {{label}}.
func overTime(expr, legend string) query {
	return newQuery(expr).Range().LegendFormat(legend).Format(prometheus.PromQueryFormatTimeSeries)
}

// now asks for the value at the end of the time range.
func now(expr, legend string) query {
	return newQuery(expr).Instant().LegendFormat(legend).Format(prometheus.PromQueryFormatTimeSeries)
}

// asRows asks for the values at the end of the time range as a table, one row a series.
func asRows(expr string) query {
	return newQuery(expr).Instant().Format(prometheus.PromQueryFormatTable)
}

// asBuckets asks for the cumulative buckets of a histogram, summed by le.
func asBuckets(expr string) query {
	return newQuery(expr).Range().LegendFormat("{{le}}").Format(prometheus.PromQueryFormatHeatmap)
}

// lettered gives the queries of one panel their names: A, B, C.
func lettered(queries []query) []cog.Builder[variants.Dataquery] {
	out := make([]cog.Builder[variants.Dataquery], len(queries))
	for i, q := range queries {
		out[i] = q.RefId(letter(i))
	}
	return out
}

func letter(i int) string { return string(rune('A' + i)) }
