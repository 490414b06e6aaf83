package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// annotation marks on every time axis when an expression has a series: as a region from its first to its last sample. It
// has the form of Grafana 9.3, that newer ones read too.
type annotation struct {
	Name       string               `json:"name"`
	Datasource common.DataSourceRef `json:"datasource"`
	Enable     bool                 `json:"enable"`
	Hide       bool                 `json:"hide"`
	Color      string               `json:"iconColor"`
	Expr       string               `json:"expr"`
	// Step is the time between samples. A shorter gap joins two samples to one region, and Prometheus answers for 11,000
	// steps: 7 days of a minute, 46 hours of 15 s.
	Step  string `json:"step"`
	Title string `json:"titleFormat"` // may hold {{label}}, as the text
	Text  string `json:"textFormat"`
}

// firing matches the alerts of this project that fire for the chosen hosts. Some alerts are about no job or no host.
const firing = `alertname=~"Accelerator.+",alertstate="firing",job=~"$job|",instance=~"$instance|"`

// alertMarks shows when alerts fired that somebody is told about.
func alertMarks(expr, text string) annotation {
	return annotation{"Alerts", source(), true, false, "red", expr, "1m", "{{alertname}}", text}
}

// hostAlerts are those of the chosen hosts.
func hostAlerts() annotation {
	return alertMarks(`ALERTS{`+firing+`,severity!="info"}`, "{{severity}} {{instance}} {{vendor}} {{device}} {{target}} {{collector}}")
}

// stepMarks shows when the steps of load tests ran.
func stepMarks(matchers string) annotation {
	expr := `max by (` + byStep + `) (accelerator_bench_phase{` + matchers + `})`
	return annotation{"Load tests", source(), true, false, "blue", expr, "15s", "accelbench {{step}}", "{{target}} {{model}}"}
}

// alertTable lists the alerts that fire, the gravest first.
func alertTable() *table.PanelBuilder {
	return rowsOf("Firing alerts", "Alerts of this project that fire now for the chosen hosts, the gravest first, at most 200. They need the rules of deploy/prometheus. Each has a runbook in docs/runbooks.",
		[]column{
			value("Severity", `topk(200, 3 * ALERTS{`+firing+`,severity="critical"} or 2 * ALERTS{`+firing+`,severity="warning"} or ALERTS{`+firing+`,severity="info"})`, mappedCell(words(word{"3", "critical", "red"}, word{"2", "warning", "orange"}, word{"1", "info", "blue"}))...),
			label("alertname", "Alert"),
			hostColumn(),
			label("vendor", "Vendor"),
			cardColumn(),
			targetColumn(),
			label("collector", "Collector"),
		}).
		NoValue("no alert fires").SortBy(descending("Severity"))
}
