package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// column is a column of a table: the field's name in the data and the name shown.
// Values of the n-th query are in the field "Value #A", "Value #B", or "Value" where there is one query.
type column struct{ field, name string }

// merged joins the queries of a table by their common labels into one row each.
func merged() dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}
}

// columnsOf orders and names the columns of a table and leaves every other field out.
func columnsOf(columns ...column) []dashboard.DataTransformerConfig {
	var keep []string
	order, names := map[string]int{}, map[string]string{}
	for i, c := range columns {
		keep = append(keep, c.field)
		order[c.field] = i
		names[c.field] = c.name
	}
	return []dashboard.DataTransformerConfig{
		{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": keep}}},
		{Id: "organize", Options: map[string]any{"excludeByName": map[string]bool{}, "indexByName": order, "renameByName": names}},
	}
}
