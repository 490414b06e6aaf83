package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// query is what a panel asks, and how the series of the answer look where that is not as the panel says.
type query struct {
	*prometheus.DataqueryBuilder
	look []property
}

func newQuery(expr string, look ...property) query {
	return query{prometheus.NewDataqueryBuilder().
		Datasource(source()).
		EditorMode(prometheus.QueryEditorModeCode).
		Format(prometheus.PromQueryFormatTimeSeries).
		Expr(expr), look}
}

// overTime asks for the whole time range; legend may hold {{label}}.
func overTime(expr, legend string, look ...property) query {
	q := newQuery(expr, look...)
	q.Range().LegendFormat(legend)
	return q
}

// now asks for the value at the end of the time range.
func now(expr, legend string) query {
	q := newQuery(expr)
	q.Instant().LegendFormat(legend)
	return q
}

// asRows asks for the values at the end of the time range as a table, one row a series.
func asRows(expr string) query {
	q := newQuery(expr)
	q.Instant().Format(prometheus.PromQueryFormatTable)
	return q
}

// withRefIDs gives the queries of one panel their names: A, B, C.
func withRefIDs(queries []query) []cog.Builder[variants.Dataquery] {
	out := make([]cog.Builder[variants.Dataquery], len(queries))
	for i, q := range queries {
		out[i] = q.RefId(letter(i))
	}
	return out
}

func letter(i int) string { return string(rune('A' + i)) }
