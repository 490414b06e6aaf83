package dashboards

const (
	// servedBy has one series for each card that serves a chosen target.
	servedBy = `accelerator_probe_target_device_info{` + ofHost + `,target=~"$target"}`
	// probed has the exporters that probe a chosen target.
	probed = `accelerator_probe_requests_total{` + ofProbe + `}`
	// listed has one series for each chosen card.
	listed = `accelerator_info{` + ofCard + `}`
)

// serving keeps the cards of expr that serve the chosen targets. Where no card is known to:
// all cards of an exporter that probes a target whose cards were not found, and, where none of
// the exporters with cards probes one (it is probed from another machine), all chosen cards.
func serving(expr string) string {
	return expr + ` and on (job, instance, vendor, device) (` + servedBy +
		` or (` + listed + ` and on (job, instance) ` + probed + ` unless on (job, instance) ` + servedBy + `)` +
		` or (` + listed + ` unless on () (` + probed + ` and on (job, instance) accelerator_devices{` + ofHost + `})))`
}
