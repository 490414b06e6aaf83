package dashboards

// What serves a probed target is known, or is taken to be, target by target:
//
//   - the cards that the exporter knows to serve it;
//   - else all cards of the exporter that probes it;
//   - else, where that exporter has no cards as it probes from another machine, all chosen cards.
const (
	// probed has the probes of the chosen targets.
	probed = `accelerator_probe_requests_total{` + ofProbe + `}`
	// listed has one series for each chosen card.
	listed = `accelerator_info{` + ofCard + `}`
	// servedBy has one series for each card that serves a chosen target and that some exporter reads.
	servedBy = `(accelerator_probe_target_device_info{` + ofHost + `,target=~"$target"} and on (` + byCard + `) accelerator_info{` + ofHost + `})`
	// unknown are the probes of targets without such a card, remote those among them whose exporter has never had a card:
	// while a tool fails there are no cards, but their expected number stays.
	unknown = `(` + probed + ` unless on (` + byTarget + `) ` + servedBy + `)`
	remote  = `(` + unknown + ` unless on (job, instance) accelerator_devices_expected{` + ofHost + `})`
)

// serving keeps the cards of expr that serve one of the chosen targets, and all of them where nothing is probed.
func serving(expr string) string {
	return expr + ` and on (` + byCard + `) (` + servedBy +
		` or (` + listed + ` and on (job, instance) ` + unknown + `)` +
		` or (` + listed + ` and on () ` + remote + `)` +
		` or (` + listed + ` unless on () ` + probed + `))`
}

// loadOfTargets is the mean utilization of the cards that serve each target, smoothed as its latencies are.
func loadOfTargets() string {
	const load = `avg_over_time(accelerator_utilization_ratio{` + ofCard + `}[$window])`
	return `(avg by (` + byTarget + `) (group by (` + byTarget + `, vendor, device) (` + servedBy + `) * on (` + byCard + `) group_left () avg by (` + byCard + `) (` + load + `))` +
		` or group by (` + byTarget + `) (` + unknown + `) * on (job, instance) group_left () avg by (job, instance) (` + load + `)` +
		` or group by (` + byTarget + `) (` + remote + `) * on () group_left () avg(` + load + `))`
}

// requestsOfTargets are the requests in the vLLM servers of each target: of those whose label "target" names it, if the
// prober has the instance of one, as a sidecar has its pod's, of that one; else of all chosen servers without that label.
func requestsOfTargets() string {
	in := func(by, matcher string) string {
		of := func(gauge string) string {
			return `sum` + by + `(avg_over_time(vllm:num_requests_` + gauge + `{` + ofServer + `,` + matcher + `}[$window]))`
		}
		return `(` + of("running") + ` + ` + of("waiting") + `)`
	}
	const targets = `group by (` + byTarget + `) (` + probed + `)`
	return `(` + targets + ` * on (instance, target) group_left () ` + in(` by (instance, target) `, `target!=""`) +
		` or ` + targets + ` * on (target) group_left () ` + in(` by (target) `, `target!=""`) +
		` or ` + targets + ` * on () group_left () ` + in("", `target=""`) + `)`
}
