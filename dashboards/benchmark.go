package dashboards

import (
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/common"
)

// ofBench matches the series of runs. The endpoint has a variable of its own: it is a host and port, where a probe's target is a name.
const (
	ofBench = `instance=~"$generator",target=~"$endpoint",model=~"$model",step=~"$step"`
	// servesBench matches the vLLM servers of the model: their addresses need not be those of the endpoint.
	servesBench = `model_name=~"$model"`
	// byStep are the labels that tell steps apart. The load generators of one run are one: what they did is added up.
	byStep     = `target, model, step`
	stepLegend = `{{target}} {{model}} {{step}}`
)

func benchmark() page {
	return page{
		uid:   uidBenchmark,
		title: "Accelerators: benchmark",
		description: "A run of accelbench as it happens, and the cards meanwhile. " +
			"Needs accelbench run --web.listen-address=… and a scrape of it every few seconds. The report of a run is made from its traces, not from these.",
		from: "30m", refresh: "10s",
		variables: slices.Concat([]variable{
			datasourceVariable(),
			many("generator", "Load generator", `label_values(accelerator_bench_requests_total, instance)`),
			many("endpoint", "Endpoint", `label_values(accelerator_bench_requests_total{instance=~"$generator"}, target)`),
			many("model", "Model", `label_values(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}, model)`),
			many("step", "Step", `label_values(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint",model=~"$model"}, step)`),
			serverVariable(servesBench), jobVariable(), instanceVariable(),
		}, cards()),
		rows: []row{
			{"Progress", benchProgress()},
			{"Load", benchLoad()},
			{"Latency", benchLatency()},
			{"Step by step", []panel{benchSteps()}},
			{"Distribution", benchHeatMaps()},
			{"Can the figures be trusted?", benchTrust()},
			{"Cards meanwhile", benchCards()},
		},
	}
}

// ofStep is the total of a counter of each step: counters start with the step, and end with the run.
func ofStep(name string) string {
	return `sum by (` + byStep + `) (last_over_time(` + name + `{` + ofBench + `}[$__range]))`
}

// quantileOfStep is that of all observations of each step so far.
func quantileOfStep(q, name string) string {
	return `histogram_quantile(` + q + `, sum by (` + byStep + `, le) (last_over_time(accelerator_bench_` + name + `_seconds_bucket{` + ofBench + `}[$__range])))`
}

func benchProgress() []panel {
	total := func(name string) string { return `sum(last_over_time(` + name + `{` + ofBench + `}[$__range]))` }
	return []panel{
		statPanel("Requests over", "Requests of the chosen steps that are over, well or badly, of all runs in the time range. Where one load generator repeats a step, at the same endpoint and with the same model, the later run counts.", count,
			now(total("accelerator_bench_requests_total"), "requests")).ColorScheme(fixed("blue")),
		statPanel("Failed", "Share of the requests that failed.", ratio,
			now(total("accelerator_bench_failures_total")+` / `+total("accelerator_bench_requests_total"), "failed")).
			Thresholds(thresholds("green", step{0.001, "orange"}, step{0.01, "red"})),
		statPanel("In flight", "Requests that are sent and not over, now.", count,
			now(`sum(accelerator_bench_in_flight{`+ofBench+`})`, "in flight")).ColorScheme(fixed("blue")).NoValue("no run"),
		statPanel("Queued", "Requests that wait in the load generator for their turn, now.", count,
			now(`sum(accelerator_bench_queued{`+ofBench+`})`, "queued")).ColorScheme(fixed("blue")).NoValue("no run"),
		statPanel("Requests a second", "Requests that ended, each second, now.", reqPerS,
			now(`sum(rate(accelerator_bench_requests_total{`+ofBench+`}[$__rate_interval]))`, "requests")).ColorScheme(fixed("blue")).NoValue("no run"),
		statPanel("Output tokens a second", "Output tokens as the server counted them, of the requests that ended, each second, now.", tokensPerSec,
			now(`sum(rate(accelerator_bench_output_tokens_total{`+ofBench+`}[$__rate_interval]))`, "tokens")).ColorScheme(fixed("blue")).NoValue("no run"),
	}
}

func benchLoad() []panel {
	return []panel{
		timeSeries("Concurrency", "Users of a closed loop or bound of an open one, as configured for the present step, against the requests really in flight, those that wait in the load generator for their turn, and those that the chosen vLLM servers say they run and have waiting. In flight well below what is configured is a load generator that cannot keep up, or a step that ends.", count,
			overTime(`sum by (`+byStep+`) (accelerator_bench_concurrency{`+ofBench+`} and accelerator_bench_in_flight{`+ofBench+`})`, stepLegend+" configured"),
			overTime(`sum by (`+byStep+`) (accelerator_bench_in_flight{`+ofBench+`})`, stepLegend+" in flight"),
			overTime(`sum by (`+byStep+`) (accelerator_bench_queued{`+ofBench+`})`, stepLegend+" queued"),
			overTime(`sum by (instance) (vllm:num_requests_running{`+servesBench+`,instance=~"$server"})`, "vLLM {{instance}} running"),
			overTime(`sum by (instance) (vllm:num_requests_waiting{`+servesBench+`,instance=~"$server"})`, "vLLM {{instance}} waiting")).
			Span(12).Min(0).
			OverrideByRegexp(".* configured", dashed(colorOf("text"))),
		timeSeries("Requests a second", "Requests that end, each second, and the rate that an open loop is to have.", reqPerS,
			overTime(`sum by (`+byStep+`) (rate(accelerator_bench_requests_total{`+ofBench+`}[$__rate_interval]))`, stepLegend),
			overTime(`sum by (`+byStep+`) (accelerator_bench_request_rate{`+ofBench+`} and accelerator_bench_in_flight{`+ofBench+`})`, stepLegend+" configured")).
			Span(12).Min(0).
			OverrideByRegexp(".* configured", dashed(colorOf("text"))),
		timeSeries("Tokens a second", "Tokens of the requests that end, as the server counted them.", tokensPerSec,
			overTime(`sum(rate(accelerator_bench_output_tokens_total{`+ofBench+`}[$__rate_interval]))`, "output"),
			overTime(`sum(rate(accelerator_bench_prompt_tokens_total{`+ofBench+`}[$__rate_interval]))`, "prompt")).
			Span(12).Min(0),
		timeSeries("Failed requests by reason", "Share of the requests that end which failed for this reason.", ratio,
			overTime(`sum by (reason) (rate(accelerator_bench_failures_total{`+ofBench+`}[$__rate_interval])) / on () group_left () sum(rate(accelerator_bench_requests_total{`+ofBench+`}[$__rate_interval]))`, "{{reason}}")).
			Span(12).Min(0).Stacking(stacked()).FillOpacity(40).
			Legend(lastAndMax().SortBy("Max").SortDesc(true)),
	}
}

func benchLatencyOf(name string) latency {
	return latency{histogram: "accelerator_bench_" + name + "_seconds", matchers: ofBench}
}

func benchLatency() []panel {
	of := func(title, description, name string) panel {
		return latencyPanel(title, description, threeQuantiles(benchLatencyOf(name), "$__rate_interval", byStep, stepLegend)...)
	}
	return []panel{
		of("Time to first token", "From the start of a request to its first text, of the requests that got it just now.", ttft),
		of("Inter-token latency", "Gaps between successive chunks of text.", itl),
		of("Time per output token", "Time after the first token divided by the tokens after it, of the requests that ended just now.", tpot),
		of("Whole answer", "From the start of a request to its last text, successful requests only.", duration),
	}
}

// benchSteps is the report's table while the run goes on.
func benchSteps() panel {
	// A rate's window would smear a step of a minute over its neighbours: hence what was counted, by the time with requests in flight.
	mean := func(counter string) string {
		return `sum by (` + byStep + `) (increase(` + counter + `{` + ofBench + `}[$__range])) / (count_over_time(sum by (` + byStep + `) (accelerator_bench_in_flight{` + ofBench + `})[$__range:5s]) * 5)`
	}
	columns := []struct{ name, unit, expr string }{
		{"Requests", count, ofStep("accelerator_bench_requests_total")},
		{"Failed", ratio, ofStep("accelerator_bench_failures_total") + ` / ` + ofStep("accelerator_bench_requests_total")},
		{"Requests/s", reqPerS, mean("accelerator_bench_requests_total")},
		{"Output tokens/s", tokensPerSec, mean("accelerator_bench_output_tokens_total")},
		{"TTFT p50", seconds, quantileOfStep("0.5", ttft)},
		{"TTFT p90", seconds, quantileOfStep("0.9", ttft)},
		{"TTFT p99", seconds, quantileOfStep("0.99", ttft)},
		{"TPOT p50", seconds, quantileOfStep("0.5", tpot)},
		{"TPOT p99", seconds, quantileOfStep("0.99", tpot)},
		{"ITL p50", seconds, quantileOfStep("0.5", itl)},
		{"ITL p99", seconds, quantileOfStep("0.99", itl)},
		{"Whole p99", seconds, quantileOfStep("0.99", duration)},
		{"Began", "dateTimeAsIso", `1000 * min by (` + byStep + `) (min_over_time(timestamp(accelerator_bench_in_flight{` + ofBench + `})[$__range:5s]))`},
	}
	shown := []column{{"target", "Endpoint"}, {"model", "Model"}, {"step", "Step"}}
	var queries []query
	for i, c := range columns {
		queries = append(queries, asRows(c.expr))
		shown = append(shown, column{"Value #" + string(rune('A'+i)), c.name})
	}
	panel := rowsOf("Steps", "Each step so far: whole-step quantiles from the histograms' buckets, and the mean rates of the time it ran. Several load generators are added up. Where one of them repeats a step, at the same endpoint and with the same model, totals and quantiles are the later run's, and the rates those of both. The report of the run has exact figures.", shown, queries...).
		SortBy(ascending("Began"))
	for _, c := range columns {
		panel = panel.OverrideByName(c.name, []property{unitOf(c.unit)})
	}
	return panel
}

func benchHeatMaps() []panel {
	of := func(title, description, name string) panel {
		return heatMap(title, description, seconds, asBuckets(benchLatencyOf(name).buckets()))
	}
	return []panel{
		of("Time to first token", "Requests by the time to their first text.", ttft),
		of("Inter-token latency", "Gaps between chunks of text by their length.", itl),
	}
}

func benchTrust() []panel {
	const window = "$__rate_interval"
	lag, delay := benchLatencyOf("client_lag"), benchLatencyOf("start_delay")
	return []panel{
		statPanel("Client lag against gaps", "p99 of the time from the kernel's receipt of bytes to their reading, as a share of the median gap between chunks, of the worst step. Above 5 % the load generator's machine is too busy for fine differences.", ratio,
			now(`max(`+quantileOfStep("0.99", "client_lag")+` / `+quantileOfStep("0.5", itl)+`)`, "lag")).
			Span(4).Height(8).
			Thresholds(thresholds("green", step{0.05, "orange"}, step{0.2, "red"})).ColorMode(common.BigValueColorModeBackground),
		timeSeries("Client lag", "Time from the kernel's receipt of bytes to their reading.", seconds,
			overTime(lag.quantile(0.5, window, byStep), stepLegend+" p50"),
			overTime(lag.quantile(0.99, window, byStep), stepLegend+" p99")).
			Span(10).Min(0),
		timeSeries("Start delay", "Time from the instant a request was due to its sending. In an open loop it belongs to the latency that a user sees.", seconds,
			overTime(delay.quantile(0.5, window, byStep), stepLegend+" p50"),
			overTime(delay.quantile(0.99, window, byStep), stepLegend+" p99")).
			Span(10).Min(0),
	}
}

func benchCards() []panel {
	of := func(title, description, unit, expr, legend string) panel {
		return timeSeries(title, description, unit, overTime(expr, legend)).
			Span(6).Min(0).DataLinks(cardLink(ofSeries))
	}
	return []panel{
		of("Utilization", "Utilization of each chosen card.", ratio, `accelerator_utilization_ratio{`+ofCard+`}`, cardLegend),
		of("Power", "Power of each chosen card.", watts, `accelerator_power_watts{`+ofCard+`}`, cardLegend),
		of("Memory in use", "Share of each memory of the chosen cards.", ratio, `accelerator_memory_used_bytes{`+ofCard+`} / accelerator_memory_total_bytes{`+ofCard+`}`, cardLegend+" {{type}}"),
		of("Temperature", "Temperature of each chosen card.", celsius, `accelerator_temperature_celsius{`+ofCard+`,sensor="chip"}`, cardLegend),
	}
}
