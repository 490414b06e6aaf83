package collector

import "github.com/prometheus/client_golang/prometheus"

// Where the values of more than one metric come from.
const (
	fromSummary  = "`mx-smi -s`"
	fromCounters = "`mx-smi --count-ecc`"
	fromPCIe     = "`mx-smi --show-pcie`"
	fromECC      = "`npu-smi info -t ecc`"
	fromHCCS     = "`npu-smi info -t hccs`"
	fromHyClocks = "`hy-smi --showclocks`"
	fromIXML     = "`ixsmi -q -x`"
	fromXPUQuery = "`xpu_smi -q`"
	fromGMI      = "`mthreads-gmi --query --json`"
	fromEfsmi    = "`efsmi -q`"
	fromStat     = "`hccn_tool -stat`"
	fromOptical  = "`hccn_tool -optical`"
)

// counter is a metric that the tool itself counts.
func counter(name, help, unit, source string, labels ...string) Metric {
	return Metric{Name: name, Type: prometheus.CounterValue, Labels: labels, Help: help, Unit: unit, Source: source}
}

func gauge(name, help, source string, labels ...string) Metric {
	return Metric{Name: name, Labels: labels, Help: help, Source: source}
}

// in returns the metric with a unit that its name does not say.
func (m Metric) in(unit string) Metric { m.Unit = unit; return m }

// yesNo returns the metric for one that is 0 or 1.
func (m Metric) yesNo() Metric { m.Values = "0 or 1"; return m }

// detailSections are the metrics of the deeper commands.
func detailSections() []Section {
	card := []string{"vendor", "device"}
	return []Section{
		{Name: "details", Labels: card, Metrics: detailMetrics()},
		{Name: "errors", Labels: card, Metrics: errorMetrics()},
		{Name: "links", Labels: card, Metrics: linkMetrics()},
		{Name: "network", Labels: card, Metrics: networkMetrics()},
		{Name: "optics", Labels: card, Metrics: opticalMetrics()},
	}
}

func detailMetrics() []Metric {
	return []Metric{
		gauge("engine_utilization_ratio", "Share of time that one kind of engine was busy, 0 to 1.", fromSummary+"; `npu-smi info -t usages`, `info watch`; Hygon Dec%, Enc%; "+fromIXML+"; "+fromEfsmi, "engine"),
		gauge("memory_bandwidth_ratio", "Share of the memory's bandwidth in use, 0 to 1.", "`npu-smi info -t usages`, `info watch`", "type"),
		gauge("memory_bandwidth_bytes_per_second", "Traffic of the card's memory.", "`mx-smi --show-hbm-bandwidth`", "type"),
		gauge("clock_hertz", "Clock of a part of the card.", fromSummary+"; `npu-smi info -t common`; "+fromHyClocks+"; Iluvatar Clock-SM, Clock-Mem; `xpu_smi -m`; "+fromGMI+"; "+fromEfsmi, "clock"),
		gauge("clock_max_hertz", "Rated clock of a part of the card.", "`npu-smi info -t common`", "clock"),
		gauge("throttled", "Whether the compute clock is held down for this reason.", "`mx-smi --show-clk-tr`", "reason").yesNo(),
		gauge("rail_volts", "Voltage of a power rail.", fromSummary+"; `npu-smi info -t volt`; "+fromEfsmi, "rail"),
		gauge("rail_amperes", "Current of a power rail.", fromSummary, "rail"),
		gauge("rail_power_watts", "Power of a power rail.", fromSummary, "rail"),
		gauge("pcie_link_transfers_per_second", "Speed of the card's PCIe link.", fromPCIe+"; "+fromHyClocks+"; "+fromIXML+"; "+fromXPUQuery+"; "+fromEfsmi).in("transfers/s"),
		gauge("pcie_link_transfers_per_second_max", "Greatest speed of the card's PCIe link.", fromPCIe+"; "+fromIXML+"; "+fromXPUQuery+"; "+fromEfsmi).in("transfers/s"),
		gauge("pcie_link_width", "Lanes that the card's PCIe link uses.", fromPCIe+"; "+fromHyClocks+"; "+fromIXML+"; "+fromXPUQuery+"; Pcie Lane Width; "+fromEfsmi).in("lanes"),
		gauge("pcie_link_width_max", "Most lanes that the card's PCIe link can use.", fromPCIe+"; "+fromIXML+"; "+fromXPUQuery+"; Pcie Lane Width; "+fromEfsmi).in("lanes"),
		gauge("pcie_bytes_per_second", "Traffic of the card's PCIe link.", "`mx-smi --show-pcie-bandwidth`", "direction"),
		gauge("board_info", "Serial number and product of the board, constant 1.", "`npu-smi info -t board`", "serial", "product"),
	}
}

func errorMetrics() []Metric {
	return []Metric{
		gauge("error_info", "A fault code that the card reports, constant 1.", "`npu-smi info -t health`, asked when Health is not OK", "code"),
		counter("ecc_errors_total", "Memory errors since the driver or the host started.", "errors", fromCounters+"; "+fromECC+"; `hy-smi --showrasinfo`; "+fromIXML+"; Kunlunxin ECC, "+fromXPUQuery, "memory", "type"),
		counter("ecc_lifetime_errors_total", "Memory errors in the card's life.", "errors", fromECC+"; "+fromXPUQuery, "memory", "type"),
		gauge("ecc_retired_pages", "Memory pages that are used no more for their errors.", fromCounters+"; "+fromECC, "memory", "type").in("pages"),
		gauge("ecc_pending_pages", "Memory pages that will be retired at the next start.", fromECC, "memory", "type").in("pages"),
		gauge("ecc_enabled", "Whether errors of the memory are corrected; memory is empty where the tool prints one state for the card.", "`mx-smi --show-ecc-state`; `npu-smi info -t ecc-enable`; "+fromIXML+"; "+fromXPUQuery+"; "+fromEfsmi, "memory").yesNo(),
		counter("ras_errors_total", "Errors that the card's RAS units counted.", "errors", "`mx-smi -j`", "type"),
		gauge("ras_status", "Value of a RAS register.", "`mx-smi -j`", "register").in("register value"),
		counter("pci_events_total", "PCI events that the tool lists.", "events", "`mx-smi -j`", "event"),
		counter("pcie_errors_total", "Errors of the card's PCIe link.", "errors", "`npu-smi info -t pcie-err`", "type"),
		counter("sio_errors_total", "Errors between the two dies of a card.", "errors", "`npu-smi info -t sio-info`", "direction"),
	}
}

func linkMetrics() []Metric {
	return []Metric{
		gauge("links_healthy", "Whether the tool calls the links between cards OK.", fromHCCS).yesNo(),
		gauge("link_speed_bits_per_second", "Speed of a link between cards, of all its lanes.", fromHCCS, "link").in("bit/s"),
		gauge("link_width", "Lanes that a link between cards uses.", fromHCCS, "link").in("lanes"),
		counter("link_packets_total", "Packets over a link between cards.", "packets", fromHCCS, "link", "direction"),
		counter("link_bytes_total", "Traffic over a link between cards.", "", fromHCCS, "link", "direction"),
		counter("link_errors_total", "Errors of a link between cards.", "errors", fromHCCS, "link", "type"),
	}
}

func networkMetrics() []Metric {
	const link, speed = "`hccn_tool -link`, on 950 `-dev_info`", "`hccn_tool -speed`"
	return []Metric{
		gauge("network_up", "Whether a network port of the card is up; udie and port are empty where a card has one port.", link, "udie", "port").yesNo(),
		gauge("network_speed_bits_per_second", "Speed of a network port of the card.", speed, "udie", "port").in("bit/s"),
		counter("network_link_changes_total", "How often a network port came up or went down.", "changes", "`hccn_tool -link_stat`", "udie", "port", "state"),
		gauge("network_healthy", "Whether the card reaches its network detection address.", "`hccn_tool -net_health`").yesNo(),
		gauge("network_health_info", "State of the card's network as printed, constant 1.", "`hccn_tool -net_health`", "state"),
		counter("network_bytes_total", "Traffic of the card's network port.", "", fromStat, "direction"),
		counter("network_packets_total", "Packets of the card's network port.", "packets", fromStat, "direction"),
		counter("network_bad_bytes_total", "Traffic of bad packets.", "", fromStat, "direction"),
		counter("network_bad_packets_total", "Bad packets of the card's network port.", "packets", fromStat, "direction"),
		counter("network_fcs_errors_total", "Packets received with a wrong checksum.", "packets", fromStat),
		counter("network_pause_frames_total", "Pause frames of the card's network port.", "frames", fromStat, "direction"),
		counter("network_pfc_frames_total", "Priority pause frames of the card's network port.", "frames", fromStat, "direction", "priority"),
		counter("roce_packets_total", "RoCE packets.", "packets", fromStat, "direction", "kind"),
		counter("roce_ecn_total", "RoCE packets marked for congestion.", "packets", fromStat),
		counter("roce_events_total", "RoCE events that say that something went wrong.", "events", fromStat, "event"),
		counter("ub_packets_total", "Packets and flits of a port of the unified bus.", "packets", fromStat+" on 950", "udie", "port", "kind", "direction"),
		counter("ub_errors_total", "Errors of a port of the unified bus.", "errors", fromStat+" on 950", "udie", "port", "kind"),
	}
}

func opticalMetrics() []Metric {
	return []Metric{
		gauge("optical_present", "Whether there is an optical module.", fromOptical).yesNo(),
		gauge("optical_temperature_celsius", "Temperature of the optical module.", fromOptical),
		gauge("optical_volts", "Supply voltage of the optical module.", fromOptical),
		gauge("optical_power_watts", "Optical power of a lane; lane is empty where the tool prints one for all.", fromOptical, "direction", "lane"),
		gauge("optical_bias_amperes", "Laser bias current of a lane.", fromOptical, "lane"),
		gauge("optical_snr_decibels", "Signal-to-noise ratio of a lane.", fromOptical, "side", "lane"),
		gauge("optical_temperature_limit_celsius", "Temperature that the optical module is to stay within; bound is low or high.", fromOptical, "bound"),
		gauge("optical_voltage_limit_volts", "Supply voltage that the optical module is to stay within; bound is low or high.", fromOptical, "bound"),
		gauge("optical_power_limit_watts", "Optical power that each lane is to stay within; bound is low or high.", fromOptical, "direction", "bound"),
		gauge("optical_signal_lost", "Whether a lane has no signal.", fromOptical, "direction", "lane").yesNo(),
	}
}
