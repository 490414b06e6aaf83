package metax

import (
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// summaryRows read mx-smi -s.
var summaryRows = smitext.Rows{
	{Word: "utilization > vpue", Metric: "engine_utilization_ratio", Labels: []string{"vpu_encode"}, Unit: smitext.Percent},
	{Word: "utilization > vpud", Metric: "engine_utilization_ratio", Labels: []string{"vpu_decode"}, Unit: smitext.Percent},
	{Word: "chip temperature > hotspot", Metric: "temperature_celsius", Labels: []string{"hotspot"}, Unit: smitext.Celsius},
	{Word: "board temperature > drmos_soc", Metric: "temperature_celsius", Labels: []string{"board_soc"}, Unit: smitext.Celsius},
	{Word: "board temperature > drmos_core", Metric: "temperature_celsius", Labels: []string{"board_core"}, Unit: smitext.Celsius},
	{Word: "board temperature > tdiode", Metric: "temperature_celsius", Labels: []string{"tdiode"}, Unit: smitext.Celsius},
	{Word: "board temperature > air-inlet", Metric: "temperature_celsius", Labels: []string{"air_inlet"}, Unit: smitext.Celsius},
	{Word: "board temperature > air-outlet", Metric: "temperature_celsius", Labels: []string{"air_outlet"}, Unit: smitext.Celsius},
	{Word: "board voltage > way *", Metric: "rail_volts", Labels: []string{"way*"}, Unit: smitext.Volts},
	{Word: "board current > way *", Metric: "rail_amperes", Labels: []string{"way*"}, Unit: smitext.Amperes},
	{Word: "board power > way *", Metric: "rail_power_watts", Labels: []string{"way*"}, Unit: smitext.Watts},
	{Word: "board power > total", Metric: "power_watts", Unit: smitext.Watts},
	{Word: "board power > limit", Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "dpm current performance level > xcore", Metric: "performance_level"},
	{Word: "clocks > xcore > xcore_clk", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "clocks > mc0 > mc0_dficlk", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
	{Word: "clocks > vpue > vpu_encclk", Metric: "clock_hertz", Labels: []string{"vpu_encode"}, Unit: smitext.Hertz},
	{Word: "clocks > vpud > vpu_decclk0", Metric: "clock_hertz", Labels: []string{"vpu_decode"}, Unit: smitext.Hertz},
	{Word: "pmbus voltage > soc", Metric: "rail_volts", Labels: []string{"soc"}, Unit: smitext.Volts},
	{Word: "pmbus voltage > core", Metric: "rail_volts", Labels: []string{"core"}, Unit: smitext.Volts},
	{Word: "pmbus voltage > hbm", Metric: "rail_volts", Labels: []string{"hbm"}, Unit: smitext.Volts},
	{Word: "pmbus voltage > pcie", Metric: "rail_volts", Labels: []string{"pcie"}, Unit: smitext.Volts},
	{Word: "pmbus current > soc", Metric: "rail_amperes", Labels: []string{"soc"}, Unit: smitext.Amperes},
	{Word: "pmbus current > core", Metric: "rail_amperes", Labels: []string{"core"}, Unit: smitext.Amperes},
	{Word: "pmbus current > hbm", Metric: "rail_amperes", Labels: []string{"hbm"}, Unit: smitext.Amperes},
	{Word: "pmbus current > pcie", Metric: "rail_amperes", Labels: []string{"pcie"}, Unit: smitext.Amperes},
	{Word: "pmbus power > soc", Metric: "rail_power_watts", Labels: []string{"soc"}, Unit: smitext.Watts},
	{Word: "pmbus power > core", Metric: "rail_power_watts", Labels: []string{"core"}, Unit: smitext.Watts},
	{Word: "pmbus power > hbm", Metric: "rail_power_watts", Labels: []string{"hbm"}, Unit: smitext.Watts},
	{Word: "pmbus power > pcie", Metric: "rail_power_watts", Labels: []string{"pcie"}, Unit: smitext.Watts},
	{Word: "memory > vram total", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "memory > vram used", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
	{Word: "memory > xtt total", Metric: "memory_total_bytes", Labels: []string{"host_mapped"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "memory > xtt used", Metric: "memory_used_bytes", Labels: []string{"host_mapped"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
}

// counterRows read the sections of all flags that print counters and states.
var counterRows = slices.Concat(throttleRows(), smitext.Rows{
	{Word: "ecc errors > sram correctable", Metric: "ecc_errors_total", Labels: []string{"sram", "correctable"}, Underflow: true},
	{Word: "ecc errors > sram uncorrectable", Metric: "ecc_errors_total", Labels: []string{"sram", "uncorrectable"}, Underflow: true},
	{Word: "ecc errors > dram correctable", Metric: "ecc_errors_total", Labels: []string{"dram", "correctable"}, Underflow: true},
	{Word: "ecc errors > dram uncorrectable", Metric: "ecc_errors_total", Labels: []string{"dram", "uncorrectable"}, Underflow: true},
	{Word: "retired pages > double bit ecc", Metric: "ecc_retired_pages", Labels: []string{"dram", "uncorrectable"}, Unit: smitext.Pages, Symbol: "page"},
	{Word: "ecc state > state", Metric: "ecc_enabled", Labels: []string{""}, Words: map[string]float64{"enable": 1, "disable": 0}},
	{Word: "pcie info > current speed", Metric: "pcie_link_transfers_per_second", Unit: smitext.Transfers, NotZero: true},
	{Word: "pcie info > current width", Metric: "pcie_link_width", Unit: smitext.Lanes, NotZero: true},
	{Word: "pcie info > max speed", Metric: "pcie_link_transfers_per_second_max", Unit: smitext.Transfers, NotZero: true},
	{Word: "pcie info > max width", Metric: "pcie_link_width_max", Unit: smitext.Lanes, NotZero: true},
	{Word: "pcie bandwidth > rx", Metric: "pcie_bytes_per_second", Labels: []string{"receive"}, Unit: smitext.ByteRate},
	{Word: "pcie bandwidth > tx", Metric: "pcie_bytes_per_second", Labels: []string{"transmit"}, Unit: smitext.ByteRate},
	{Word: "hbm bandwidth > throughput", Metric: "memory_bandwidth_bytes_per_second", Labels: []string{"vram"}, Unit: smitext.ByteRate},
})

// throttleRows read the reasons for a low clock.
func throttleRows() (rows smitext.Rows) {
	states := map[string]float64{"active": 1, "not active": 0}
	for _, reason := range []string{
		"idle", "applications limit", "over power", "chip over temperature", "vr over temperature", "hbm over temperature",
		"thermal over temperature", "pcc", "power brake", "didt", "low usage", "other",
	} {
		label := strings.ReplaceAll(reason, " ", "_")
		rows = append(rows, smitext.Row{Word: "xcore clocks throttle reason > " + reason, Metric: "throttled", Labels: []string{label}, Words: states})
	}
	return rows
}
