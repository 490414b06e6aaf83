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
	const lengths = "30s,1m,2m,5m,15m,30m,1h,6h,1d"
	all, chosen := options(lengths, "1m")
	return dashboard.NewIntervalVariableBuilder("window").
		Label("Window").
		Description("Time over which means, quantiles and rates are taken. It should hold two probes and four scrapes, so that lines follow the load.").
		Values(dashboard.StringOrMap{String: cog.ToPtr(lengths)}).
		Options(all).Current(chosen)
}

// linesVariable is the most cards that have lines of their own.
func linesVariable() variable {
	return custom("lines", "Lines", "Panels show the mean and the worst of the cards. Lines of each card are added where there are few, or for all cards.",
		"up to 8 cards : 8,all cards : 100000", "8")
}

// topVariable bounds every panel that names cards, targets or collectors.
func topVariable() variable {
	return custom("top", "Top", "How many cards, targets or collectors the panels that name them show.", "10,20,50,100", "20")
}

// custom is a variable without a query. Its choices are values, or texts and values as in "few : 8".
func custom(name, label, description, choices, chosen string) variable {
	all, current := options(choices, chosen)
	return dashboard.NewCustomVariableBuilder(name).
		Label(label).
		Description(description).
		Values(dashboard.StringOrMap{String: &choices}).
		Options(all).Current(current)
}

// options are what a variable without a query offers, and which of them has the chosen value.
func options(choices, chosen string) (all []dashboard.VariableOption, current dashboard.VariableOption) {
	for _, choice := range strings.Split(choices, ",") {
		text, value, named := strings.Cut(choice, " : ")
		if !named {
			value = text
		}
		o := dashboard.VariableOption{
			Selected: cog.ToPtr(value == chosen),
			Text:     dashboard.StringOrArrayOfString{String: &text},
			Value:    dashboard.StringOrArrayOfString{String: &value},
		}
		if all = append(all, o); value == chosen {
			current = o
		}
	}
	return all, current
}
