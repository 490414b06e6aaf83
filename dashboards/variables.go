package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// source refers to the data source variable, so that nothing needs editing after an import.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

func datasourceVariable() *dashboard.DatasourceVariableBuilder {
	return dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")
}

// singleVariable is a variable of a single value, the first of the query's until the user chooses.
func singleVariable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(source()).
		// The object form is what every Grafana since 8 writes.
		Query(dashboard.StringOrMap{Map: map[string]any{"query": query, "refId": "StandardVariableQuery"}}).
		Definition(query).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNumericalAsc)
}

// multiVariable is a variable of any number of values, the first of the query's until the user chooses. There is no All: Grafana
// would begin with that, and a mean of strangers tells nothing.
func multiVariable(name, label, query string) *dashboard.QueryVariableBuilder {
	return singleVariable(name, label, query).Multi(true)
}

// allVariable is a variable of any number of values, all until the user chooses.
// All is ".*", as a list of all values would match nothing while it is empty.
func allVariable(name, label, query string) *dashboard.QueryVariableBuilder {
	return singleVariable(name, label, query).
		Multi(true).
		IncludeAll(true).
		AllValue(".*").
		Current(dashboard.VariableOption{
			Selected: cog.ToPtr(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
}

// hidden takes a variable off the head of the dashboard. A link may still set it.
func hidden(v *dashboard.QueryVariableBuilder) variable {
	return v.Hide(dashboard.VariableHideHideVariable)
}

func jobVariable() *dashboard.QueryVariableBuilder {
	return allVariable("job", "Job", `label_values(accelerator_exporter_build_info, job)`)
}

func instanceVariable() *dashboard.QueryVariableBuilder {
	return allVariable("instance", "Host", `label_values(accelerator_exporter_build_info{job=~"$job"}, instance)`)
}

// instancesVariable are the instances that an expression finds. "All" are just these: a list, and no pattern.
func instancesVariable(name, label, expr string) *dashboard.QueryVariableBuilder {
	return allVariable(name, label, `query_result(`+expr+`)`).AllValue("").Regex(`/instance="([^"]*)"/`)
}

func serverVariable(expr string) variable { return hidden(instancesVariable("server", "vLLM", expr)) }

// windowVariable is the time over which rates of sparse events such as probes are taken.
func windowVariable() variable {
	const lengths, chosen = "30s,1m,2m,5m,15m,30m,1h,6h,1d", "1m"
	var all []dashboard.VariableOption
	var current dashboard.VariableOption
	for _, length := range strings.Split(lengths, ",") {
		text := dashboard.StringOrArrayOfString{String: &length}
		o := dashboard.VariableOption{Selected: cog.ToPtr(length == chosen), Text: text, Value: text}
		if all = append(all, o); length == chosen {
			current = o
		}
	}
	return dashboard.NewIntervalVariableBuilder("window").
		Label("Averaged over").
		Description("Time over which means, quantiles and rates are taken. It should hold two probes and four scrapes, so that lines follow the load.").
		Values(dashboard.StringOrMap{String: cog.ToPtr(lengths)}).
		Options(all).Current(current)
}
