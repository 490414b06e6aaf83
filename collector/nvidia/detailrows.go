package nvidia

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// detailRows read the values of the details query, of those fields that the driver has.
var detailRows = slices.Concat([]smitext.KeyRow{
	smitext.Key("clocks.current.graphics", "clock_hertz", smitext.Hertz, "core"),
	smitext.Key("clocks.current.sm", "clock_hertz", smitext.Hertz, "sm"),
	smitext.Key("clocks.current.memory", "clock_hertz", smitext.Hertz, "memory"),
	smitext.Key("clocks.current.video", "clock_hertz", smitext.Hertz, "video"),
	smitext.Key("temperature.memory", "temperature_celsius", smitext.Celsius, "hbm").InUnit("C"),
	smitext.Key("utilization.memory", "engine_utilization_ratio", smitext.Percent, "memory"),
	smitext.Key("utilization.encoder", "engine_utilization_ratio", smitext.Percent, "encoder"),
	smitext.Key("utilization.decoder", "engine_utilization_ratio", smitext.Percent, "decoder"),
	smitext.Key("utilization.jpeg", "engine_utilization_ratio", smitext.Percent, "jpeg"),
	smitext.Key("utilization.ofa", "engine_utilization_ratio", smitext.Percent, "ofa"),
	smitext.Key("ecc.mode.current", "ecc_enabled", smitext.Count, "").WithWords(map[string]float64{"enabled": 1, "disabled": 0}),
	smitext.Key("ecc.errors.corrected.volatile.total", "ecc_errors_total", smitext.Count, "", "correctable"),
	smitext.Key("ecc.errors.uncorrected.volatile.total", "ecc_errors_total", smitext.Count, "", "uncorrectable"),
	smitext.Key("ecc.errors.corrected.aggregate.total", "ecc_lifetime_errors_total", smitext.Count, "", "correctable"),
	smitext.Key("ecc.errors.uncorrected.aggregate.total", "ecc_lifetime_errors_total", smitext.Count, "", "uncorrectable"),
	// Older cards retire pages, newer ones take other rows of the memory in their place.
	smitext.Key("remapped_rows.correctable", "ecc_retired_pages", smitext.Count, "dram", "correctable"),
	smitext.Key("remapped_rows.uncorrectable", "ecc_retired_pages", smitext.Count, "dram", "uncorrectable"),
	smitext.Key("remapped_rows.pending", "ecc_pending_pages", smitext.Count, "dram", "").WithWords(yesNo),
	smitext.Key("retired_pages.single_bit_ecc.count", "ecc_retired_pages", smitext.Count, "dram", "correctable"),
	smitext.Key("retired_pages.double_bit.count", "ecc_retired_pages", smitext.Count, "dram", "uncorrectable"),
	smitext.Key("retired_pages.pending", "ecc_pending_pages", smitext.Count, "dram", "").WithWords(yesNo),
	smitext.Key("pcie.link.gen.current", "pcie_link_transfers_per_second", smitext.Transfers).WithWords(generations),
	smitext.Key("pcie.link.gen.max", "pcie_link_transfers_per_second_max", smitext.Transfers).WithWords(generations),
	smitext.Key("pcie.link.width.current", "pcie_link_width", smitext.Count).NotZero(),
	smitext.Key("pcie.link.width.max", "pcie_link_width_max", smitext.Count).NotZero(),
}, throttled("clocks_event_reasons."), throttled("clocks_throttle_reasons."))

// yesNo: NVIDIA prints whether pages wait for a restart, not how many.
var yesNo = map[string]float64{"yes": 1, "no": 0}

// generations of PCIe are transfers a second.
var generations = map[string]float64{"1": 2.5e9, "2": 5e9, "3": 8e9, "4": 16e9, "5": 32e9, "6": 64e9}

// throttled are the reasons for a low clock: fields of drivers from about 535 on, or of older ones. What is no fault has
// the other vendors' name.
func throttled(prefix string) []smitext.KeyRow {
	var rows []smitext.KeyRow
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
		r := smitext.Key(prefix+reason[0], "throttled", smitext.Count, reason[1])
		rows = append(rows, r.WithWords(map[string]float64{"active": 1, "not active": 0}))
	}
	return rows
}
