package nvidia

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// detailRows read the values of the details query, of those fields that the driver has.
var detailRows = slices.Concat(smitext.Rows{
	{Word: "clocks.current.graphics", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "clocks.current.sm", Metric: "clock_hertz", Labels: []string{"sm"}, Unit: smitext.Hertz},
	{Word: "clocks.current.memory", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
	{Word: "clocks.current.video", Metric: "clock_hertz", Labels: []string{"video"}, Unit: smitext.Hertz},
	{Word: "temperature.memory", Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius, Symbol: "C"},
	{Word: "utilization.memory", Metric: "engine_utilization_ratio", Labels: []string{"memory"}, Unit: smitext.Percent},
	{Word: "utilization.encoder", Metric: "engine_utilization_ratio", Labels: []string{"encoder"}, Unit: smitext.Percent},
	{Word: "utilization.decoder", Metric: "engine_utilization_ratio", Labels: []string{"decoder"}, Unit: smitext.Percent},
	{Word: "utilization.jpeg", Metric: "engine_utilization_ratio", Labels: []string{"jpeg"}, Unit: smitext.Percent},
	{Word: "utilization.ofa", Metric: "engine_utilization_ratio", Labels: []string{"ofa"}, Unit: smitext.Percent},
	{Word: "ecc.mode.current", Metric: "ecc_enabled", Labels: []string{""}, Words: map[string]float64{"enabled": 1, "disabled": 0}},
	{Word: "ecc.errors.corrected.volatile.total", Metric: "ecc_errors_total", Labels: []string{"", "correctable"}},
	{Word: "ecc.errors.uncorrected.volatile.total", Metric: "ecc_errors_total", Labels: []string{"", "uncorrectable"}},
	{Word: "ecc.errors.corrected.aggregate.total", Metric: "ecc_lifetime_errors_total", Labels: []string{"", "correctable"}},
	{Word: "ecc.errors.uncorrected.aggregate.total", Metric: "ecc_lifetime_errors_total", Labels: []string{"", "uncorrectable"}},
	// Older cards retire pages, newer ones take other rows of the memory in their place.
	{Word: "remapped_rows.correctable", Metric: "ecc_retired_pages", Labels: []string{"dram", "correctable"}},
	{Word: "remapped_rows.uncorrectable", Metric: "ecc_retired_pages", Labels: []string{"dram", "uncorrectable"}},
	{Word: "remapped_rows.pending", Metric: "ecc_pending_pages", Labels: []string{"dram", ""}, Words: yesNo},
	{Word: "retired_pages.single_bit_ecc.count", Metric: "ecc_retired_pages", Labels: []string{"dram", "correctable"}},
	{Word: "retired_pages.double_bit.count", Metric: "ecc_retired_pages", Labels: []string{"dram", "uncorrectable"}},
	{Word: "retired_pages.pending", Metric: "ecc_pending_pages", Labels: []string{"dram", ""}, Words: yesNo},
	{Word: "pcie.link.gen.current", Metric: "pcie_link_transfers_per_second", Words: smitext.PCIeGenerations()},
	{Word: "pcie.link.gen.max", Metric: "pcie_link_transfers_per_second_max", Words: smitext.PCIeGenerations()},
	{Word: "pcie.link.width.current", Metric: "pcie_link_width", NotZero: true},
	{Word: "pcie.link.width.max", Metric: "pcie_link_width_max", NotZero: true},
}, throttled("clocks_event_reasons."), throttled("clocks_throttle_reasons."))

// yesNo: NVIDIA prints whether pages wait for a restart, not how many.
var yesNo = map[string]float64{"yes": 1, "no": 0}

// throttled are the reasons for a low clock: fields of drivers from about 535 on, or of older ones. What is no fault has
// the other vendors' name.
func throttled(prefix string) smitext.Rows {
	var rows smitext.Rows
	states := map[string]float64{"active": 1, "not active": 0}
	for _, reason := range [][2]string{
		{"gpu_idle", "idle"},
		{"applications_clocks_setting", "applications_limit"},
		{"sw_power_cap", "sw_power_cap"},
		{"sw_thermal_slowdown", "sw_thermal_slowdown"},
		{"sync_boost", "sync_boost"},
		{"hw_slowdown", "hw_slowdown"},
		{"hw_thermal_slowdown", "hw_thermal_slowdown"},
		{"hw_power_brake_slowdown", "hw_power_brake_slowdown"},
	} {
		rows = append(rows, smitext.Row{Word: prefix + reason[0], Metric: "throttled", Labels: []string{reason[1]}, Words: states})
	}
	return rows
}
