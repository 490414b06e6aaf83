package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Label matchers that the variables below fill.
const (
	ofHost  = `job=~"$job",instance=~"$instance"`
	ofCard  = ofHost + `,vendor=~"$vendor",device=~"$device"`
	ofProbe = ofHost + `,target=~"$target",model=~"$model"`

	// serves matches vLLM's own series by what is chosen of probes. A server without the label "target", which its scrape
	// may give it, may be any target's.
	serves   = `model_name=~"$model",target=~"$target|"`
	ofServer = serves + `,instance=~"$server"`
)

// source refers to the data source variable, so that nothing needs editing after an import.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

func datasourceVariable() variable {
	return dashboard.NewDatasourceVariableBuilder("datasource").
		Label("Data source").
		Type("prometheus")
}

// one is a variable of a single value, the first of the query's until the user chooses.
func one(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(source()).
		// The object form is what every Grafana since 8 writes.
		Query(dashboard.StringOrMap{Map: map[string]any{"query": query, "refId": "StandardVariableQuery"}}).
		Definition(query).
		// What a link that carries "all" from another dashboard means here.
		AllValue(".*").
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNumericalAsc)
}

// many is a variable of any number of values, all until the user chooses.
// All is ".*", as a list of all values would match nothing while it is empty.
func many(name, label, query string) *dashboard.QueryVariableBuilder {
	return one(name, label, query).
		Multi(true).
		IncludeAll(true).
		Current(dashboard.VariableOption{
			Selected: cog.ToPtr(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
}

// hosts are the variables of every dashboard: data source, scrape job and exporters.
func hosts() []variable {
	return []variable{datasourceVariable(), jobVariable(), instanceVariable()}
}

func jobVariable() variable {
	return many("job", "Job", `label_values(accelerator_exporter_build_info, job)`)
}

func instanceVariable() variable {
	return many("instance", "Instance", `label_values(accelerator_exporter_build_info{job=~"$job"}, instance)`)
}

// serverVariable chooses vLLM's servers among those that the matchers select.
func serverVariable(matchers string) variable {
	return many("server", "vLLM", `label_values(vllm:num_requests_running{`+matchers+`}, instance)`)
}

// cards are the variables that choose cards on the hosts.
func cards() []variable {
	return []variable{
		many("vendor", "Vendor", `label_values(accelerator_info{`+ofHost+`}, vendor)`),
		many("device", "Device", `label_values(accelerator_info{`+ofHost+`,vendor=~"$vendor"}, device)`),
	}
}

// probes are the variables that choose probed endpoints.
func probes() []variable {
	return []variable{
		many("target", "Target", `label_values(accelerator_probe_requests_total{`+ofHost+`}, target)`),
		many("model", "Model", `label_values(accelerator_probe_requests_total{`+ofHost+`,target=~"$target",model!=""}, model)`),
	}
}

// windowVariable is the time over which rates of sparse events such as probes are taken.
func windowVariable() variable {
	lengths := []string{"1m", "2m", "5m", "15m", "30m", "1h", "6h", "1d"}
	const chosen = "5m"
	return dashboard.NewIntervalVariableBuilder("window").
		Label("Window").
		Description("Time over which quantiles, rates and averages are taken; it should hold several probes.").
		Values(dashboard.StringOrMap{String: cog.ToPtr(strings.Join(lengths, ","))}).
		Options(options(lengths, chosen)).
		Current(option(chosen, true))
}

// options are what a variable without a query offers.
func options(values []string, chosen string) []dashboard.VariableOption {
	var out []dashboard.VariableOption
	for _, v := range values {
		out = append(out, option(v, v == chosen))
	}
	return out
}

func option(value string, selected bool) dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: &selected,
		Text:     dashboard.StringOrArrayOfString{String: &value},
		Value:    dashboard.StringOrArrayOfString{String: &value},
	}
}
