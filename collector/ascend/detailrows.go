package ascend

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

var usagesRows = []smitext.KeyRow{
	row("hbm bandwidth usage rate", "memory_bandwidth_ratio", smitext.Percent, "hbm").OnlyFor(hasHBM),
	row("ddr bandwidth usage rate", "memory_bandwidth_ratio", smitext.Percent, "ddr").OnlyFor(hasDDRAlone),
	row("aicore usage rate", "engine_utilization_ratio", smitext.Percent, "aicore"),
	row("aivector usage rate", "engine_utilization_ratio", smitext.Percent, "vector"),
	row("vectorcore usage rate", "engine_utilization_ratio", smitext.Percent, "vector"),
	row("aicube usage rate", "engine_utilization_ratio", smitext.Percent, "cube"),
	row("aicpu usage rate", "engine_utilization_ratio", smitext.Percent, "ai_cpu"),
	row("ctrlcpu usage rate", "engine_utilization_ratio", smitext.Percent, "control_cpu"),
	row("npu utilization", "engine_utilization_ratio", smitext.Percent, "npu"),
}

// watchRows read a column table, whose words have lost their blanks.
var watchRows = []smitext.KeyRow{
	row("aicore", "engine_utilization_ratio", smitext.Percent, "aicore"),
	row("aicube", "engine_utilization_ratio", smitext.Percent, "cube"),
	row("aicpu", "engine_utilization_ratio", smitext.Percent, "ai_cpu"),
	row("ctrlcpu", "engine_utilization_ratio", smitext.Percent, "control_cpu"),
	row("npuutil", "engine_utilization_ratio", smitext.Percent, "npu"),
	row("memorybw", "memory_bandwidth_ratio", smitext.Percent, "hbm").OnlyFor(hasHBM),
	row("memorybw", "memory_bandwidth_ratio", smitext.Percent, "ddr").OnlyFor(hasDDRAlone),
}

var commonRows = []smitext.KeyRow{
	row("aicore curfreq", "clock_hertz", smitext.Hertz, "core"),
	row("aicore freq", "clock_max_hertz", smitext.Hertz, "core").NotZero(),
}

// eccRows leave out the pending single-bit pages, which the tool prints as 0 whatever
// there are. 310 and 310B have DDR and do not name it.
var eccRows = []smitext.KeyRow{
	row("hbm single bit error count", "ecc_errors_total", smitext.Count, "hbm", "correctable").NoUnderflow(),
	row("hbm single bit aggregate total err cnt", "ecc_lifetime_errors_total", smitext.Count, "hbm", "correctable").NoUnderflow(),
	row("hbm single bit isolated pages count", "ecc_retired_pages", smitext.Pages, "hbm", "correctable").InUnit("page"),
	row("ddr single bit error count", "ecc_errors_total", smitext.Count, "ddr", "correctable").NoUnderflow(),
	row("ddr single bit aggregate total err cnt", "ecc_lifetime_errors_total", smitext.Count, "ddr", "correctable").NoUnderflow(),
	row("ddr single bit isolated pages count", "ecc_retired_pages", smitext.Pages, "ddr", "correctable").InUnit("page"),
	row("single-bit error count", "ecc_errors_total", smitext.Count, "ddr", "correctable").NoUnderflow(),
	row("hbm double bit error count", "ecc_errors_total", smitext.Count, "hbm", "uncorrectable").NoUnderflow(),
	row("hbm double bit aggregate total err cnt", "ecc_lifetime_errors_total", smitext.Count, "hbm", "uncorrectable").NoUnderflow(),
	row("hbm double bit isolated pages count", "ecc_retired_pages", smitext.Pages, "hbm", "uncorrectable").InUnit("page"),
	row("hbm double bit next-isolated pages count", "ecc_pending_pages", smitext.Pages, "hbm", "uncorrectable").InUnit("page"),
	row("ddr double bit error count", "ecc_errors_total", smitext.Count, "ddr", "uncorrectable").NoUnderflow(),
	row("ddr double bit aggregate total err cnt", "ecc_lifetime_errors_total", smitext.Count, "ddr", "uncorrectable").NoUnderflow(),
	row("ddr double bit isolated pages count", "ecc_retired_pages", smitext.Pages, "ddr", "uncorrectable").InUnit("page"),
	row("ddr double bit next-isolated pages count", "ecc_pending_pages", smitext.Pages, "ddr", "uncorrectable").InUnit("page"),
	row("double-bit error count", "ecc_errors_total", smitext.Count, "ddr", "uncorrectable").NoUnderflow(),
}

var (
	trueFalse     = map[string]float64{"true": 1, "false": 0}
	eccEnableRows = []smitext.KeyRow{
		row("hbm ecc-enable status", "ecc_enabled", smitext.Count, "hbm").WithWords(trueFalse),
		row("ddr ecc-enable status", "ecc_enabled", smitext.Count, "ddr").WithWords(trueFalse),
		row("ecc-enable status", "ecc_enabled", smitext.Count, "ddr").WithWords(trueFalse), // 310
	}
)

// The links have another name in tools for the Chinese market.
var hccsRows = slices.Concat(linkRowsOf("hccs"), linkRowsOf("xlink"))

// linkRowsOf read lists of one number a link.
func linkRowsOf(name string) []smitext.KeyRow {
	return []smitext.KeyRow{
		row(name+" health status", "links_healthy", smitext.Count).WithWords(map[string]float64{"ok": 1, "nok": 0}),
		row(name+" lane mode", "link_width", smitext.Count, "*").WithForm(smitext.FormList),
		row(name+" link speed", "link_speed_bits_per_second", smitext.BitRate, "*").WithForm(smitext.FormList).InUnit("Gb/s"),
		row(name+" tx packets", "link_packets_total", smitext.Count, "*", "transmit").WithForm(smitext.FormList),
		row(name+" rx packets", "link_packets_total", smitext.Count, "*", "receive").WithForm(smitext.FormList),
		row(name+" tx bytes", "link_bytes_total", smitext.Count, "*", "transmit").WithForm(smitext.FormList),
		row(name+" rx bytes", "link_bytes_total", smitext.Count, "*", "receive").WithForm(smitext.FormList),
		row(name+" retry count", "link_errors_total", smitext.Count, "*", "retry").WithForm(smitext.FormList),
		row(name+" error count", "link_errors_total", smitext.Count, "*", "crc").WithForm(smitext.FormList),
	}
}

var sensorsRows = []smitext.KeyRow{
	row("soc max temperature", "temperature_celsius", smitext.Celsius, "soc_max"),
	row("ndie temperature", "temperature_celsius", smitext.Celsius, "ndie"),
	row("hbm temperature", "temperature_celsius", smitext.Celsius, "hbm"),
	row("sfp temperature", "temperature_celsius", smitext.Celsius, "optical"),
}

var memoryRows = []smitext.KeyRow{
	row("hbm temperature", "temperature_celsius", smitext.Celsius, "hbm"),
	{Key: "ddr capacity"},
	{Key: "capacity"}, // chips without HBM
}

// tempRows read the sensors of the board's controller, whatever their names.
var tempRows = []smitext.KeyRow{
	{Key: "*", Metric: "temperature_celsius", Unit: smitext.Celsius, Labels: []string{"*"}, OfMCU: true},
	{Key: "npu temperature"}, // boards without a controller
	{Key: "temperature"},
}

var voltRows = []smitext.KeyRow{row("voltage", "rail_volts", smitext.Volts, "core")}

// pcieErrRows know the counts of older chips, of which there are others, and read none of
// them: a chip that prints only these is well.
var pcieErrRows = []smitext.KeyRow{
	{Key: "pcs rx error count"},
	{Key: "phy lane error count"},
	{Key: "dl lcrc error count"},
	{Key: "dl dcrc error count"},
	row("tx error count", "pcie_errors_total", smitext.Count, "tx"),
	row("rx error count", "pcie_errors_total", smitext.Count, "rx"),
	row("lcrc error count", "pcie_errors_total", smitext.Count, "lcrc"),
	row("ecrc error count", "pcie_errors_total", smitext.Count, "ecrc"),
	row("retry count", "pcie_errors_total", smitext.Count, "retry"),
}

var sioRows = []smitext.KeyRow{
	row("tx error count", "sio_errors_total", smitext.Count, "transmit"),
	row("rx error count", "sio_errors_total", smitext.Count, "receive"),
}

var healthRows = []smitext.KeyRow{row("error code", "error_info", smitext.Count, "*").WithForm(smitext.FormCodes)}

var boardRows = []smitext.KeyRow{
	row("serial number", "board_info", smitext.Count, "*", "{product name}").WithForm(smitext.FormText),
	{Key: "board id"}, // boards of which no serial number is printed
}

func row(key string, m model.Metric, u smitext.Unit, labels ...string) smitext.KeyRow {
	return smitext.Key(key, m, u, labels...)
}
