package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// column is a column of a table: the field's name in the data and the name shown.
// Values of the n-th query are in the field "Value #A", "Value #B", or "Value" where there is one query.
type column struct{ field, name string }

// merged joins the queries of a table by their common labels into one row each.
func merged() dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}
}

// sortedBy sorts the rows by a field, the smallest first.
func sortedBy(field string) dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "sortBy", Options: map[string]any{
		"fields": map[string]any{}, "sort": []map[string]any{{"field": field}},
	}}
}

// matrix makes a table of rows and columns from two labels, both in order: the columns by what comes first, the rows at the end.
func matrix(rowField, columnField, valueField string) []dashboard.DataTransformerConfig {
	return []dashboard.DataTransformerConfig{
		sortedBy(columnField),
		{Id: "groupingToMatrix", Options: map[string]any{"rowField": rowField, "columnField": columnField, "valueField": valueField}},
		sortedBy(rowField + `\` + columnField),
	}
}

// columnsOf orders and names the columns of a table and leaves every other field out.
func columnsOf(columns ...column) []dashboard.DataTransformerConfig {
	var keep []string
	order, names := map[string]int{}, map[string]string{}
	for i, c := range columns {
		for _, field := range c.fields() {
			keep = append(keep, field)
			order[field] = i
			names[field] = c.name
		}
	}
	return []dashboard.DataTransformerConfig{
		{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": keep}}},
		{Id: "organize", Options: map[string]any{"excludeByName": map[string]bool{}, "indexByName": order, "renameByName": names}},
	}
}

// fields are the names that a column's field may have: where only one of several queries has data, Grafana calls its
// values as those of a single query. That one is the first, which has data wherever another has.
func (c column) fields() []string {
	if c.field == "Value #A" {
		return []string{c.field, "Value"}
	}
	return []string{c.field}
}
