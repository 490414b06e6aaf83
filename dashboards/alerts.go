package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// alertStates are the severities of alerts among other states of a timeline, below which nothing else is.
func alertStates() []dashboard.ValueMapping {
	return []dashboard.ValueMapping{valueText("-3", "critical", "red"), valueText("-2", "warning", "orange")}
}

// alertsAndLoadTests shows when alerts fired and load tests ran. Annotations of Grafana would move both to their steps of
// minutes, and have no names.
func alertsAndLoadTests() *statetimeline.PanelBuilder {
	return stateTimeline("Alerts and load tests", "When alerts fired for the chosen hosts, and when accelbench put load on the chosen targets: with how many users, or requests a second.",
		append(alertStates(), valueText("0", "none", "transparent")),
		overTime(`-3 * max by (alertname) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="critical",job=~"$job",instance=~"$instance"})`, "{{alertname}}"),
		overTime(`-2 * max by (alertname) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="warning",job=~"$job",instance=~"$instance"})`, "{{alertname}}"),
		overTime(`max((accelerator_bench_request_rate or accelerator_bench_concurrency) and on (instance, target, model, step)
  (accelerator_bench_phase{target=~"$server"} or accelerator_bench_phase and on (target) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}))`, "load test"),
		overTime(`0 * max(up{job=~"$job",instance=~"$instance"}) unless on () (count_over_time(ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity=~"critical|warning",job=~"$job",instance=~"$instance"}[$__range] @ end())
  or count_over_time(accelerator_bench_phase[$__range] @ end()))`, "none in this range")).
		Height(5).ShowValue(common.VisibilityModeAuto).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(false)).
		OverrideByName("load test", []property{colorOf("blue")})
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
	severity := mapped(valueText("1", "critical", "red"), valueText("2", "warning", "orange"), valueText("3", "info", "blue"))
	runbook := links(linkTo("Open the runbook", "https://github.com/accelerator-exporter/accelerator_exporter/blob/main/docs/runbooks.md#${__data.fields.alertname}"))
	columns = append([]column{
		label("severity", "Severity", append(severity, width(90))...),
		value("Since", expr, unitOf("dateTimeFromNow"), width(120)),
		label("alertname", "Alert", append(runbook, width(280))...),
	}, append(columns, label("about", "About"))...)
	return rowsOf("Firing alerts", "Alerts of this project that fire now, the most severe first. About: the process, link or memory concerned. An alert leads to its runbook, a card or target to its own page. They need the rules of deploy/prometheus.", columns...).
		Height(8).NoValue("no alert fires").SortBy(sortAscending("Severity"))
}
