package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// latency is a histogram of one of the latencies, of whoever measures it.
type latency struct {
	histogram string // name, without _bucket
	matchers  string
	older     string // name of the same histogram in older versions
}

// quantile is taken over all that happened in the window before each instant, for each value of the labels.
func (l latency) quantile(q float64, window, labels string) string {
	if labels != "" {
		labels += ", "
	}
	of := func(name string) string {
		return fmt.Sprintf(`histogram_quantile(%g, sum by (%sle) (rate(%s_bucket{%s}[%s])))`, q, labels, name, l.matchers, window)
	}
	if l.older == "" {
		return of(l.histogram)
	}
	// Both may be there at once, which must not be summed.
	return of(l.histogram) + " or " + of(l.older)
}

// buckets is for heat maps: what was observed since the instant before.
func (l latency) buckets() string {
	return fmt.Sprintf(`sum by (le) (increase(%s_bucket{%s}[$__rate_interval]))`, l.histogram, l.matchers)
}

// probeLatency is what a probe measured, name being ttft and so on as in the metrics' names.
func probeLatency(name string) latency {
	return latency{histogram: "accelerator_probe_" + name + "_seconds", matchers: ofProbe}
}

// The latencies' names within metric names.
const (
	ttft     = "time_to_first_token"
	tpot     = "time_per_output_token"
	itl      = "inter_token_latency"
	duration = "request_duration"
)

// p50, p90, p99 as three queries, with a legend that starts with prefix.
func threeQuantiles(l latency, window, labels, prefix string) []query {
	var out []query
	for _, q := range []float64{0.5, 0.9, 0.99} {
		out = append(out, overTime(l.quantile(q, window, labels), fmt.Sprintf("%s p%g", prefix, q*100)))
	}
	return out
}

// latencyPanel draws quantiles over time. A latency spans decades, hence the logarithmic axis.
func latencyPanel(title, description string, queries ...query) *timeseries.PanelBuilder {
	return timeSeries(title, description, seconds, queries...).
		Span(12).Height(9).
		FillOpacity(0).
		ScaleDistribution(common.NewScaleDistributionConfigBuilder().Type(common.ScaleDistributionLog).Log(2)).
		Legend(lastAndMax())
}
