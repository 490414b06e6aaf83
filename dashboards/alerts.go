package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
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
	// Step is the time between samples. Grafana takes 100 of them, so that 5m reaches back over 8 hours and 1m over 100 minutes.
	Step  string `json:"step"`
	Title string `json:"titleFormat"` // may hold {{label}}, as the text
	Text  string `json:"textFormat"`
}

// alertMarks shows when alerts fired that somebody is told about. A region a severity stays readable with many alerts.
func alertMarks(expr string) annotation {
	return annotation{Name: "Alerts", Datasource: source(), Enable: true, Color: "red", Expr: expr, Step: "5m", Title: "{{severity}}", Text: "an alert fires"}
}

// loadTests shows when the steps of load tests ran.
func loadTests(expr string) annotation {
	return annotation{Name: "Load tests", Datasource: source(), Enable: true, Color: "blue", Expr: expr, Step: "1m", Title: "accelbench {{step}}", Text: "{{target}}"}
}

// hostAlerts marks the alerts of the chosen hosts.
func hostAlerts() annotation {
	return alertMarks(`max by (severity) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity!="info",job=~"$job|",instance=~"$instance|"})`)
}

// alertCount is how many alerts fire, by severity. It is not known without the rules.
func alertCount() *stat.PanelBuilder {
	return statPanel("Firing alerts", "How many alerts of this project fire now for the chosen hosts, by severity; the table lists them. It needs the rules of deploy/prometheus.", count, "no rules",
		now(`count by (severity) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",job=~"$job|",instance=~"$instance|"})
  or label_replace(0 * count(instance_vendor:accelerator_utilization_ratio:avg or target:accelerator_probe_success:last), "severity", "none", "", "")
    unless on () ALERTS{alertname=~"Accelerator.+",alertstate="firing",job=~"$job|",instance=~"$instance|"}`, "{{severity}}")).
		OverrideByName("critical", []property{colorOf("red")}).
		OverrideByName("warning", []property{colorOf("orange")}).
		OverrideByName("info", []property{colorOf("blue")}).
		OverrideByName("none", []property{colorOf("green")})
}

// hostAlertTable lists the alerts of the chosen hosts.
func hostAlertTable() *table.PanelBuilder {
	return alertTable(`label_join(
  topk(200, 3 * ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="critical",job=~"$job|",instance=~"$instance|"}
    or 2 * ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="warning",job=~"$job|",instance=~"$instance|"}
    or ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="info",job=~"$job|",instance=~"$instance|"}),
  "about", " ", "target", "objective", "collector", "pid", "lacks", "reason", "code", "reading", "of", "link", "port", "memory", "type", "state", "direction", "lane", "node", "sensor", "udie", "rail", "slice", "engine", "clock", "event", "kind", "command", "pod")`,
		hostColumn(), vendorColumn(), cardColumn())
}

// alertTable lists alerts, the gravest first. The label "about" has what tells two rows of one alert apart.
func alertTable(expr string, columns ...column) *table.PanelBuilder {
	severity := mapped(saying("3", "critical", "red"), saying("2", "warning", "orange"), saying("1", "info", "blue"))
	columns = append([]column{
		value("Severity", expr, append(severity, width(80))...), label("alertname", "Alert", width(290)),
	}, append(columns, label("about", "About"))...)
	return rowsOf("Firing alerts", "Alerts of this project that fire now, the most severe first. About: the target, process, link or memory concerned. Each has a runbook in docs/runbooks.md. They need the rules of deploy/prometheus.", columns...).
		NoValue("no alert fires").SortBy(descending("Severity"))
}
