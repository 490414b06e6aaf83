package ascend

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

func usagesRows() []detail.Row {
	rows := []detail.Row{
		detail.Key("hbm bandwidth usage rate", "memory_bandwidth_ratio", printed.Percent, "hbm").If(hasHBM),
		detail.Key("ddr bandwidth usage rate", "memory_bandwidth_ratio", printed.Percent, "ddr").If(hasDDRAlone),
	}
	for _, e := range [][2]string{
		{"aicore", "aicore"}, {"aivector", "vector"}, {"vectorcore", "vector"}, {"aicube", "cube"}, {"aicpu", "ai_cpu"}, {"ctrlcpu", "control_cpu"},
	} {
		rows = append(rows, detail.Key(e[0]+" usage rate", "engine_utilization_ratio", printed.Percent, e[1]))
	}
	return append(rows, detail.Key("npu utilization", "engine_utilization_ratio", printed.Percent, "npu"))
}

func watchRows() []detail.Row {
	return []detail.Row{
		detail.Key("ai core", "engine_utilization_ratio", printed.Percent, "aicore"),
		detail.Key("ai cube", "engine_utilization_ratio", printed.Percent, "cube"),
		detail.Key("ai cpu", "engine_utilization_ratio", printed.Percent, "ai_cpu"),
		detail.Key("ctrl cpu", "engine_utilization_ratio", printed.Percent, "control_cpu"),
		detail.Key("npu util", "engine_utilization_ratio", printed.Percent, "npu"),
		detail.Key("memory bw", "memory_bandwidth_ratio", printed.Percent, "hbm").If(hasHBM),
		detail.Key("memory bw", "memory_bandwidth_ratio", printed.Percent, "ddr").If(hasDDRAlone),
	}
}

func commonRows() []detail.Row {
	return []detail.Row{
		detail.Key("aicore curfreq", "clock_hertz", printed.Hertz, "core"),
		detail.Key("aicore freq", "clock_max_hertz", printed.Hertz, "core").NotZero(),
	}
}

// eccRows leave out the pending single-bit pages, which the tool prints as 0 whatever
// there are.
func eccRows() []detail.Row {
	var rows []detail.Row
	for _, e := range [][2]string{{"single", "correctable"}, {"double", "uncorrectable"}} {
		for _, memory := range []string{"hbm", "ddr"} {
			key := memory + " " + e[0] + " bit "
			rows = append(rows,
				detail.Key(key+"error count", "ecc_errors_total", printed.Count, memory, e[1]),
				detail.Key(key+"aggregate total err cnt", "ecc_lifetime_errors_total", printed.Count, memory, e[1]),
				detail.Key(key+"isolated pages count", "ecc_retired_pages", printed.Pages, memory, e[1]).In("page"))
			if e[0] == "double" {
				rows = append(rows, detail.Key(key+"next-isolated pages count", "ecc_pending_pages", printed.Pages, memory, e[1]).In("page"))
			}
		}
		// 310 and 310B have DDR and do not name it.
		rows = append(rows, detail.Key(e[0]+"-bit error count", "ecc_errors_total", printed.Count, "ddr", e[1]))
	}
	return rows
}

func eccEnableRows() []detail.Row {
	enabled := map[string]float64{"true": 1, "false": 0}
	return []detail.Row{
		detail.Key("hbm ecc-enable status", "ecc_enabled", printed.Count, "hbm").Of(enabled),
		detail.Key("ddr ecc-enable status", "ecc_enabled", printed.Count, "ddr").Of(enabled),
		detail.Key("ecc-enable status", "ecc_enabled", printed.Count, "ddr").Of(enabled), // 310
	}
}

// hccsRows read lists of one number a link.
func hccsRows() []detail.Row {
	links := func(name string) []detail.Row {
		return []detail.Row{
			detail.Key(name+" health status", "links_healthy", printed.Count).Of(map[string]float64{"ok": 1, "nok": 0}),
			detail.Key(name+" lane mode", "link_width", printed.Count, "*").As(detail.List),
			detail.Key(name+" link speed", "link_speed_bits_per_second", printed.BitRate, "*").In("Gb/s").As(detail.List),
			detail.Key(name+" tx packets", "link_packets_total", printed.Count, "*", "transmit").As(detail.List),
			detail.Key(name+" rx packets", "link_packets_total", printed.Count, "*", "receive").As(detail.List),
			detail.Key(name+" tx bytes", "link_bytes_total", printed.Count, "*", "transmit").As(detail.List),
			detail.Key(name+" rx bytes", "link_bytes_total", printed.Count, "*", "receive").As(detail.List),
			detail.Key(name+" retry count", "link_errors_total", printed.Count, "*", "retry").As(detail.List),
			detail.Key(name+" error count", "link_errors_total", printed.Count, "*", "crc").As(detail.List),
		}
	}
	return slices.Concat(links("hccs"), links("xlink"))
}

func sensorsRows() []detail.Row {
	return []detail.Row{
		detail.Key("soc max temperature", "temperature_celsius", printed.Celsius, "soc_max"),
		detail.Key("ndie temperature", "temperature_celsius", printed.Celsius, "ndie"),
		detail.Key("hbm temperature", "temperature_celsius", printed.Celsius, "hbm"),
		detail.Key("sfp temperature", "temperature_celsius", printed.Celsius, "optical"),
	}
}

func memoryRows() []detail.Row {
	return []detail.Row{
		detail.Key("hbm temperature", "temperature_celsius", printed.Celsius, "hbm"),
		{Key: "ddr capacity"},
		{Key: "capacity"}, // chips without HBM
	}
}

// tempRows read the sensors of the board's controller, whatever their names.
func tempRows() []detail.Row {
	mcu := detail.Key("*", "temperature_celsius", printed.Celsius, "*")
	mcu.MCU = true
	return []detail.Row{mcu, {Key: "npu temperature"}, {Key: "temperature"}} // boards without a controller
}

func voltRows() []detail.Row {
	return []detail.Row{detail.Key("voltage", "rail_volts", printed.Volts, "core")}
}

// pcieErrRows know the counts of older chips, of which there are others, and tell none of
// them: a chip that prints only these is well.
func pcieErrRows() []detail.Row {
	var rows []detail.Row
	for _, older := range []string{"pcs rx", "phy lane", "dl lcrc", "dl dcrc"} {
		rows = append(rows, detail.Row{Key: older + " error count"})
	}
	for _, e := range [][2]string{
		{"tx error", "tx"}, {"rx error", "rx"}, {"lcrc error", "lcrc"}, {"ecrc error", "ecrc"}, {"retry", "retry"},
	} {
		rows = append(rows, detail.Key(e[0]+" count", "pcie_errors_total", printed.Count, e[1]))
	}
	return rows
}

func sioRows() []detail.Row {
	return []detail.Row{
		detail.Key("tx error count", "sio_errors_total", printed.Count, "transmit"),
		detail.Key("rx error count", "sio_errors_total", printed.Count, "receive"),
	}
}

func healthRows() []detail.Row {
	return []detail.Row{detail.Key("error code", "error_info", printed.Count, "*").As(detail.Codes)}
}

func boardRows() []detail.Row {
	return []detail.Row{
		detail.Key("serial number", "board_info", printed.Count, "*", "{product name}").As(detail.Text),
		{Key: "board id"}, // boards of which no serial number is printed
	}
}
