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

// loadOfTargets is the mean over the cards that serve each target. The load is that of all chosen cards.
func loadOfTargets(load string) string {
	return `(avg by (` + byTarget + `) (group by (` + byTarget + `, vendor, device) (` + servedBy + `) * on (` + byCard + `) group_left () avg by (` + byCard + `) (` + load + `))` +
		` or group by (` + byTarget + `) (` + unknown + `) * on (job, instance) group_left () avg by (job, instance) (` + load + `)` +
		` or group by (` + byTarget + `) (` + remote + `) * on () group_left () avg(` + load + `))`
}

// withServer gives each probed target a label "server" with the address at which Prometheus may scrape it: its name, or
// the host of the exporter where the exporter probes its own machine.
func withServer(targets string) string {
	return `label_replace(label_join(label_replace(` + targets + `, "server", "$1", "target", "(.+)"), "both", ";", "instance", "target"), ` +
		`"server", "$1:$2", "both", "(.+):[0-9]+;(?:127\\.0\\.0\\.1|localhost|\\[::1\\]):([0-9]+)")`
}

// serversOfTargets are the vLLM servers of the chosen targets: those whose label "target", which their scrape may give
// them, names one, and of several such the one with the prober's instance, as a sidecar has its pod's; else those that are
// scraped at the address that is probed; else all that are nobody's.
func serversOfTargets() string {
	const (
		all     = `vllm:num_requests_running`
		nobodys = all + `{target=""}`
	)
	at := withServer(`group by (` + byTarget + `) (` + probed + `)`)
	address := `label_replace(` + at + `, "instance", "$1", "server", "(.+)")`
	alone := `(` + at + ` unless on (target) ` + all + ` unless on (server) label_replace(group by (instance) (` + nobodys + `), "server", "$1", "instance", "(.+)"))`
	return `(` + all + ` and on (instance, target) ` + probed + `)` +
		` or (` + all + ` and on (target) (` + probed + ` unless on (instance, target) ` + all + `))` +
		` or (` + nobodys + ` and on (instance) ` + address + `)` +
		` or (` + nobodys + ` unless on (instance) ` + address + ` and on () ` + alone + `)`
}

// requestsOfTargets are the requests in the vLLM servers of each target, found as serversOfTargets finds them.
func requestsOfTargets() string {
	in := func(by, matcher string) string {
		of := func(gauge string) string {
			return `sum` + by + `(vllm:num_requests_` + gauge + `{` + ofServer + `,` + matcher + `})`
		}
		return `(` + of("running") + ` + ` + of("waiting") + `)`
	}
	const targets = `group by (` + byTarget + `) (` + probed + `)`
	return `(` + targets + ` * on (instance, target) group_left () ` + in(` by (instance, target) `, `target!=""`) +
		` or ` + targets + ` * on (target) group_left () ` + in(` by (target) `, `target!=""`) +
		` or max by (` + byTarget + `) (` + withServer(targets) + ` * on (server) group_left () label_replace(` + in(` by (instance) `, `target=""`) + `, "server", "$1", "instance", "(.+)"))` +
		` or ` + targets + ` * on () group_left () ` + in("", `target=""`) + `)`
}
