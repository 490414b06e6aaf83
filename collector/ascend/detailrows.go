package ascend

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

var usagesRows = smitext.Rows{
	{Word: "hbm bandwidth usage rate", Metric: "memory_bandwidth_ratio", Labels: []string{"hbm"}, Unit: smitext.Percent, Applies: hasHBM},
	{Word: "ddr bandwidth usage rate", Metric: "memory_bandwidth_ratio", Labels: []string{"ddr"}, Unit: smitext.Percent, Applies: hasDDRAlone},
	{Word: "aicore usage rate", Metric: "engine_utilization_ratio", Labels: []string{"aicore"}, Unit: smitext.Percent},
	{Word: "aivector usage rate", Metric: "engine_utilization_ratio", Labels: []string{"vector"}, Unit: smitext.Percent},
	{Word: "vectorcore usage rate", Metric: "engine_utilization_ratio", Labels: []string{"vector"}, Unit: smitext.Percent},
	{Word: "aicube usage rate", Metric: "engine_utilization_ratio", Labels: []string{"cube"}, Unit: smitext.Percent},
	{Word: "aicpu usage rate", Metric: "engine_utilization_ratio", Labels: []string{"ai_cpu"}, Unit: smitext.Percent},
	{Word: "ctrlcpu usage rate", Metric: "engine_utilization_ratio", Labels: []string{"control_cpu"}, Unit: smitext.Percent},
	{Word: "npu utilization", Metric: "engine_utilization_ratio", Labels: []string{"npu"}, Unit: smitext.Percent},
}

// watchRows read a column table, whose words have lost their blanks.
var watchRows = smitext.Rows{
	{Word: "aicore", Metric: "engine_utilization_ratio", Labels: []string{"aicore"}, Unit: smitext.Percent},
	{Word: "aicube", Metric: "engine_utilization_ratio", Labels: []string{"cube"}, Unit: smitext.Percent},
	{Word: "aicpu", Metric: "engine_utilization_ratio", Labels: []string{"ai_cpu"}, Unit: smitext.Percent},
	{Word: "ctrlcpu", Metric: "engine_utilization_ratio", Labels: []string{"control_cpu"}, Unit: smitext.Percent},
	{Word: "npuutil", Metric: "engine_utilization_ratio", Labels: []string{"npu"}, Unit: smitext.Percent},
	{Word: "memorybw", Metric: "memory_bandwidth_ratio", Labels: []string{"hbm"}, Unit: smitext.Percent, Applies: hasHBM},
	{Word: "memorybw", Metric: "memory_bandwidth_ratio", Labels: []string{"ddr"}, Unit: smitext.Percent, Applies: hasDDRAlone},
}

var commonRows = smitext.Rows{
	{Word: "aicore curfreq", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "aicore freq", Metric: "clock_max_hertz", Labels: []string{"core"}, Unit: smitext.Hertz, NotZero: true},
}

// eccRows leave out the pending single-bit pages, which the tool prints as 0 whatever
// there are. 310 and 310B have DDR and do not name it.
var eccRows = smitext.Rows{
	{Word: "hbm single bit error count", Metric: "ecc_errors_total", Labels: []string{"hbm", "correctable"}, Underflow: true},
	{Word: "hbm single bit aggregate total err cnt", Metric: "ecc_lifetime_errors_total", Labels: []string{"hbm", "correctable"}, Underflow: true},
	{Word: "hbm single bit isolated pages count", Metric: "ecc_retired_pages", Labels: []string{"hbm", "correctable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "ddr single bit error count", Metric: "ecc_errors_total", Labels: []string{"ddr", "correctable"}, Underflow: true},
	{Word: "ddr single bit aggregate total err cnt", Metric: "ecc_lifetime_errors_total", Labels: []string{"ddr", "correctable"}, Underflow: true},
	{Word: "ddr single bit isolated pages count", Metric: "ecc_retired_pages", Labels: []string{"ddr", "correctable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "single-bit error count", Metric: "ecc_errors_total", Labels: []string{"ddr", "correctable"}, Underflow: true},
	{Word: "hbm double bit error count", Metric: "ecc_errors_total", Labels: []string{"hbm", "uncorrectable"}, Underflow: true},
	{Word: "hbm double bit aggregate total err cnt", Metric: "ecc_lifetime_errors_total", Labels: []string{"hbm", "uncorrectable"}, Underflow: true},
	{Word: "hbm double bit isolated pages count", Metric: "ecc_retired_pages", Labels: []string{"hbm", "uncorrectable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "hbm double bit next-isolated pages count", Metric: "ecc_pending_pages", Labels: []string{"hbm", "uncorrectable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "ddr double bit error count", Metric: "ecc_errors_total", Labels: []string{"ddr", "uncorrectable"}, Underflow: true},
	{Word: "ddr double bit aggregate total err cnt", Metric: "ecc_lifetime_errors_total", Labels: []string{"ddr", "uncorrectable"}, Underflow: true},
	{Word: "ddr double bit isolated pages count", Metric: "ecc_retired_pages", Labels: []string{"ddr", "uncorrectable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "ddr double bit next-isolated pages count", Metric: "ecc_pending_pages", Labels: []string{"ddr", "uncorrectable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "double-bit error count", Metric: "ecc_errors_total", Labels: []string{"ddr", "uncorrectable"}, Underflow: true},
}

var (
	trueFalse     = map[string]float64{"true": 1, "false": 0}
	eccEnableRows = smitext.Rows{
		{Word: "hbm ecc-enable status", Metric: "ecc_enabled", Labels: []string{"hbm"}, Words: trueFalse},
		{Word: "ddr ecc-enable status", Metric: "ecc_enabled", Labels: []string{"ddr"}, Words: trueFalse},
		{Word: "ecc-enable status", Metric: "ecc_enabled", Labels: []string{"ddr"}, Words: trueFalse}, // 310
	}
)

// The links have another name in tools for the Chinese market.
var hccsRows = slices.Concat(linkRows("hccs"), linkRows("xlink"))

// linkRows read lists of one number a link.
func linkRows(name string) smitext.Rows {
	return smitext.Rows{
		{Word: name + " health status", Metric: "links_healthy", Words: map[string]float64{"ok": 1, "nok": 0}},
		{Word: name + " lane mode", Metric: "link_width", Labels: []string{"*"}, Form: smitext.FormList},
		{Word: name + " link speed", Metric: "link_speed_bits_per_second", Labels: []string{"*"}, Unit: smitext.BitRate, Form: smitext.FormList, Symbol: "Gb/s"},
		{Word: name + " tx packets", Metric: "link_packets_total", Labels: []string{"*", "transmit"}, Form: smitext.FormList},
		{Word: name + " rx packets", Metric: "link_packets_total", Labels: []string{"*", "receive"}, Form: smitext.FormList},
		{Word: name + " tx bytes", Metric: "link_bytes_total", Labels: []string{"*", "transmit"}, Form: smitext.FormList},
		{Word: name + " rx bytes", Metric: "link_bytes_total", Labels: []string{"*", "receive"}, Form: smitext.FormList},
		{Word: name + " retry count", Metric: "link_errors_total", Labels: []string{"*", "retry"}, Form: smitext.FormList},
		{Word: name + " error count", Metric: "link_errors_total", Labels: []string{"*", "crc"}, Form: smitext.FormList},
	}
}

var sensorsRows = smitext.Rows{
	{Word: "soc max temperature", Metric: "temperature_celsius", Labels: []string{"soc_max"}, Unit: smitext.Celsius},
	{Word: "ndie temperature", Metric: "temperature_celsius", Labels: []string{"ndie"}, Unit: smitext.Celsius},
	{Word: "hbm temperature", Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius},
	{Word: "sfp temperature", Metric: "temperature_celsius", Labels: []string{"optical"}, Unit: smitext.Celsius},
}

var memoryRows = smitext.Rows{
	{Word: "hbm temperature", Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius},
	{Word: "ddr capacity"},
	{Word: "capacity"}, // chips without HBM
}

// tempRows read the sensors of the board's controller, whatever their names.
var tempRows = smitext.Rows{
	{Word: "*", Metric: "temperature_celsius", Labels: []string{"*"}, Unit: smitext.Celsius, MCU: true},
	{Word: "npu temperature"}, // boards without a controller
	{Word: "temperature"},
}

var voltRows = smitext.Rows{{Word: "voltage", Metric: "rail_volts", Labels: []string{"core"}, Unit: smitext.Volts}}

// pcieErrRows know the counts of older chips, of which there are others, and read none of
// them: a chip that prints only these is well.
var pcieErrRows = smitext.Rows{
	{Word: "pcs rx error count"},
	{Word: "phy lane error count"},
	{Word: "dl lcrc error count"},
	{Word: "dl dcrc error count"},
	{Word: "tx error count", Metric: "pcie_errors_total", Labels: []string{"tx"}},
	{Word: "rx error count", Metric: "pcie_errors_total", Labels: []string{"rx"}},
	{Word: "lcrc error count", Metric: "pcie_errors_total", Labels: []string{"lcrc"}},
	{Word: "ecrc error count", Metric: "pcie_errors_total", Labels: []string{"ecrc"}},
	{Word: "retry count", Metric: "pcie_errors_total", Labels: []string{"retry"}},
}

var sioRows = smitext.Rows{
	{Word: "tx error count", Metric: "sio_errors_total", Labels: []string{"transmit"}},
	{Word: "rx error count", Metric: "sio_errors_total", Labels: []string{"receive"}},
}

var healthRows = smitext.Rows{{Word: "error code", Metric: "error_info", Labels: []string{"*"}, Form: smitext.FormCodes}}

var boardRows = smitext.Rows{
	{Word: "serial number", Metric: "board_info", Labels: []string{"*", "{product name}"}, Form: smitext.FormText},
	{Word: "board id"}, // boards of which no serial number is printed
}
