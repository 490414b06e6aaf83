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

	// On the pages of one host and of one card: what is chosen there.
	ofOneHost = `job=~"$job",instance=~"$host"`
	ofMaker   = ofOneHost + `,vendor=~"$maker"`
	ofOneCard = ofMaker + `,device=~"$card"`

	// ofServer matches the series of the chosen vLLM servers. Their label model_name is no choice: it is the first of a
	// server's names, which need not be the one that is asked for.
	ofServer = `instance=~"$server"`
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
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNumericalAsc)
}

// many is a variable of any number of values, all until the user chooses.
// All is ".*", as a list of all values would match nothing while it is empty.
func many(name, label, query string) *dashboard.QueryVariableBuilder {
	return one(name, label, query).
		Multi(true).
		IncludeAll(true).
		AllValue(".*").
		Current(dashboard.VariableOption{
			Selected: cog.ToPtr(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
}

// scope are hidden variables that a link from another dashboard may set: among which hosts and cards one is chosen here.
// They take "All" and "$__all" for any, which a variable of one value cannot.
func scope() []variable {
	hidden := func(v *dashboard.QueryVariableBuilder) variable { return v.Hide(dashboard.VariableHideHideVariable) }
	return []variable{
		hidden(many("instance", "Hosts", `label_values(accelerator_exporter_build_info, instance)`)),
		hidden(many("vendor", "Vendors", `label_values(accelerator_info, vendor)`)),
		hidden(many("device", "Cards", `label_values(accelerator_info, device)`)),
	}
}

// hosts are the variables of every dashboard: data source, scrape job and exporters.
func hosts() []variable {
	return []variable{datasourceVariable(), jobVariable(), instanceVariable()}
}

func jobVariable() variable {
	return many("job", "Job", `label_values(accelerator_exporter_build_info, job)`)
}

func instanceVariable() variable {
	return many("instance", "Host", `label_values(accelerator_exporter_build_info{job=~"$job"}, instance)`)
}

// serverVariable chooses among the vLLM servers of an expression. "All" are just these: a list, and no pattern.
func serverVariable(expr string) variable {
	return many("server", "vLLM", `query_result(`+expr+`)`).
		AllValue("").
		Regex(`/instance="([^"]*)"/`)
}

// cards are the variables that choose cards on the hosts.
func cards() []variable {
	return []variable{
		many("vendor", "Vendor", `label_values(accelerator_info{`+ofHost+`}, vendor)`),
		many("device", "Card", `label_values(accelerator_info{`+ofHost+`,vendor=~"$vendor"}, device)`),
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
	lengths := []string{"30s", "1m", "2m", "5m", "15m", "30m", "1h", "6h", "1d"}
	const chosen = "1m"
	return dashboard.NewIntervalVariableBuilder("window").
		Label("Window").
		Description("Time over which means, quantiles and rates are taken. It should hold two probes and four scrapes, so that lines follow the load.").
		Values(dashboard.StringOrMap{String: cog.ToPtr(strings.Join(lengths, ","))}).
		Options(options(same(lengths), chosen)).
		Current(option(choice{chosen, chosen}, true))
}

// choice is a value of a variable and how it is called.
type choice struct{ text, value string }

func same(values []string) []choice {
	out := make([]choice, len(values))
	for i, v := range values {
		out[i] = choice{v, v}
	}
	return out
}

// custom is a variable without a query.
func custom(name, label, description string, choices []choice, chosen choice) variable {
	written := make([]string, len(choices))
	for i, c := range choices {
		written[i] = c.value
		if c.text != c.value {
			written[i] = c.text + " : " + c.value
		}
	}
	return dashboard.NewCustomVariableBuilder(name).
		Label(label).
		Description(description).
		Values(dashboard.StringOrMap{String: cog.ToPtr(strings.Join(written, ","))}).
		Options(options(choices, chosen.value)).
		Current(option(chosen, true))
}

// linesVariable is the most cards that have lines of their own.
func linesVariable() variable {
	few := choice{"up to 8 cards", "8"}
	return custom("lines", "Lines", "Panels show the mean and the worst of the cards. Lines of each card are added where there are few, or for all cards.",
		[]choice{few, {"all cards", "100000"}}, few)
}

// options are what a variable without a query offers.
func options(choices []choice, chosen string) []dashboard.VariableOption {
	var out []dashboard.VariableOption
	for _, c := range choices {
		out = append(out, option(c, c.value == chosen))
	}
	return out
}

func option(c choice, selected bool) dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: &selected,
		Text:     dashboard.StringOrArrayOfString{String: &c.text},
		Value:    dashboard.StringOrArrayOfString{String: &c.value},
	}
}
