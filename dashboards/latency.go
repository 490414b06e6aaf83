package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// latency is a histogram of one of the latencies, of whoever measures it.
type latency struct {
	histogram string // name, without _bucket
	matchers  string
	older     string // name of the same histogram in older versions
}

// quantile is taken over all that happened in the window before each instant. The comparison
// drops windows without an observation, whose quantile is not a number.
func (l latency) quantile(q float64, window string) string {
	return l.either(func(name string) string {
		return fmt.Sprintf(`histogram_quantile(%g, sum by (le) (rate(%s_bucket{%s}[%s]))) >= 0`, q, name, l.matchers, window)
	})
}

// mean is that of the chosen window. It is honest also of the few observations of a short one, where a high quantile is
// its slowest one.
func (l latency) mean() string {
	return l.either(func(name string) string {
		of := func(part string) string {
			return fmt.Sprintf(`sum(rate(%s_%s{%s}[$window]))`, name, part, l.matchers)
		}
		return of("sum") + ` / (` + of("count") + ` > 0)`
	})
}

// either takes the figure of the older name where the newer one is not there. Both may be there at once, which must not
// be added up.
func (l latency) either(figure func(name string) string) string {
	if l.older == "" {
		return figure(l.histogram)
	}
	return figure(l.histogram) + " or " + figure(l.older)
}

// sumBy adds up by the labels of some lists of labels, which may be empty.
func sumBy(labels ...string) string {
	if all := strings.TrimPrefix(strings.TrimSuffix(strings.Join(labels, ", "), ", "), ", "); all != "" {
		return `sum by (` + all + `)`
	}
	return `sum`
}

// buckets is for heat maps: what was observed since the instant before, by the bounds given. Bounds of 1 and more are
// written as 1 or as 1.0, by the format of the scrape.
func (l latency) buckets(bounds ...string) string {
	for i, bound := range bounds {
		bounds[i] = strings.ReplaceAll(bound, ".", `\\.`)
		if !strings.Contains(bound, ".") {
			bounds[i] += `(\\.0)?`
		}
	}
	return fmt.Sprintf(`sum by (le) (increase(%s_bucket{%s,le=~"%s|\\+Inf"}[$__rate_interval]))`, l.histogram, l.matchers, strings.Join(bounds, "|"))
}

// probeLatency is what a probe measured, name being ttft and so on as in the metrics' names.
func probeLatency(name string) latency {
	return latency{histogram: "accelerator_probe_" + name + "_seconds", matchers: ofProbe}
}

// serverLatency is what vLLM says of its own requests, under the names of 0.32 and of older versions.
func serverLatency(name string) latency {
	return map[string]latency{
		ttft:     {histogram: "vllm:time_to_first_token_seconds", matchers: ofServer},
		itl:      {histogram: "vllm:inter_token_latency_seconds", older: "vllm:time_per_output_token_seconds", matchers: ofServer},
		tpot:     {histogram: "vllm:request_time_per_output_token_seconds", matchers: ofServer},
		duration: {histogram: "vllm:e2e_request_latency_seconds", matchers: ofServer},
		"queue":  {histogram: "vllm:request_queue_time_seconds", matchers: ofServer},
	}[name]
}

// The latencies' names within metric names.
const (
	ttft     = "time_to_first_token"
	tpot     = "time_per_output_token"
	itl      = "inter_token_latency"
	duration = "request_duration"
)

// percentile is a quantile with its name and the colour that it has everywhere.
type percentile struct {
	q           float64
	name, color string
}

func percentiles() []percentile {
	return []percentile{{0.5, "p50", "green"}, {0.9, "p90", "yellow"}, {0.99, "p99", "orange"}}
}

// latencyPanel draws the percentiles of all that was observed in the windows.
func latencyPanel(title, description string, l latency, window string, more ...query) *timeseries.PanelBuilder {
	var queries []query
	for _, p := range percentiles() {
		queries = append(queries, overTime(l.quantile(p.q, window), p.name))
	}
	panel := logSeries(title, description, append(queries, more...)...).
		Span(12).Height(8).Legend(figures().Placement(common.LegendPlacementRight))
	for _, p := range percentiles() {
		panel = panel.OverrideByName(p.name, []property{colorOf(p.color)})
	}
	return panel
}
