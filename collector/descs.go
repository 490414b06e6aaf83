package collector

import "github.com/prometheus/client_golang/prometheus"

// descs are the metrics of this package. Their names and labels are frozen: dashboards
// and alerts hold on to them.
type descs struct {
	info, toolInfo, devices, devicesExpected, missingInfo            *prometheus.Desc
	healthy, healthInfo                                              *prometheus.Desc
	utilization, power, powerLimit, temperature, memoryUsed          *prometheus.Desc
	memoryTotal, hugepagesUsed, hugepagesTotal, performance, process *prometheus.Desc
	sliceInfo, sliceUsed, sliceQuota, sliceCompute, sliceUtil        *prometheus.Desc
	link, numaNode, cpuAffinity                                      *prometheus.Desc
	nodeTotal, nodeFree, nodeUsed, nodeCPUs, nodeDistance            *prometheus.Desc
	nodeAllocations                                                  *prometheus.Desc
	success, duration, lastSuccess, failures, stuck, warnings        *prometheus.Desc
	all                                                              []*prometheus.Desc
}

func newDescs() descs {
	var d descs
	metric := func(name, help string, labels ...string) *prometheus.Desc {
		desc := prometheus.NewDesc("accelerator_"+name, help, labels, nil)
		d.all = append(d.all, desc)
		return desc
	}
	card := func(name, help string, labels ...string) *prometheus.Desc {
		return metric(name, help, append([]string{"vendor", "device"}, labels...)...)
	}
	d.cards(card, metric)
	d.slices(card)
	d.nodes(metric)
	d.health(metric)
	return d
}

type newDesc func(name, help string, labels ...string) *prometheus.Desc

func (d *descs) cards(card, metric newDesc) {
	d.info = card("info", "Identity of a card, constant 1.", "name", "bus_id", "uuid", "board", "npu", "chip")
	d.toolInfo = metric("tool_info", "Versions in the title rows of the vendor's tool, constant 1.",
		"vendor", "tool", "tool_version", "driver_version", "runtime_version", "firmware_version")
	d.devices = metric("devices", "Cards in the last good main table.", "vendor")
	d.devicesExpected = metric("devices_expected",
		"Cards there ought to be: configured, else the larger of the most ever seen and what the tool announces.", "vendor")
	d.missingInfo = card("device_missing_info",
		"Identity of an expected card that the main table lacks, with the number it had last, constant 1.", "name", "bus_id", "uuid")
	d.healthy = card("healthy", "Whether the tool calls the card Available or OK.")
	d.healthInfo = card("health_info", "State of the card as printed, constant 1.", "state", "reason")
	d.utilization = card("utilization_ratio", "Share of time the compute cores were busy, 0 to 1.")
	d.power = card("power_watts", "Power drawn by the card.")
	d.powerLimit = card("power_limit_watts", "Power limit of the card.")
	d.temperature = card("temperature_celsius", "Temperature of the card.", "sensor")
	d.memoryUsed = card("memory_used_bytes", "Memory in use, the driver's own included.", "type")
	d.memoryTotal = card("memory_total_bytes", "Memory of the card.", "type")
	d.hugepagesUsed = card("hugepages_used", "Huge pages in use, in pages.")
	d.hugepagesTotal = card("hugepages_total", "Huge pages set aside, in pages.")
	d.performance = card("performance_level", "Performance level of the compute cores, larger is faster.")
	d.process = card("process_memory_used_bytes", "Memory of the card that a process holds.", "pid", "process")
	d.link = card("link_info", "How the card is connected to a peer, constant 1.", "peer", "link")
	d.numaNode = card("numa_node", "NUMA node the card is attached to.")
	d.cpuAffinity = card("cpu_affinity_info", "CPUs near to the card, constant 1.", "cpus")
}

func (d *descs) slices(card newDesc) {
	d.sliceInfo = card("slice_info", "A slice of a card, constant 1.", "slice")
	d.sliceUsed = card("slice_memory_used_bytes", "Memory that the slice uses.", "slice")
	d.sliceQuota = card("slice_memory_quota_bytes", "Memory that the slice may use.", "slice")
	d.sliceCompute = card("slice_compute_quota_ratio", "Share of the card's compute that the slice may use, 0 to 1.", "slice")
	d.sliceUtil = card("slice_utilization_ratio", "Share of the card's compute that the slice uses, 0 to 1.", "slice")
}

func (d *descs) nodes(metric newDesc) {
	d.nodeTotal = metric("numa_memory_total_bytes", "Memory of the NUMA node.", "node")
	d.nodeFree = metric("numa_memory_free_bytes", "Free memory of the NUMA node.", "node")
	d.nodeUsed = metric("numa_memory_used_bytes", "Used memory of the NUMA node.", "node")
	d.nodeCPUs = metric("numa_cpus", "CPUs of the NUMA node.", "node")
	d.nodeDistance = metric("numa_distance", "Relative cost of access from one NUMA node to another, 10 being local.", "node", "peer")
	d.nodeAllocations = metric("numa_allocations_total", "Pages allocated on the NUMA node, by how the kernel came to it.", "node", "result")
}

func (d *descs) health(metric newDesc) {
	d.success = metric("collector_success", "Whether the collector's last poll read its main table.", "collector")
	d.duration = metric("collector_duration_seconds", "How long the collector's last poll took.", "collector")
	d.lastSuccess = metric("collector_last_success_timestamp_seconds", "When the collector last succeeded, 0 before it did.", "collector")
	d.failures = metric("collector_failures_total", "Failed polls by reason.", "collector", "reason")
	d.stuck = metric("collector_stuck_processes", "Children of the collector that outlived SIGKILL.", "collector")
	d.warnings = metric("parse_warnings_total", "Parts of the output that could not be read and were left out.", "collector")
}
