package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func benchmark() page {
	return page{
		uid: "accelerator-benchmark", title: "Accelerators: benchmark", refresh: "10s", from: "now-15m",
		description: "A run of accelbench as it happens, and the cards meanwhile. Needs accelbench run --web.listen-address=… and a scrape of it every few seconds. The report of a run is made from its traces, not from these.",
		variables: []variable{
			datasourceVariable(), hidden(jobVariable()),
			allVariable("generator", "Load generator", `label_values(accelerator_bench_requests_total, instance)`),
			allVariable("endpoint", "Endpoint", `label_values(accelerator_bench_requests_total{instance=~"$generator"}, target)`),
			serverVariable(serversOfBench), instancesVariable("instance", "Host", hostsOfBench),
		},
		scope: "${instance:queryparam}",
		rows: []row{
			openRow("Progress", append(benchProgress(), benchSteps(), stepsOverTime())...),
			openRow("Load", benchLoad()...),
			openRow("Latency", benchLatency()...),
		},
	}
}

// serversOfBench are the vLLM servers under load: those scraped at its address, or whose label "target" names it.
const serversOfBench = `vllm:num_requests_running and on (instance) label_replace(last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range]), "instance", "$1", "target", "(.+)") or vllm:num_requests_running and on (target) last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range])`

// hostsOfBench are the hosts under load: those at the address of an endpoint; else those that probe one; else all.
const hostsOfBench = `(label_replace(accelerator_exporter_build_info{job=~"$job"}, "host", "$1", "instance", "(.+?)(:[0-9]+)?") and on (host) label_replace(last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range]), "host", "$1", "target", "(.+?)(:[0-9]+)?")) or on () (accelerator_exporter_build_info{job=~"$job"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job"} and on (target) last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range]))) or on () accelerator_exporter_build_info{job=~"$job"}`

// benchProgress is of the latest run: what was scraped within the last seconds in which any was. Those before have their
// rows in the table.
func benchProgress() []panel {
	return []panel{
		statPanel("Requests", "Requests of the latest run that have ended, successful or failed, of all its steps and load generators, and the share of them that failed.", count, "no run",
			now(`sum(last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range])
  and on (instance, target, model, step) (max_over_time(timestamp(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"})[$__range:5s])
    > on () group_left () max(max_over_time(timestamp(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"})[$__range:5s])) - 15))`, "ended"),
			now(`sum(last_over_time(accelerator_bench_failures_total{instance=~"$generator",target=~"$endpoint"}[$__range])
  and on (instance, target, model, step) (max_over_time(timestamp(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"})[$__range:5s])
    > on () group_left () max(max_over_time(timestamp(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"})[$__range:5s])) - 15))
  / (sum(last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range])
  and on (instance, target, model, step) (max_over_time(timestamp(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"})[$__range:5s])
    > on () group_left () max(max_over_time(timestamp(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"})[$__range:5s])) - 15)) > 0)`, "failed")).
			Span(12).
			OverrideByName("ended", []property{colorOf("blue")}).
			OverrideByName("failed", []property{unitOf(ratio), colored("green", step{0.001, "orange"}, step{0.01, "red"})}),
		statPanel("Client lag against gaps", "How late the load generator reads what has arrived, on the mean, as a share of the median gap between chunks, in the worst step; 0 where it is a millisecond or less. Orange: above 5 %. The report warns of it only where the kernel did not tell when data arrived.", ratio, "no run",
			now(`max((sum by (target, model, step) (last_over_time(accelerator_bench_client_lag_seconds_sum{instance=~"$generator",target=~"$endpoint"}[$__range])) / (sum by (target, model, step) (last_over_time(accelerator_bench_client_lag_seconds_count{instance=~"$generator",target=~"$endpoint"}[$__range])) > 0) > 0.001
    or 0 * sum by (target, model, step) (last_over_time(accelerator_bench_client_lag_seconds_count{instance=~"$generator",target=~"$endpoint"}[$__range])))
  / (histogram_quantile(0.5, sum by (target, model, step, le) (last_over_time(accelerator_bench_inter_token_latency_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__range]))) > 0))`, "")).
			Span(12).Thresholds(thresholds("green", step{0.05, "orange"})),
	}
}

// benchSteps is the report's table while the run goes on. Counters start with the step, and end with the run.
func benchSteps() panel {
	return rowsOf("Steps", "Each step so far, the whole step with its ramp and drain: quantiles from native histograms (Prometheus 3), which are exact to a tenth, else from buckets, successful requests a second, and output tokens a second. Several load generators are added up. Where one of them repeats a step, at the same endpoint and with the same model, the later run counts. No latency: no request of the step succeeded. The report of the run has exact figures.",
		label("target", "Endpoint", width(150)),
		label("model", "Model"),
		label("step", "Step"),
		value("Requests", `sum by (target, model, step) (last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range]))`, unitOf(count), width(80)),
		value("Failed", `sum by (target, model, step) (last_over_time(accelerator_bench_failures_total{instance=~"$generator",target=~"$endpoint"}[$__range])) / (sum by (target, model, step) (last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range])) > 0)`, unitOf(ratio), width(70)),
		value("Requests/s", `sum by (target, model, step) (last_over_time(accelerator_bench_request_duration_seconds_count{instance=~"$generator",target=~"$endpoint"}[$__range]) / (last_over_time(accelerator_bench_step_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]) > 0))`, unitOf(plain), width(90)),
		value("Output tokens/s", `sum by (target, model, step) (last_over_time(accelerator_bench_output_tokens_total{instance=~"$generator",target=~"$endpoint"}[$__range]) / (last_over_time(accelerator_bench_step_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]) > 0))`, unitOf(plain), width(125)),
		value("TTFT p50", `histogram_quantile(0.5, sum by (target, model, step) (last_over_time(accelerator_bench_time_to_first_token_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0
  or histogram_quantile(0.5, sum by (target, model, step, le) (last_over_time(accelerator_bench_time_to_first_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0`, unitOf(seconds), width(85)),
		value("TTFT p99", `histogram_quantile(0.99, sum by (target, model, step) (last_over_time(accelerator_bench_time_to_first_token_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0
  or histogram_quantile(0.99, sum by (target, model, step, le) (last_over_time(accelerator_bench_time_to_first_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0`, unitOf(seconds), width(85)),
		value("TPOT p50", `histogram_quantile(0.5, sum by (target, model, step) (last_over_time(accelerator_bench_time_per_output_token_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0
  or histogram_quantile(0.5, sum by (target, model, step, le) (last_over_time(accelerator_bench_time_per_output_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0`, unitOf(seconds), width(85)),
		value("TPOT p99", `histogram_quantile(0.99, sum by (target, model, step) (last_over_time(accelerator_bench_time_per_output_token_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0
  or histogram_quantile(0.99, sum by (target, model, step, le) (last_over_time(accelerator_bench_time_per_output_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0`, unitOf(seconds), width(85)),
		value("Duration p99", `histogram_quantile(0.99, sum by (target, model, step) (last_over_time(accelerator_bench_request_duration_seconds{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0
  or histogram_quantile(0.99, sum by (target, model, step, le) (last_over_time(accelerator_bench_request_duration_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__range]))) >= 0`, unitOf(seconds), width(105)),
		value("Began", `1000 * (min by (target, model, step) (min_over_time(timestamp(accelerator_bench_phase{instance=~"$generator",target=~"$endpoint"})[$__range:5s]))
  or min by (target, model, step) (min_over_time(timestamp(accelerator_bench_phase{instance=~"$generator",target=~"$endpoint"})[12h:15s])) and on (target, model, step) last_over_time(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__range]))`, unitOf("time:HH:mm:ss"), width(80)),
	).Height(12).NoValue("no run").SortBy(sortAscending("Began"))
}

func stepsOverTime() panel {
	return stateTimeline("Steps over time", "When each step ran: while its load came up, at its load, and while nothing more was sent.",
		[]dashboard.ValueMapping{valueText("1", "ramp", "light-blue"), valueText("2", "steady", "blue"), valueText("3", "drain", "light-blue")},
		overTime(`max by (step) (1 * (accelerator_bench_phase{instance=~"$generator",target=~"$endpoint",phase="ramp"} == 1) or 2 * (accelerator_bench_phase{instance=~"$generator",target=~"$endpoint",phase="steady"} == 1) or 3 * (accelerator_bench_phase{instance=~"$generator",target=~"$endpoint",phase="drain"} == 1))`, "{{step}}")).
		Height(5).Legend(common.NewVizLegendOptionsBuilder().ShowLegend(false))
}

func benchLoad() []panel {
	return []panel{
		timeSeries("Concurrency", "Users of a closed loop or bound of an open one, as configured for the present step, against the requests really in flight, those that wait in the load generator for their turn, and those that the vLLM servers under load say they run and have waiting. In flight well below what is configured: the load generator cannot keep up.", count,
			overTime(`sum(accelerator_bench_concurrency{instance=~"$generator",target=~"$endpoint"} and on (instance, target, model, step) accelerator_bench_phase{instance=~"$generator",target=~"$endpoint"})`, "configured", dashed(colorOf("text"))...),
			overTime(`sum(accelerator_bench_in_flight{instance=~"$generator",target=~"$endpoint"} and on (instance, target, model, step) accelerator_bench_phase{instance=~"$generator",target=~"$endpoint"})`, "in flight", thick(), filled(15)),
			overTime(`sum(accelerator_bench_queued{instance=~"$generator",target=~"$endpoint"} and on (instance, target, model, step) accelerator_bench_phase{instance=~"$generator",target=~"$endpoint"})`, "queued"),
			overTime(`sum(vllm:num_requests_running{instance=~"$server"})`, "vLLM running"),
			overTime(`sum(vllm:num_requests_waiting{instance=~"$server"})`, "vLLM waiting")).
			Span(12).Min(0).NoValue("no run"),
		timeSeries("Requests a second", "Requests that end each second, and the configured rate of an open loop.", reqPerS,
			overTime(`sum(rate(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))`, "ended", filled(15)),
			overTime(`sum(accelerator_bench_request_rate{instance=~"$generator",target=~"$endpoint"} and on (instance, target, model, step) accelerator_bench_phase{instance=~"$generator",target=~"$endpoint"})`, "configured", dashed(colorOf("text"))...)).
			Span(12).Min(0).NoValue("no run"),
		timeSeries("Tokens a second", "Tokens of the requests that end, as the server counted them.", tokensPerSec,
			overTime(`sum(rate(accelerator_bench_output_tokens_total{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))`, "output"),
			overTime(`sum(rate(accelerator_bench_prompt_tokens_total{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))`, "prompt")).
			Min(0).NoValue("no run"),
		colorByReason(timeSeries("Failed requests by reason", "Share of the ended requests that failed for this reason.", ratio,
			overTime(`sum by (reason) (rate(accelerator_bench_failures_total{instance=~"$generator",target=~"$endpoint"}[$__rate_interval])) / on () group_left () sum(rate(accelerator_bench_requests_total{instance=~"$generator",target=~"$endpoint"}[$__rate_interval])) > 0`, "{{reason}}"))).
			Stacking(stacked()).FillOpacity(40).NoValue("no request failed"),
		cardLines("Utilization of cards", "All cards of the chosen hosts: choose the one under load.", ratio,
			`avg(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"})`,
			`max(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"})`,
			`accelerator_utilization_ratio{job=~"$job",instance=~"$instance"} and on () (count(accelerator_info{job=~"$job",instance=~"$instance"}) <= 64)`),
	}
}

func benchLatency() []panel {
	return []panel{
		percentiles("Time to first token", "From the start of a request to its first text, for requests that have just received it.", "no run",
			`histogram_quantile(0.5, sum by (le) (rate(accelerator_bench_time_to_first_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))) >= 0`,
			`histogram_quantile(0.9, sum by (le) (rate(accelerator_bench_time_to_first_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))) >= 0`,
			`histogram_quantile(0.99, sum by (le) (rate(accelerator_bench_time_to_first_token_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))) >= 0`),
		percentiles("Inter-token latency", "Gaps between successive chunks of text.", "no run",
			`histogram_quantile(0.5, sum by (le) (rate(accelerator_bench_inter_token_latency_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))) >= 0`,
			`histogram_quantile(0.9, sum by (le) (rate(accelerator_bench_inter_token_latency_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))) >= 0`,
			`histogram_quantile(0.99, sum by (le) (rate(accelerator_bench_inter_token_latency_seconds_bucket{instance=~"$generator",target=~"$endpoint"}[$__rate_interval]))) >= 0`),
	}
}
