package dashboards

import (
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// column is a column of a table: its head, the field of the data in it, the query that brings the field where no other
// does, and how its cells look. One without a head is not shown: rows of several queries meet by it, as all must share a column.
type column struct {
	head, field, expr string
	look              []property
}

// label is a column of a label, value one of a query's values.
func label(name, head string, look ...property) column {
	return column{head: head, field: name, look: look}
}

func value(head, expr string, look ...property) column {
	return column{head: head, expr: expr, look: look}
}

// labelFrom is a column of a label that one query brings.
func labelFrom(name, head, expr string, look ...property) column {
	return column{head: head, field: name, expr: expr, look: look}
}

// rowsOf is a table of one row a series, the full width. The fields of all queries meet in rows by the labels that are columns.
func rowsOf(title, description string, columns ...column) *table.PanelBuilder {
	var queries []query
	for i, c := range columns {
		if c.expr == "" {
			continue
		}
		if c.field == "" {
			columns[i].field = "Value #" + letter(len(queries))
		}
		queries = append(queries, asRows(c.expr))
	}
	if i := slices.IndexFunc(columns, func(c column) bool { return c.field == "Value #A" }); i >= 0 && len(queries) == 1 {
		columns[i].field = "Value"
	}
	// Other fields go before rows meet: two queries never agree about __name__, and no row would be whole.
	filtered, organized := columnTransformations(columns)
	steps := []dashboard.DataTransformerConfig{filtered, {Id: "merge", Options: map[string]any{}}, organized}
	if len(queries) == 1 {
		steps = []dashboard.DataTransformerConfig{filtered, organized}
	}
	p := tablePanel(title, description, queries...).Transformations(steps)
	for _, c := range columns {
		if c.look != nil {
			p = p.OverrideByName(c.head, c.look)
		}
	}
	return p
}

// tablePanel shows what its queries, made by asRows, bring.
func tablePanel(title, description string, queries ...query) *table.PanelBuilder {
	return table.NewPanelBuilder().
		Title(title).Description(description).
		Datasource(source()).Targets(withRefIDs(queries)).
		Span(24).Height(8).
		MinWidth(60). // Grafana's own minimum of 150 pixels would cut the last columns off
		// The words are for a table without rows. Grafana would also write them into every empty cell.
		NoValue("none").
		OverrideByRegexp(".*", []property{{Id: "noValue", Value: ""}}).
		ShowHeader(true)
}

// columnTransformations are the transformations that leave every other field out, and order and name the columns.
func columnTransformations(columns []column) (filtered, organized dashboard.DataTransformerConfig) {
	var keep []string
	order, names, excluded := map[string]int{}, map[string]string{}, map[string]bool{}
	for i, c := range columns {
		fields := []string{c.field}
		if c.field == "Value #A" {
			// Where only one of several queries has data, Grafana calls its values as those of a single query. That one is
			// the first, which has data wherever another has.
			fields = append(fields, "Value")
		}
		for _, field := range fields {
			keep = append(keep, field)
			if c.head == "" {
				excluded[field] = true
				continue
			}
			order[field], names[field] = i, c.head
		}
	}
	return dashboard.DataTransformerConfig{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": keep}}},
		dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": excluded, "indexByName": order, "renameByName": names}}
}

// matrix makes a table of rows and columns from two labels, both in order: the columns by what comes first, the rows at the end.
func matrix(rowField, columnField, valueField string) []dashboard.DataTransformerConfig {
	sortedBy := func(field string) dashboard.DataTransformerConfig {
		return dashboard.DataTransformerConfig{Id: "sortBy", Options: map[string]any{"sort": []map[string]any{{"field": field}}}}
	}
	return []dashboard.DataTransformerConfig{
		sortedBy(columnField),
		{Id: "groupingToMatrix", Options: map[string]any{"rowField": rowField, "columnField": columnField, "valueField": valueField}},
		sortedBy(rowField + `\` + columnField),
	}
}

// sortDescending sorts a table by one column, the largest first; ascending the smallest.
func sortDescending(column string) []cog.Builder[common.TableSortByFieldState] {
	return []cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(column).Desc(true)}
}

func sortAscending(column string) []cog.Builder[common.TableSortByFieldState] {
	return []cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(column).Desc(false)}
}
