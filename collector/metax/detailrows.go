package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// summaryRows read mx-smi -s.
var summaryRows = []smitext.KeyRow{
	row("Utilization", "vpue", "engine_utilization_ratio", smitext.Percent, "vpu_encode"),
	row("Utilization", "vpud", "engine_utilization_ratio", smitext.Percent, "vpu_decode"),
	row("Chip Temperature", "hotspot", "temperature_celsius", smitext.Celsius, "hotspot"),
	row("Board Temperature", "drmos_soc", "temperature_celsius", smitext.Celsius, "board_soc"),
	row("Board Temperature", "drmos_core", "temperature_celsius", smitext.Celsius, "board_core"),
	row("Board Temperature", "tdiode", "temperature_celsius", smitext.Celsius, "tdiode"),
	row("Board Temperature", "air-inlet", "temperature_celsius", smitext.Celsius, "air_inlet"),
	row("Board Temperature", "air-outlet", "temperature_celsius", smitext.Celsius, "air_outlet"),
	row("Board Voltage", "way *", "rail_volts", smitext.Volts, "way*"),
	row("Board Current", "way *", "rail_amperes", smitext.Amperes, "way*"),
	row("Board Power", "way *", "rail_power_watts", smitext.Watts, "way*"),
	row("Board Power", "total", "power_watts", smitext.Watts),
	row("Board Power", "limit", "power_limit_watts", smitext.Watts).NotZero(),
	row("DPM current performance level", "xcore", "performance_level", smitext.Count),
	row("Clocks/XCORE", "xcore_clk", "clock_hertz", smitext.Hertz, "core"),
	row("Clocks/MC0", "mc0_dficlk", "clock_hertz", smitext.Hertz, "memory"),
	row("Clocks/VPUE", "vpu_encclk", "clock_hertz", smitext.Hertz, "vpu_encode"),
	row("Clocks/VPUD", "vpu_decclk0", "clock_hertz", smitext.Hertz, "vpu_decode"),
	row("Pmbus Voltage", "soc", "rail_volts", smitext.Volts, "soc"),
	row("Pmbus Voltage", "core", "rail_volts", smitext.Volts, "core"),
	row("Pmbus Voltage", "hbm", "rail_volts", smitext.Volts, "hbm"),
	row("Pmbus Voltage", "pcie", "rail_volts", smitext.Volts, "pcie"),
	row("Pmbus Current", "soc", "rail_amperes", smitext.Amperes, "soc"),
	row("Pmbus Current", "core", "rail_amperes", smitext.Amperes, "core"),
	row("Pmbus Current", "hbm", "rail_amperes", smitext.Amperes, "hbm"),
	row("Pmbus Current", "pcie", "rail_amperes", smitext.Amperes, "pcie"),
	row("Pmbus Power", "soc", "rail_power_watts", smitext.Watts, "soc"),
	row("Pmbus Power", "core", "rail_power_watts", smitext.Watts, "core"),
	row("Pmbus Power", "hbm", "rail_power_watts", smitext.Watts, "hbm"),
	row("Pmbus Power", "pcie", "rail_power_watts", smitext.Watts, "pcie"),
	row("Memory", "vram total", "memory_total_bytes", smitext.Bytes, "vram").NotZero(),
	row("Memory", "vram used", "memory_used_bytes", smitext.Bytes, "vram").Within("memory_total_bytes"),
	row("Memory", "xtt total", "memory_total_bytes", smitext.Bytes, "host_mapped").NotZero(),
	row("Memory", "xtt used", "memory_used_bytes", smitext.Bytes, "host_mapped").Within("memory_total_bytes"),
}

// counterRows read the sections of all flags that print counters and states.
var counterRows = []smitext.KeyRow{
	row("ECC Errors", "sram correctable", "ecc_errors_total", smitext.Count, "sram", "correctable").NoUnderflow(),
	row("ECC Errors", "sram uncorrectable", "ecc_errors_total", smitext.Count, "sram", "uncorrectable").NoUnderflow(),
	row("ECC Errors", "dram correctable", "ecc_errors_total", smitext.Count, "dram", "correctable").NoUnderflow(),
	row("ECC Errors", "dram uncorrectable", "ecc_errors_total", smitext.Count, "dram", "uncorrectable").NoUnderflow(),
	row("Retired Pages", "double bit ecc", "ecc_retired_pages", smitext.Pages, "dram", "uncorrectable").InUnit("page"),
	row("Ecc state", "state", "ecc_enabled", smitext.Count, "").WithWords(map[string]float64{"enable": 1, "disable": 0}),
	row("Pcie Info", "current speed", "pcie_link_transfers_per_second", smitext.Transfers).NotZero(),
	row("Pcie Info", "current width", "pcie_link_width", smitext.Lanes).NotZero(),
	row("Pcie Info", "max speed", "pcie_link_transfers_per_second_max", smitext.Transfers).NotZero(),
	row("Pcie Info", "max width", "pcie_link_width_max", smitext.Lanes).NotZero(),
	row("Pcie Bandwidth", "rx", "pcie_bytes_per_second", smitext.ByteRate, "receive"),
	row("Pcie Bandwidth", "tx", "pcie_bytes_per_second", smitext.ByteRate, "transmit"),
	row("Hbm Bandwidth", "throughput", "memory_bandwidth_bytes_per_second", smitext.ByteRate, "vram"),
	throttled("idle"),
	throttled("applications limit"),
	throttled("over power"),
	throttled("chip over temperature"),
	throttled("vr over temperature"),
	throttled("hbm over temperature"),
	throttled("thermal over temperature"),
	throttled("pcc"),
	throttled("power brake"),
	throttled("didt"),
	throttled("low usage"),
	throttled("other"),
}

func row(section, key string, m model.Metric, u smitext.Unit, labels ...string) smitext.KeyRow {
	return smitext.Key(key, m, u, labels...).Under(section)
}

func throttled(reason string) smitext.KeyRow {
	r := row("Xcore Clocks Throttle Reason", reason, "throttled", smitext.Count, strings.ReplaceAll(reason, " ", "_"))
	return r.WithWords(map[string]float64{"active": 1, "not active": 0})
}
