package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// band sorts the time of each target into bands of load: expr has one series a target with the value 1, whose label
// "band" is the number of the band that its load is in.
type band struct {
	expr  string
	names []string // of band 0, 1, …
}

// bandOf numbers the bands of a load. For what was observed in a step of the panel the highest of three loads counts: at
// the step's end, at its start, and a step earlier, since an observation that was begun under a high load and ended after
// it tells nothing of a low one. "without ()" keeps the labels byTarget, of which "by (a, b, c)" loses some from the
// second instant on in Prometheus 2.42.
func bandOf(number, load string, names ...string) band {
	before := func(expr string) string {
		return `last_over_time((` + expr + `)[$__interval:$__interval] offset $__interval)`
	}
	var ends []string
	for i, end := range []string{load, before(load), before(before(load))} {
		ends = append(ends, fmt.Sprintf(`label_replace(%s, "end", "%d", "", "")`, end, i))
	}
	highest := `max by (` + byTarget + `) (` + strings.Join(ends, " or ") + `)`
	return band{expr: `count_values without () ("band", ` + fmt.Sprintf(number, highest) + `)`, names: names}
}

// observed is what a counter of probes grew by in each band, over the time range. Each step counts for its own load, from
// one sample to the next: a longer window would count for one load what was observed under another.
func (b band) observed(counter, labels string) string {
	grown := fmt.Sprintf(`clamp_min(%s - %[1]s offset $__interval, 0)`, counter)
	return fmt.Sprintf(`%s (sum_over_time((%s (%s) * on (`+byTarget+`) group_left (band) %s)[$__range:$__interval]))`,
		sumBy("band", labels), sumBy(byTarget, labels), grown, b.expr)
}

// quantile is that of all observations in each band. Only with the buckets summed over a band's time is it a quantile: one
// of the steps' or of the targets' quantiles would not be.
func (b band) quantile(q float64, l latency) string {
	return fmt.Sprintf(`histogram_quantile(%g, %s) >= 0`, q, b.observed(l.histogram+`_bucket{`+l.matchers+`}`, "le"))
}

// bandTable has a row for each band with probes in it.
func bandTable(title, description, load string, b band) *table.PanelBuilder {
	first, gaps := probeLatency(ttft), probeLatency(itl)
	return rowsOf(title, description+" Over the dashboard's time range, all chosen targets together; each probe counts for the load of its own target in the step it ended in.",
		[]column{
			label("band", load, property{Id: "mappings", Value: numbered(b.names)}),
			value("Probes", b.observed(first.histogram+`_count{`+first.matchers+`}`, "")+` > 0`, unitOf(count), property{Id: "decimals", Value: 0}),
			value("TTFT p50", b.quantile(0.5, first)),
			value("TTFT p90", b.quantile(0.9, first)),
			value("TTFT p99", b.quantile(0.99, first)),
			value("ITL p50", b.quantile(0.5, gaps)),
			value("ITL p99", b.quantile(0.99, gaps)),
		}).
		Span(10).Height(7).
		// Steps of a scrape where the range allows it, and no more than Prometheus answers at once also for a month.
		Interval("15s").MaxDataPoints(240).NoValue("no probe, or its load is not known").SortBy(ascending(load)).
		OverrideByRegexp("(TTFT|ITL) .*", []property{unitOf(seconds)})
}

// numbered maps "0", "1" and so on to names.
func numbered(names []string) []dashboard.ValueMapping {
	all := make([]word, len(names))
	for i, name := range names {
		all[i] = word{value: fmt.Sprint(i), text: name}
	}
	return words(all...)
}

func latencyByLoad() []panel {
	return []panel{
		bandTable("By utilization", "What probes took while the cards of their target were so busy.", "Utilization",
			bandOf(`clamp_max(floor(%s * 5), 4)`, loadOfTargets(`accelerator_utilization_ratio{`+ofCard+`}`), "0–20 %", "20–40 %", "40–60 %", "60–80 %", "80–100 %")),
		bandTable("By requests in the server", "What probes took while so many requests ran or waited in the servers of their target. Needs vLLM's own metrics.", "Requests",
			bandOf(`clamp_max(floor(log2(clamp_min(%s, 0.25)) / 2) + 1, 6)`, requestsOfTargets(),
				"none", "1–3", "4–15", "16–63", "64–255", "256–1023", "1024 and more")),
		correlation(),
	}
}

// leastSpread is the standard deviation of utilization below which a correlation would be one of rounding errors.
const leastSpread = 0.0001

// correlation is the dashboard's question as one figure: of the lines of its first panel. Its points need not be nearer to
// one another than their window is long, and every one of them asks for all cards that serve.
func correlation() panel {
	load := `avg(` + serving(servingLoad) + `)`
	of := func(name string) string {
		mean := `(` + probeLatency(name).mean() + `)`
		both := func(f, expr string) string { return f + `((` + expr + `)[$__range:$__interval])` }
		x, y := load+` and `+mean, mean+` and `+load
		return `(` + both("avg_over_time", load+` * `+mean) + ` - ` + both("avg_over_time", x) + ` * ` + both("avg_over_time", y) + `)` +
			fmt.Sprintf(` / ((%s > %g) * (%s > 0))`, both("stddev_over_time", x), leastSpread, both("stddev_over_time", y))
	}
	return statPanel("Correlation with utilization",
		"Pearson's correlation, over the dashboard's time range, of the lines of the first panel: 1 is latency that follows load in a straight line, 0 is latency that has nothing to do with it. Not known where the load did not change.", plain,
		"not known", now(of(ttft), "TTFT"), now(of(itl), "ITL")).
		Height(7).Min(-1).Max(1).Decimals(2).ColorScheme(fixed("text")).
		Interval("15s").MaxDataPoints(60)
}
