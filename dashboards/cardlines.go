package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/timeseries"

// The names of cards, targets and nodes: the label "at" is made by withHost and is empty while one host is chosen.
const (
	cardLegend   = `{{at}}{{vendor}} {{device}}`
	targetLegend = `{{at}}{{target}}`
)

// withHost gives each series of expr a label "at" with its host, where several hosts are chosen: legends then tell them apart,
// and are short otherwise.
func withHost(expr string) string {
	const several = `count_values("several", count(group by (instance) (accelerator_exporter_build_info{` + ofHost + `})) > bool 1 or vector(0))`
	return `label_replace(label_replace(label_join((` + expr + `) * on () group_left (several) ` + several +
		`, "at", " ", "several", "instance"), "at", "$1 · ", "at", "1 (.*)"), "at", "", "at", "0 .*")`
}

// cardLines draws a figure of cards: the mean, the worst, and each card where there are no more than the variable "lines"
// says. The expression is for each card, worst is how its highest value is called.
func cardLines(title, description, unit, worst, expr string) *timeseries.PanelBuilder {
	return timeSeries(title, description+" Lines of single cards as the variable Lines says.", unit,
		overTime(`avg(`+expr+`)`, "mean", colorOf("blue"), thick(), filled(15), noLink()),
		overTime(`max(`+expr+`)`, worst, colorOf("orange"), thick(), noLink()),
		overTime(withHost(expr)+` and on () count(`+expr+`) <= $lines`, cardLegend)).
		Span(12).Height(8).Min(0).DataLinks(toCardOfSeries())
}
