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

// alertCount is how many alerts fire, by severity, the gravest first. It is not known without the rules.
func alertCount() *stat.PanelBuilder {
	return statPanel("Firing alerts", "How many alerts of this project fire now for the chosen hosts, by severity; the table lists them. It needs the rules of deploy/prometheus.", count, "no rules",
		now(`count(ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="critical",job=~"$job",instance=~"$instance"})`, "critical"),
		now(`count(ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="warning",job=~"$job",instance=~"$instance"})`, "warning"),
		now(`count(ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="info",job=~"$job",instance=~"$instance"})`, "info"),
		now(`0 * count(instance_vendor:accelerator_utilization_ratio:avg or target:accelerator_probe_success:last)
  unless on () ALERTS{alertname=~"Accelerator.+",alertstate="firing",job=~"$job",instance=~"$instance"}`, "none")).
		OverrideByName("critical", []property{colorOf("red")}).
		OverrideByName("warning", []property{colorOf("orange")}).
		OverrideByName("info", []property{colorOf("blue")}).
		OverrideByName("none", []property{colorOf("green")})
}

// hostAlertTable lists the alerts of the chosen hosts.
func hostAlertTable() *table.PanelBuilder {
	return alertTable(`label_join(label_replace(label_replace(label_replace(1000 * (
      topk(200, ALERTS_FOR_STATE{alertname=~"Accelerator.+",alertname!="AcceleratorCardsMissing",severity="critical",job=~"$job",instance=~"$instance"} and ignoring (alertstate) ALERTS{alertstate="firing"})
    or topk(100, ALERTS_FOR_STATE{alertname=~"Accelerator.+",alertname!="AcceleratorCardsMissing",severity="warning",job=~"$job",instance=~"$instance"} and ignoring (alertstate) ALERTS{alertstate="firing"})
    or topk(50, ALERTS_FOR_STATE{alertname=~"Accelerator.+",alertname!="AcceleratorCardsMissing",severity="info",job=~"$job",instance=~"$instance"} and ignoring (alertstate) ALERTS{alertstate="firing"})
    or (ALERTS_FOR_STATE{alertname="AcceleratorCardsMissing",job=~"$job",instance=~"$instance"} and ignoring (alertstate) ALERTS{alertstate="firing"})
      * on (job, instance, vendor) group_right (alertname, severity) (accelerator_device_missing_info{job=~"$job",instance=~"$instance"} unless on (job, instance, vendor, device) accelerator_healthy == 0)
    or ALERTS_FOR_STATE{alertname="AcceleratorCardsMissing",job=~"$job",instance=~"$instance"} and ignoring (alertstate) ALERTS{alertstate="firing"}
      unless on (job, instance, vendor) (accelerator_device_missing_info{job=~"$job",instance=~"$instance"} unless on (job, instance, vendor, device) accelerator_healthy == 0)
  ), "severity", "1", "severity", "critical"), "severity", "2", "severity", "warning"), "severity", "3", "severity", "info"),
  "about", " ", "objective", "collector", "name", "bus_id", "pid", "lacks", "reason", "code", "reading", "of", "link", "port", "memory", "type", "state", "direction", "lane", "node", "sensor", "udie", "rail", "slice", "engine", "clock", "event", "kind", "command", "pod")`,
		hostColumn(), vendorColumn(), cardColumn(), targetColumn())
}

// alertTable lists alerts, the gravest first, of which severity 1 to 3 is the order. The label "about" has what tells two
// rows of one alert apart; the alert on missing cards has a row for each card that is known to be missing.
func alertTable(expr string, columns ...column) *table.PanelBuilder {
	severity := mapped(saying("1", "critical", "red"), saying("2", "warning", "orange"), saying("3", "info", "blue"))
	runbook := links(linkTo("Open the runbook", "https://github.com/accelerator-exporter/accelerator_exporter/blob/main/docs/runbooks.md#${__data.fields.alertname}"))
	columns = append([]column{
		label("severity", "Severity", append(severity, width(80))...),
		value("Since", expr, unitOf("dateTimeFromNow"), width(120)),
		label("alertname", "Alert", append(runbook, width(280))...),
	}, append(columns, label("about", "About"))...)
	return rowsOf("Firing alerts", "Alerts of this project that fire now, the most severe first. About: the process, link or memory concerned. An alert leads to its runbook, a card or target to its own page. They need the rules of deploy/prometheus.", columns...).
		Height(8).NoValue("no alert fires").SortBy(ascending("Severity"))
}
