package dashboards

import (
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const (
	// ofBench matches the series of runs. The endpoint has a variable of its own: it is a host and port, where a probe's target is a name.
	ofBench = `instance=~"$generator",target=~"$endpoint",model=~"$model",step=~"$step"`
	// byStep are the labels that tell steps apart. The load generators of one run are one: what they did is added up.
	byStep = `target, model, step`
)

// serversOfBench are the vLLM servers at the addresses that are under load, else all.
func serversOfBench() string {
	const (
		all = `vllm:num_requests_running`
		at  = `(` + all + ` and on (instance) label_replace(group by (target) (last_over_time(accelerator_bench_requests_total{` + ofBench + `}[$__range])), "instance", "$1", "target", "(.+)"))`
	)
	return at + ` or (` + all + ` unless on () ` + at + `)`
}

func benchmark() page {
	return page{
		uid:   uidBenchmark,
		title: "Accelerators: benchmark",
		description: "A run of accelbench as it happens, and the cards meanwhile. " +
			"Needs accelbench run --web.listen-address=… and a scrape of it every few seconds. The report of a run is made from its traces, not from these.",
		refresh: "10s",
		variables: slices.Concat([]variable{
			datasourceVariable(),
			many("generator", "Load generator", `label_values(accelerator_bench_requests_total, instance)`),
			many("endpoint", "Endpoint", `label_values(accelerator_bench_requests_total{instance=~"$generator"}, target)`),
			many("model", "Model", `label_values(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}, model)`),
			many("step", "Step", `label_values(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint",model=~"$model"}, step)`),
			serverVariable(serversOfBench()), jobVariable(), instanceVariable(),
		}, cards(), []variable{linesVariable()}),
		scope:       chosenCards(),
		annotations: []annotation{stepMarks(ofBench)},
		rows: []row{
			shown("Progress", append(benchProgress(), benchSteps())...),
			shown("Load", benchLoad()...),
			shown("Latency", benchLatency()...),
			shown("Cards meanwhile", benchCards()...),
			folded("Can the figures be trusted?", benchTrust()...),
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
	const none = "no run"
	total := func(name string) string { return `sum(last_over_time(` + name + `{` + ofBench + `}[$__range]))` }
	return []panel{
		statPanel("Requests over", "Requests of the chosen steps that are over, well or badly, of all runs in the time range. Where one load generator repeats a step, at the same endpoint and with the same model, the later run counts.", count,
			none, now(total("accelerator_bench_requests_total"), "")).ColorScheme(fixed("blue")),
		statPanel("Failed", "Share of the requests that failed.", ratio,
			none, now(total("accelerator_bench_failures_total")+` / (`+total("accelerator_bench_requests_total")+` > 0)`, "")).
			Thresholds(thresholds("green", step{0.001, "orange"}, step{0.01, "red"})),
		statPanel("In flight", "Requests that are sent and not over, now.", count,
			none, now(`sum(accelerator_bench_in_flight{`+ofBench+`})`, "")).ColorScheme(fixed("blue")),
		statPanel("Queued", "Requests that wait in the load generator for their turn, now.", count,
			none, now(`sum(accelerator_bench_queued{`+ofBench+`})`, "")).ColorScheme(fixed("blue")),
		statPanel("Requests a second", "Requests that ended, each second, now.", reqPerS,
			none, now(`sum(rate(accelerator_bench_requests_total{`+ofBench+`}[$__rate_interval]))`, "")).ColorScheme(fixed("blue")),
		statPanel("Output tokens a second", "Output tokens as the server counted them, of the requests that ended, each second, now.", tokensPerSec,
			none, now(`sum(rate(accelerator_bench_output_tokens_total{`+ofBench+`}[$__rate_interval]))`, "")).ColorScheme(fixed("blue")),
	}
}

func benchLoad() []panel {
	const none = "no run"
	// running keeps a configured value while its step runs.
	running := func(metric string) string {
		return `sum(` + metric + `{` + ofBench + `} and on (instance, ` + byStep + `) accelerator_bench_phase{` + ofBench + `})`
	}
	return []panel{
		timeSeries("Concurrency", "Users of a closed loop or bound of an open one, as configured for the present step, against the requests really in flight, those that wait in the load generator for their turn, and those that the chosen vLLM servers say they run and have waiting. In flight well below what is configured is a load generator that cannot keep up.", count,
			overTime(running("accelerator_bench_concurrency"), "configured"),
			overTime(running("accelerator_bench_in_flight"), "in flight"),
			overTime(running("accelerator_bench_queued"), "queued"),
			overTime(`sum(vllm:num_requests_running{`+ofServer+`})`, "vLLM running"),
			overTime(`sum(vllm:num_requests_waiting{`+ofServer+`})`, "vLLM waiting")).
			Span(12).Min(0).NoValue(none).
			OverrideByName("configured", dashed(colorOf("text"))).
			OverrideByName("in flight", []property{thick(), filled(15)}),
		timeSeries("Requests a second", "Requests that end, each second, and the rate that an open loop is to have.", reqPerS,
			overTime(`sum(rate(accelerator_bench_requests_total{`+ofBench+`}[$__rate_interval]))`, "ended"),
			overTime(running("accelerator_bench_request_rate"), "configured")).
			Span(12).Min(0).NoValue(none).
			OverrideByName("configured", dashed(colorOf("text"))).
			OverrideByName("ended", []property{filled(15)}),
		timeSeries("Tokens a second", "Tokens of the requests that end, as the server counted them.", tokensPerSec,
			overTime(`sum(rate(accelerator_bench_output_tokens_total{`+ofBench+`}[$__rate_interval]))`, "output"),
			overTime(`sum(rate(accelerator_bench_prompt_tokens_total{`+ofBench+`}[$__rate_interval]))`, "prompt")).
			Span(12).Min(0).NoValue(none),
		timeSeries("Failed requests by reason", "Share of the requests that end which failed for this reason.", ratio,
			overTime(`sum by (reason) (rate(accelerator_bench_failures_total{`+ofBench+`}[$__rate_interval])) / on () group_left () (sum(rate(accelerator_bench_requests_total{`+ofBench+`}[$__rate_interval])) > 0)`, "{{reason}}")).
			Span(12).Stacking(stacked()).FillOpacity(40).NoValue("no request failed").Legend(figures().SortBy("Max").SortDesc(true)),
	}
}

func benchLatencyOf(name string) latency {
	return latency{histogram: "accelerator_bench_" + name + "_seconds", matchers: ofBench}
}

func benchLatency() []panel {
	of := func(title, description, name string) *timeseries.PanelBuilder {
		return latencyPanel(title, description, benchLatencyOf(name), "$__rate_interval")
	}
	return []panel{
		of("Time to first token", "From the start of a request to its first text, of the requests that got it just now.", ttft),
		of("Inter-token latency", "Gaps between successive chunks of text.", itl),
		of("Whole answer", "From the start of a request to its last text, successful requests only.", duration).Span(24),
	}
}

// benchSteps is the report's table while the run goes on.
func benchSteps() panel {
	// The steady counters are the window of the report's rates, so that neither ramp nor drain is in them.
	mean := func(counter string) string {
		last := func(name string) string { return `last_over_time(` + name + `{` + ofBench + `}[$__range])` }
		return `sum by (` + byStep + `) (` + last(counter) + ` / (` + last("accelerator_bench_steady_seconds_total") + ` > 0))`
	}
	return rowsOf("Steps", "Each step so far: whole-step quantiles from the histograms' buckets, and the rates of its steady time, without ramp and drain, as in the report. Several load generators are added up. Where one of them repeats a step, at the same endpoint and with the same model, the later run counts. The report of the run has exact figures.",
		[]column{
			label("target", "Endpoint"),
			label("model", "Model"),
			label("step", "Step"),
			value("Requests", ofStep("accelerator_bench_requests_total"), unitOf(count)),
			value("Failed", ofStep("accelerator_bench_failures_total")+` / (`+ofStep("accelerator_bench_requests_total")+` > 0)`, unitOf(ratio)),
			value("Requests/s", mean("accelerator_bench_steady_requests_total"), unitOf(reqPerS)),
			value("Output tokens/s", mean("accelerator_bench_steady_output_tokens_total"), unitOf(tokensPerSec)),
			value("TTFT p50", quantileOfStep("0.5", ttft), unitOf(seconds)),
			value("TTFT p90", quantileOfStep("0.9", ttft), unitOf(seconds)),
			value("TTFT p99", quantileOfStep("0.99", ttft), unitOf(seconds)),
			value("TPOT p50", quantileOfStep("0.5", tpot), unitOf(seconds)),
			value("TPOT p99", quantileOfStep("0.99", tpot), unitOf(seconds)),
			value("ITL p99", quantileOfStep("0.99", itl), unitOf(seconds)),
			value("Whole p99", quantileOfStep("0.99", duration), unitOf(seconds)),
			value("Began", `1000 * min by (`+byStep+`) (min_over_time(timestamp(accelerator_bench_phase{`+ofBench+`})[$__range:5s]))`, unitOf("dateTimeAsIso")),
		}).
		Height(7).NoValue("no run").SortBy(ascending("Began"))
}

func benchTrust() []panel {
	const window = "$__rate_interval"
	return []panel{
		statPanel("Client lag against gaps", "p99 of the time from the kernel's receipt of bytes to their reading, as a share of the median gap between chunks, of the worst step. Above 5 % the load generator's machine is too busy for fine differences.", ratio,
			"no run", now(`max(`+quantileOfStep("0.99", "client_lag")+` / `+quantileOfStep("0.5", itl)+`)`, "")).
			Height(8).
			Thresholds(thresholds("green", step{0.05, "orange"}, step{0.2, "red"})).ColorMode(common.BigValueColorModeBackground),
		latencyPanel("Client lag", "Time from the kernel's receipt of bytes to their reading.", benchLatencyOf("client_lag"), window).
			Span(10),
		latencyPanel("Start delay", "Time from the instant a request was due to its sending. In an open loop it belongs to the latency that a user sees.", benchLatencyOf("start_delay"), window).
			Span(10),
	}
}

func benchCards() []panel {
	return []panel{
		cardLines("Utilization", "Utilization of the chosen cards.", ratio, "busiest", `accelerator_utilization_ratio{`+ofCard+`}`),
		cardLines("Power", "Power of the chosen cards.", watts, "highest", `accelerator_power_watts{`+ofCard+`}`),
	}
}
