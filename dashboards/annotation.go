package dashboards

import (
	"encoding/json"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// annotation marks on every time axis when an expression has a series: as a region from its first to its last sample.
type annotation struct {
	name, expr  string
	title, text string // may hold {{label}}
	color       string
	// step is the time between samples. A shorter gap joins two samples to one region, and Prometheus answers for 11,000
	// steps: 7 days of a minute, 46 hours of 15 s.
	step string
}

// MarshalJSON implements json.Marshaler, in the form of Grafana 9.3 that newer ones read too.
func (a annotation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name        string               `json:"name"`
		Datasource  common.DataSourceRef `json:"datasource"`
		Enable      bool                 `json:"enable"`
		Hide        bool                 `json:"hide"`
		IconColor   string               `json:"iconColor"`
		Expr        string               `json:"expr"`
		Step        string               `json:"step"`
		TitleFormat string               `json:"titleFormat"`
		TextFormat  string               `json:"textFormat"`
	}{a.name, source(), true, false, a.color, a.expr, a.step, a.title, a.text})
}

// firing matches the alerts of this project that fire for the chosen hosts. Some alerts are about no job or no host.
const firing = `alertname=~"Accelerator.+",alertstate="firing",job=~"$job|",instance=~"$instance|"`

// alertMarks shows when alerts fired that somebody is told about.
func alertMarks() annotation {
	return annotation{
		name: "Alerts", expr: `ALERTS{` + firing + `,severity!="info"}`,
		title: "{{alertname}}", text: "{{severity}} {{instance}} {{vendor}} {{device}} {{target}} {{collector}}",
		color: "red", step: "1m",
	}
}

// stepMarks shows when the steps of load tests ran.
func stepMarks(matchers string) annotation {
	return annotation{
		name: "Load tests", expr: `max by (` + byStep + `) (accelerator_bench_phase{` + matchers + `})`,
		title: "accelbench {{step}}", text: "{{target}} {{model}}",
		color: "blue", step: "15s",
	}
}

// alertTable lists the alerts that fire, the gravest first.
func alertTable() *table.PanelBuilder {
	return rowsOf("Firing alerts", "Alerts of this project that fire now for the chosen hosts, the gravest first, at most 200. They need the rules of deploy/prometheus. Each has a runbook in docs/runbooks.",
		[]column{
			value("Severity", `topk(200, 3 * ALERTS{`+firing+`,severity="critical"} or 2 * ALERTS{`+firing+`,severity="warning"} or ALERTS{`+firing+`,severity="info"})`, mappedCell(severities())...),
			label("alertname", "Alert"),
			hostColumn(),
			label("vendor", "Vendor"),
			cardColumn(),
			targetColumn(),
			label("collector", "Collector"),
		}).
		NoValue("no alert fires").
		SortBy(descending("Severity"))
}

// alertCount is red as soon as one fires that somebody is told about.
func alertCount() *stat.PanelBuilder {
	return statPanel("Firing alerts", "Alerts that fire now for the chosen hosts, those of severity info left out. None: no alert fires, or Prometheus lacks the rules.",
		count, "none", now(`count(ALERTS{`+firing+`,severity!="info"})`, "")).
		Thresholds(thresholds("red"))
}

func severities() []dashboard.ValueMapping {
	return words(word{"3", "critical", "red"}, word{"2", "warning", "orange"}, word{"1", "info", "blue"})
}
