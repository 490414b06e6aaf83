package collector

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "accelerator_"

// Metric declares a metric. Users rely on its name and labels: they never change.
type Metric struct {
	Name   string               // without the prefix
	Type   prometheus.ValueType // a gauge where it is left out
	Labels []string             // beside those of its section
	Help   string

	// For docs/metrics.md: the unit, or the few values, where the name's ending does not say it, and where the values come from.
	Unit, Values, Source, Absent string
}

// Section is the metrics of one table of docs/metrics.md, with the labels that all
// of them begin with.
type Section struct {
	Name    string
	Labels  []string
	Metrics []Metric
}

// Metrics returns every metric of this package: the one place where a metric of a
// card, a slice or a NUMA node is declared. A vendor's tables say what is read
// into it.
func Metrics() []Section {
	return slices.Concat([]Section{
		{Name: "cards", Labels: []string{"vendor", "device"}, Metrics: cardMetrics()},
		{Name: "tools", Metrics: toolMetrics()},
		{Name: "processes", Labels: []string{"vendor", "device"}, Metrics: []Metric{
			{Name: "process_memory_used_bytes", Labels: []string{"pid", "process"}, Help: "Memory of the card that a process holds.", Source: "process table; `hy-smi --showpids`; " + fromIXML, Absent: "`--no-collector.processes`"},
		}},
		{Name: "containers", Labels: []string{"vendor", "pid"}, Metrics: []Metric{
			{
				Name: "process_container_info", Labels: []string{"container_id", "pod_uid", "namespace", "pod", "container"},
				Help:   "Container and pod that a listed process runs in, constant 1; a label is empty where that is not known.",
				Source: "`/proc/PID/cgroup`; names of the folders in `--kubernetes.pod-logs`",
				Absent: "the process is in no container; `--no-collector.containers`",
			},
		}},
		{Name: "allocations", Labels: []string{"vendor"}, Metrics: []Metric{
			{Name: "device_allocation_info", Labels: []string{"device", "resource", "namespace", "pod", "container"}, Help: "A card that the kubelet allocated to a container, constant 1.", Source: "the kubelet's PodResources", Absent: "the card is not known, or in doubt: see below"},
			{Name: "allocation_conflicts", Help: "Allocations that cannot be true: processes on a card that their pod was not allocated, and whole cards of two pods.", Unit: "conflicts", Source: "same, and where processes run", Absent: "the kubelet or the tool did not answer"},
		}},
		{Name: "process_places", Metrics: placementMetrics()},
		{Name: "slices", Labels: []string{"vendor", "device", "slice"}, Metrics: []Metric{
			{Name: "slice_info", Help: "A slice of a card, constant 1.", Source: "sliced GPUs"},
			{Name: "slice_memory_used_bytes", Help: "Memory that the slice uses.", Source: "Vram Quota"},
			{Name: "slice_memory_quota_bytes", Help: "Memory that the slice may use.", Source: "same"},
			{Name: "slice_compute_quota_ratio", Help: "Share of the card's compute that the slice may use, 0 to 1.", Source: "Compute"},
			{Name: "slice_utilization_ratio", Help: "Share of the card's compute that the slice uses, 0 to 1.", Source: "sGPU-Util"},
		}},
		{Name: "numa", Metrics: []Metric{
			{Name: "numa_memory_total_bytes", Labels: []string{"node"}, Help: "Memory of the NUMA node.", Source: "meminfo"},
			{Name: "numa_memory_free_bytes", Labels: []string{"node"}, Help: "Free memory of the NUMA node.", Source: "same"},
			{Name: "numa_memory_used_bytes", Labels: []string{"node"}, Help: "Used memory of the NUMA node.", Source: "same"},
			{Name: "numa_cpus", Labels: []string{"node"}, Help: "CPUs of the NUMA node.", Unit: "CPUs", Source: "cpulist"},
			{Name: "numa_cpu_list_info", Labels: []string{"node", "cpus"}, Help: "CPUs of the NUMA node that are online, constant 1.", Source: "cpulist"},
			{Name: "numa_distance", Labels: []string{"node", "peer"}, Help: "Relative cost of access from one NUMA node to another, 10 being local.", Unit: "cost", Source: "distance"},
			{Name: "numa_allocations_total", Type: prometheus.CounterValue, Labels: []string{"node", "result"}, Help: "Pages allocated on the NUMA node, by counter of numastat.", Unit: "pages", Source: "numastat"},
		}},
		{Name: "collectors", Labels: []string{"collector"}, Metrics: []Metric{
			{Name: "collector_success", Help: "Whether the collector's last poll read its main table.", Values: "0 or 1"},
			{Name: "collector_duration_seconds", Help: "How long the collector's last poll took."},
			{Name: "collector_last_success_timestamp_seconds", Help: "When the collector last succeeded, 0 before it did."},
			{Name: "collector_failures_total", Type: prometheus.CounterValue, Labels: []string{"reason"}, Help: "Failed polls by reason.", Unit: "polls"},
			{Name: "collector_stuck_processes", Help: "Children of the collector that outlived SIGKILL.", Unit: "processes", Values: "0 or 1"},
			{Name: "collector_command_duration_seconds", Labels: []string{"command"}, Help: "How long the last run of a command took."},
			{Name: "collector_command_success", Labels: []string{"command"}, Help: "Whether the last run of a command succeeded.", Values: "0 or 1"},
			{Name: "parse_warnings_total", Type: prometheus.CounterValue, Help: "Parts of the output that could not be read and were left out.", Unit: "parts of the output"},
		}},
	}, detailSections())
}

func cardMetrics() []Metric {
	return []Metric{
		{Name: "info", Labels: []string{"name", "bus_id", "uuid", "board", "npu", "chip"}, Help: "Identity of a card, constant 1.", Source: "table, `efsmi -q`; `uuid` from `mx-smi -L`, " + fromIXML + ", `xpu_smi -L`, " + fromGMI},
		{Name: "healthy", Help: "Whether the tool calls the card healthy.", Values: "0 or 1", Source: "MetaX: GPU-State, else `-L`; Ascend: Health; NVIDIA: `gpu_recovery_action`; Hygon: `--healthcheck`; Iluvatar: 0 where the power is 65535 W; Enflame: Health"},
		{Name: "health_info", Labels: []string{"state", "reason"}, Help: "State of the card as printed, constant 1.", Source: "same"},
		{Name: "utilization_ratio", Help: "Share of time the compute cores were busy, 0 to 1.", Source: "GPU-Util; AICore, on 950 NPU Util; DCU%, HCU%; XPU-Util; %GPU; GCU Usage"},
		{Name: "power_watts", Help: "Power drawn by the card.", Source: "table; `xpu_smi -m`; " + fromGMI + "; " + fromEfsmi, Absent: "310P; the second die of an A3; one of two chips on an Iluvatar board; the second chip of a K200"},
		{Name: "power_limit_watts", Help: "Power limit of the card.", Source: "MetaX Usage/Cap, else `mx-smi -s`; PwrCap; Iluvatar Usage/Cap; Kunlunxin Usage/Cap, else " + fromXPUQuery + "; " + fromGMI + "; Power Capa", Absent: "Ascend; mx-smi before 2.1.12; cap `NA`"},
		{Name: "temperature_celsius", Labels: []string{"sensor"}, Help: "Temperature of the card.", Source: "table: `chip`; `mx-smi -s`; `npu-smi info -t sensors`, `memory`, `temp`; `hy-smi --showtemp`; `ixsmi --query-gpu=temperature.memory`; `xpu_smi -m`; " + fromEfsmi},
		{Name: "memory_used_bytes", Labels: []string{"type"}, Help: "Memory in use, the driver's own included.", Source: "Memory-Usage, HBM-Usage; `host_mapped`: `mx-smi -s`; `hy-smi --showmeminfo vram`; `xpu_smi -m`; Mem; Used Size, Mem Usage of " + fromEfsmi},
		{Name: "memory_total_bytes", Labels: []string{"type"}, Help: "Memory of the card.", Source: "same"},
		{Name: "hugepages_used", Help: "Huge pages in use, in pages.", Unit: "pages", Source: "Ascend Hugepages-Usage", Absent: "MetaX"},
		// Untyped, since a gauge must not be called _total and this is no counter.
		{Name: "hugepages_total", Type: prometheus.UntypedValue, Help: "Huge pages set aside, in pages.", Unit: "pages", Source: "same", Absent: "same"},
		{Name: "performance_level", Help: "Performance level of the compute cores, larger is faster.", Unit: "level", Source: "MetaX `P<n>`", Absent: "Ascend; mx-smi before 2.2.6"},
		{Name: "numa_node", Help: "NUMA node the card is attached to.", Unit: "node number", Source: "see below"},
		{Name: "numa_node_conflict", Help: "Whether the tool's topology and the card's PCI device name different NUMA nodes.", Values: "0 or 1", Source: "topology; `numa_node` in sysfs", Absent: "only one of them tells"},
		{Name: "cpu_affinity_info", Labels: []string{"cpus"}, Help: "CPUs near to the card, constant 1.", Source: "topology"},
		{Name: "link_info", Labels: []string{"peer", "link"}, Help: "How the card is connected to a peer, constant 1.", Source: "topology"},
	}
}

func placementMetrics() []Metric {
	return []Metric{
		{Name: "process_near_cpus_ratio", Labels: []string{"vendor", "device", "pid"}, Help: "Share of a process's allowed online CPUs that are on the NUMA node of its card, 0 to 1.", Source: "Cpus_allowed_list", Absent: "the card's node is not known or has no CPUs"},
		{Name: "process_near_memory_allowed", Labels: []string{"vendor", "device", "pid"}, Help: "Whether a process may take memory on the NUMA node of its card.", Values: "0 or 1", Source: "Mems_allowed_list", Absent: "the card's node is not known or has no memory"},
		{Name: "process_cpus_info", Labels: []string{"vendor", "pid", "cpus", "mems"}, Help: "Online CPUs on which a process may run and NUMA nodes on which it may take memory, constant 1.", Source: "both", Absent: "a node's CPUs are unreadable"},
		{Name: "process_placement_unknown", Labels: []string{"vendor"}, Help: "Processes on cards whose CPUs and memory nodes could not be read.", Unit: "processes", Source: "process table, procfs", Absent: "as card series; the kernel shows no NUMA nodes"},
		{Name: "process_node_memory_bytes", Labels: []string{"vendor", "pid", "node"}, Help: "Memory of a process on a NUMA node.", Source: "`numa_maps`", Absent: "without `--collector.numa-maps`; unreadable, too long or too slow; none there"},
	}
}

func toolMetrics() []Metric {
	return []Metric{
		{Name: "tool_info", Labels: []string{"vendor", "tool", "tool_version", "driver_version", "runtime_version", "firmware_version"}, Help: "Versions in the title rows of the vendor's tool, constant 1.", Source: "title rows", Absent: "no title rows in the output"},
		{Name: "devices", Labels: []string{"vendor"}, Help: "Cards in the last good main table.", Unit: "cards", Source: "table", Absent: "as card series"},
		{Name: "devices_expected", Labels: []string{"vendor"}, Help: "Cards there ought to be: configured, else the larger of the most ever seen and what the tool announces.", Unit: "cards", Source: "`--collector.VENDOR.expected-devices`; table; `Attached GPUs`, `-L`, `info -m`, `info -l`", Absent: "before the first good table, without the flag"},
		{Name: "device_missing_info", Labels: []string{"vendor", "device", "name", "bus_id", "uuid"}, Help: "Identity of an expected card that the main table lacks, with the number it had last, constant 1.", Source: "`-L`, earlier tables", Absent: "no card is missing, or nothing tells which"},
	}
}

// series is what a sample needs to know of its metric.
type series struct {
	name, help string
	desc       *prometheus.Desc
	kind       prometheus.ValueType
}

// newSeries prepares every metric for its samples, by name.
func newSeries() map[string]*series {
	all := map[string]*series{}
	for _, section := range Metrics() {
		for _, m := range section.Metrics {
			name := namespace + m.Name
			s := &series{name, m.Help, prometheus.NewDesc(name, m.Help, slices.Concat(section.Labels, m.Labels), nil), m.Type}
			if s.kind == 0 {
				s.kind = prometheus.GaugeValue
			}
			all[m.Name] = s
		}
	}
	return all
}
