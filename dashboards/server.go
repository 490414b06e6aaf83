package dashboards

// serverLegend names a vLLM server by the address that Prometheus scrapes.
const serverLegend = `{{instance}}`

// serverFigures are those of the chosen vLLM servers, beside what the probes see.
func serverFigures() []panel {
	const needs = " Needs vLLM's own metrics in Prometheus."
	rate := func(by, metric string) string {
		return sumBy(by) + ` (rate(` + metric + `{` + ofServer + `}[$window]))`
	}
	const none = "no vLLM server is scraped"
	return []panel{
		timeSeries("Requests in the server", "Requests that vLLM runs and that wait in its queue, all chosen servers together."+needs, count,
			overTime(`sum(vllm:num_requests_running{`+ofServer+`})`, "running"),
			overTime(`sum(vllm:num_requests_waiting{`+ofServer+`})`, "waiting")).
			Span(12).Min(0).Stacking(stacked()).FillOpacity(30).NoValue(none).
			OverrideByName("running", []property{colorOf("green")}).
			OverrideByName("waiting", []property{colorOf("orange")}),
		timeSeries("Tokens a second", "Tokens that vLLM gave out and took in, and those of the probes, as the server counts them."+needs, tokensPerSec,
			overTime(rate("", "vllm:generation_tokens_total"), "output"),
			overTime(rate("", "vllm:prompt_tokens_total"), "prompt"),
			overTime(`sum(rate(accelerator_probe_output_tokens_total{`+ofProbe+`}[$window]))`, "probes' output")).
			Span(12).Min(0).NoValue(none),
		logSeries("Time in the queue", "How long requests waited in vLLM before they were run: what an overloaded server adds to the time to first token. The mean, since vLLM's first bucket ends at 0.3 s."+needs,
			overTime(serverLatency("queue").mean(), "mean")),
		timeSeries("Finish reasons", "Requests that ended, each second, by why: stop (the model ended), length (max_tokens), abort (the client went away), and others of newer versions."+needs, reqPerS,
			overTime(rate("finished_reason", "vllm:request_success_total"), "{{finished_reason}}")).
			Min(0).Stacking(stacked()).FillOpacity(30).NoValue(none),
		timeSeries("KV cache in use", "Share of vLLM's key-value cache in use; near 1, requests wait or are preempted."+needs, ratio,
			overTime(`max by (instance) (vllm:kv_cache_usage_perc{`+ofServer+`} or vllm:gpu_cache_usage_perc{`+ofServer+`})`, serverLegend)).
			NoValue(none),
	}
}
