package dashboards

import (
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// targetLegend names a probed target: several hosts may each have one of the same name.
const targetLegend = `{{instance}} {{target}}`

// servingUtilization is the mean over the cards that serve, smoothed as the latencies are.
func servingUtilization() string {
	return `avg(` + serving(`avg_over_time(accelerator_utilization_ratio{`+ofCard+`}[$window])`) + `)`
}

func loadLatency() page {
	return page{
		uid:   uidLoadLatency,
		title: "Accelerators: load and latency",
		description: "Is the endpoint fast, does latency follow load, and how many requests fail? " +
			"Latencies are those of the exporter's own probes, the load is that of the cards that serve the probed endpoint.",
		from: "3h", refresh: "30s",
		variables: slices.Concat(hosts(), cards(), probes(), []variable{
			serverVariable(serves), windowVariable(),
		}),
		rows: []row{
			{"Now", loadLatencyNow()},
			{"Load and latency on one time axis", loadOverLatency()},
			{"How latency follows load", latencyByLoad()},
			{"Distribution", latencyHeatMaps()},
			{"Server time and network time", serverAndClient()},
			{"Failures", failuresByReason()},
		},
	}
}

func loadLatencyNow() []panel {
	// The comparison drops targets without a successful probe in the window, whose quantile is not a number.
	p90 := func(name string) string { return probeLatency(name).quantile(0.9, "$window", byTarget) + ` >= 0` }
	return []panel{
		statPanel("Time to first token, p90", "90 % of the probes of the last window had their first text within this time.", seconds,
			now(p90(ttft), targetLegend)).ColorScheme(fixed("blue")),
		statPanel("Inter-token latency, p90", "90 % of the gaps between chunks of text in the last window were at most this long.", seconds,
			now(p90(itl), targetLegend)).ColorScheme(fixed("blue")),
		statPanel("Failed probes", "Share of the probes of the last window that failed, for whatever reason but that the exporter withdrew them.", ratio,
			now(failureRatio(), targetLegend)).
			Thresholds(thresholds("green", failing()...)),
		statPanel("Last success", "Time since the last probe that succeeded; never: none has since the exporter started.", seconds,
			now(sinceSuccess(ofProbe), targetLegend)).
			Mappings(neverFrom()).
			Thresholds(thresholds("green", late()...)),
		statPanel("Utilization", "Mean utilization of the cards that serve, over the last window.", ratio,
			now(servingUtilization(), "mean")).ColorScheme(fixed("blue")).Decimals(0),
		statPanel("Cards that serve", "Cards known to serve the chosen targets; where none is known, all chosen cards of the exporter that probes.", count,
			now(`count(`+serving(listed)+`)`, "cards")).ColorScheme(fixed("blue")),
	}
}

// sinceSuccess is the time since the last good probe of each target, since 1970 where there was none.
func sinceSuccess(matchers string) string {
	return `time() - (max by (` + byTarget + `) (accelerator_probe_last_success_timestamp_seconds{` + matchers + `})` +
		` or 0 * max by (` + byTarget + `) (accelerator_probe_requests_total{` + matchers + `}))`
}

// notCanceled leaves out probes that the exporter itself withdrew, at its stop or at a reload: they say nothing of the
// endpoint, and the alerts do not count them either.
const notCanceled = `,reason!="canceled"`

// failureRatio is the part of the probes of each target that failed.
func failureRatio() string {
	const by = `sum by (` + byTarget + `) `
	return by + `(rate(accelerator_probe_failures_total{` + ofProbe + notCanceled + `}[$window])) / ` + by + `(rate(` + probed + `[$window]))`
}

// loadOverLatency has load in the left column and latency in the right one, on time axes of the same width.
func loadOverLatency() []panel {
	quantiles := func(name string) []query {
		return threeQuantiles(probeLatency(name), "$window", byTarget, targetLegend)
	}
	first := quantiles(ttft)
	first[1] = first[1].Exemplar(true)
	ofCards := func(title, description, unit, expr, legend string, more ...query) *timeseries.PanelBuilder {
		return timeSeries(title, description, unit, append([]query{overTime(serving(expr), legend)}, more...)...).
			Span(12).Height(9).Min(0).DataLinks(cardLink(ofSeries))
	}
	return []panel{
		ofCards("Utilization", "Utilization of each card that serves the chosen targets.", ratio,
			`accelerator_utilization_ratio{`+ofCard+`}`, cardLegend,
			overTime(servingUtilization(), "mean over the window")).
			Max(1).
			OverrideByQuery("B", []property{colorOf("text"), {Id: "custom.lineWidth", Value: 3}, noLink()}),
		latencyPanel("Time to first token",
			"From the start of a probe to its first text, over all probes of the window. A p99 needs a window of a hundred probes; in a shorter one it is the slowest probe. The dots are single probes, with the id that the server saw as X-Request-Id.",
			first...),
		timeSeries("Requests in the server", "Requests that vLLM runs and that wait in its queue. Needs vLLM's own metrics to be scraped.", count,
			overTime(`sum by (instance) (vllm:num_requests_running{`+ofServer+`})`, "{{instance}} running"),
			overTime(`sum by (instance) (vllm:num_requests_waiting{`+ofServer+`})`, "{{instance}} waiting")).
			Span(12).Height(9).Min(0).Stacking(stacked()).FillOpacity(30),
		latencyPanel("Inter-token latency",
			"Gaps between successive chunks of text, over all gaps of the window.", quantiles(itl)...),
		ofCards("Power", "Power of each card that serves, and the lowest power limit as a dashed line where the tool prints one.", watts,
			`accelerator_power_watts{`+ofCard+`}`, cardLegend,
			overTime(`min(`+serving(`accelerator_power_limit_watts{`+ofCard+`}`)+`)`, "limit")).
			OverrideByQuery("B", dashed(colorOf("red"), noLink())),
		latencyPanel("Time per output token",
			"Time after the first token divided by the tokens after it: one value a probe.", quantiles(tpot)...),
		ofCards("Memory in use", "Share of each memory of the cards that serve.", ratio,
			`accelerator_memory_used_bytes{`+ofCard+`} / accelerator_memory_total_bytes{`+ofCard+`}`, cardLegend+" {{type}}").Max(1),
		latencyPanel("Whole answer",
			"From the start of a probe to its last text, successful probes only.", quantiles(duration)...),
		ofCards("Temperature", "Temperature of each card that serves.", celsius,
			`accelerator_temperature_celsius{`+ofCard+`,sensor="chip"}`, cardLegend),
		timeSeries("Failed probes", "Share of the probes of the window that failed, those left out that the exporter withdrew, and probes of the window that were skipped, as the one before was still in flight.", ratio,
			overTime(failureRatio(), targetLegend+" failed"),
			overTime(`sum by (`+byTarget+`) (increase(accelerator_probe_skipped_total{`+ofProbe+`}[$window]))`, targetLegend+" skipped")).
			Span(12).Height(9).Min(0).Legend(lastAndMax()).
			OverrideByQuery("B", onTheRight(count)),
	}
}

func latencyByLoad() []panel {
	utilization := bandOf(`clamp_max(floor(`+loadOfTargets()+` * 5), 4)`,
		"0–20 %", "20–40 %", "40–60 %", "60–80 %", "80–100 %")
	requests := bandOf(`clamp_max(floor(log2(clamp_min(`+requestsOfTargets()+`, 0.25)) / 2) + 1, 6)`,
		"none", "1–3", "4–15", "16–63", "64–255", "256–1023", "1024 and more")
	ttftBuckets := probeLatency(ttft).histogram + `_bucket{` + ofProbe + `}`
	itlBuckets := probeLatency(itl).histogram + `_bucket{` + ofProbe + `}`
	names := []string{"p50", "p90", "p99"}
	quantiles := func(b band, buckets string) []string {
		return []string{b.quantile(0.5, buckets), b.quantile(0.9, buckets), b.quantile(0.99, buckets)}
	}
	const whole = " Over the dashboard's whole time range; each probe counts for the load of its own target in the window it is in."
	return []panel{
		bandChart("Time to first token by utilization", "How soon the first text came while the cards of its target were so busy."+whole, seconds,
			utilization, names, quantiles(utilization, ttftBuckets)...),
		bandChart("Inter-token latency by utilization", "Gaps between chunks of text while the cards of their target were so busy."+whole, seconds,
			utilization, names, quantiles(utilization, itlBuckets)...),
		bandChart("Time at each utilization", "Share of the time, of all targets together, for which a target's cards were so busy: what the two charts beside it rest on.", ratio,
			utilization, []string{"share of the time"}, utilization.share()),
		bandChart("Time to first token by requests in the server", "How soon the first text came while vLLM had so many requests running and waiting. Needs vLLM's own metrics."+whole, seconds,
			requests, names, quantiles(requests, ttftBuckets)...),
		bandChart("Inter-token latency by requests in the server", "Gaps between chunks of text while vLLM had so many requests running and waiting. Needs vLLM's own metrics."+whole, seconds,
			requests, names, quantiles(requests, itlBuckets)...),
		correlation(),
	}
}

// correlation is the dashboard's question as one figure for each target.
func correlation() panel {
	mean := func(name string) string {
		histogram := probeLatency(name).histogram
		// The comparison drops windows without a probe, whose mean is not a number and would make all of it none.
		return fmt.Sprintf(`(sum by (`+byTarget+`) (rate(%s_sum{%s}[$window])) / sum by (`+byTarget+`) (rate(%[1]s_count{%[2]s}[$window])) >= 0)`, histogram, ofProbe)
	}
	load := loadOfTargets()
	of := func(name string) string {
		both := func(f, expr string) string { return f + `((` + expr + `)[$__range:$__interval])` }
		x, y := load+` and `+mean(name), mean(name)+` and `+load
		return `(` + both("avg_over_time", load+` * `+mean(name)) + ` - ` + both("avg_over_time", x) + ` * ` + both("avg_over_time", y) + `)` +
			` / (` + both("stddev_over_time", x) + ` * ` + both("stddev_over_time", y) + `)`
	}
	return statPanel("Correlation with utilization",
		"Pearson's correlation, over the dashboard's time range, of the mean utilization of a target's cards with its mean latency in the same window: 1 is latency that follows load in a straight line, 0 is latency that has nothing to do with it. It says little when the load hardly changed.", plain,
		now(of(ttft), targetLegend+" time to first token"),
		now(of(itl), targetLegend+" inter-token latency")).
		Span(8).Height(9).Min(-1).Max(1).Decimals(2).ColorScheme(fixed("text")).
		Interval("1m").MaxDataPoints(240)
}

func latencyHeatMaps() []panel {
	// A column of a minute holds a probe or more at the default interval of 30 s.
	of := func(title, description, name string) panel {
		return heatMap(title, description, seconds, asBuckets(probeLatency(name).buckets())).Interval("1m")
	}
	return []panel{
		of("Time to first token", "Probes by the time to their first text.", ttft),
		of("Inter-token latency", "Gaps between chunks of text by their length.", itl),
		of("Time per output token", "Probes by their time per output token.", tpot),
		of("Whole answer", "Successful probes by the time from their start to their last text.", duration),
	}
}

func serverAndClient() []panel {
	server := map[string]latency{
		ttft: {histogram: "vllm:time_to_first_token_seconds", matchers: ofServer},
		itl:  {histogram: "vllm:inter_token_latency_seconds", matchers: ofServer, older: "vllm:time_per_output_token_seconds"},
	}
	overlay := func(title, description, name string) panel {
		client := probeLatency(name)
		return latencyPanel(title, description,
			overTime(client.quantile(0.5, "$window", ""), "probe p50"), overTime(client.quantile(0.9, "$window", ""), "probe p90"),
			overTime(server[name].quantile(0.5, "$window", ""), "server p50"), overTime(server[name].quantile(0.9, "$window", ""), "server p90")).
			OverrideByRegexp("server .*", dashed())
	}
	difference := func(name string) string {
		return probeLatency(name).quantile(0.5, "$window", "") + ` - (` + server[name].quantile(0.5, "$window", "") + `)`
	}
	const differs = " The server's histograms are over all its requests, the probes' over probes: read the distance only where prompts and answers are alike."
	return []panel{
		overlay("Time to first token, probe and server", "What probes waited for the first token, and what vLLM says its requests waited."+differs, ttft),
		overlay("Inter-token latency, probe and server", "Gaps as probes saw them, and as vLLM says."+differs, itl),
		timeSeries("Probe minus server, p50", "What lies between the server's clock and the client's: network, proxies, the HTTP server. Below 0 where users' requests are longer than probes."+differs, seconds,
			overTime(difference(ttft), "time to first token"),
			overTime(difference(itl), "inter-token latency")),
		timeSeries("Phases of a probe", "Where a probe's time goes before the response begins: name, connection, TLS, sending, and the wait for the response's headers. Mean over the window.", seconds,
			overTime(`avg by (phase) (avg_over_time(accelerator_probe_phase_seconds{`+ofProbe+`}[$window]))`, "{{phase}}")).
			Min(0).Stacking(stacked()).FillOpacity(30),
		timeSeries("KV cache in use", "Share of vLLM's key-value cache in use; near 1, requests wait or are preempted.", ratio,
			overTime(`max by (instance, engine) (vllm:kv_cache_usage_perc{`+ofServer+`} or vllm:gpu_cache_usage_perc{`+ofServer+`})`, "{{instance}} engine {{engine}}")).
			Min(0).Max(1),
	}
}

func failuresByReason() []panel {
	return []panel{
		timeSeries("Failed probes by reason", "Share of all probes of the window that failed for this reason. canceled: withdrawn by the exporter itself, at its stop or at a reload; no other panel and no alert counts these.", ratio,
			overTime(`sum by (reason) (rate(accelerator_probe_failures_total{`+ofProbe+`}[$window])) / on () group_left () sum(rate(`+probed+`[$window]))`, "{{reason}}")).
			Min(0).Stacking(stacked()).FillOpacity(40).
			Legend(lastAndMax().SortBy("Max").SortDesc(true)),
		timeSeries("Probes outside an objective", "Share of the probes of the window that missed an objective of the probe's slo. Empty without objectives.", ratio,
			overTime(`sum by (`+byTarget+`, objective) (rate(accelerator_probe_slo_violations_total{`+ofProbe+`}[$window])) / on (`+byTarget+`) group_left () sum by (`+byTarget+`) (rate(`+probed+`[$window]))`, targetLegend+" {{objective}}")).
			Min(0).Max(1),
		timeSeries("How late the prober is", "p99 of the time from the kernel's receipt of bytes to their reading, and from the instant a probe was due to its sending. Where these are not small against the latencies, the exporter's machine is too busy.", seconds,
			overTime(probeLatency("client_lag").quantile(0.99, "$window", "instance"), "{{instance}} reading"),
			overTime(probeLatency("start_delay").quantile(0.99, "$window", "instance"), "{{instance}} sending")).
			Min(0),
	}
}
