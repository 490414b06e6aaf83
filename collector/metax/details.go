package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// details are the deeper commands of mx-smi, each of which answers for all cards.
func details() []smi.Detail {
	return []smi.Detail{
		{Name: "summary", Args: args("-s"), Every: smi.HalfMinute, Lean: true, Parse: parseText(summaryRows())},
		{Name: "counters", Args: args(), Flags: []string{
			"--count-ecc", "--show-ecc-state", "--show-clk-tr", "--show-pcie", "--show-pcie-bandwidth", "--show-hbm-bandwidth",
		}, Every: smi.Minute, Lean: true, Parse: parseText(counterRows())},
		{Name: "json", Args: args("-j"), Every: smi.Minute, Lean: true, Parse: parseJSON},
	}
}

func args(all ...string) func(model.Device) [][]string {
	return func(model.Device) [][]string { return [][]string{all} }
}

// parseText reads the sections below each GPU# line.
func parseText(rows []detail.Row) func([]byte, []model.Device) ([]smi.Told, error) {
	return func(out []byte, cards []model.Device) ([]smi.Told, error) {
		if err := foreign(out); err != nil {
			return nil, err
		}
		return detail.Parse(keyvalue.Read(out), rows, owner, cards)
	}
}

// foreign returns an error where the lines before the first card are another tool's.
func foreign(out []byte) error {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "GPU#") {
			return nil
		}
		if err := checkBanner(line); err != nil {
			return err
		}
	}
	return nil
}

// owner finds the card by number and bus id: numbers move up when a card falls off
// the bus.
func owner(b *keyvalue.Block, cards []model.Device) (int, error) {
	for i, d := range cards {
		sameNumber := b.Card == d.ID
		sameBus := b.BusID != "" && strings.EqualFold(b.BusID, d.BusID)
		noBus := b.BusID == "" || d.BusID == ""
		if sameBus && (sameNumber || b.Card == "") || sameNumber && noBus {
			return i, nil
		}
	}
	return -1, nil
}

// summaryRows read mx-smi -s.
func summaryRows() []detail.Row {
	rows := []detail.Row{
		row("Utilization", "vpue", "engine_utilization_ratio", printed.Percent, "vpu_encode"),
		row("Utilization", "vpud", "engine_utilization_ratio", printed.Percent, "vpu_decode"),
		row("Chip Temperature", "hotspot", "temperature_celsius", printed.Celsius, "hotspot"),
		row("Board Temperature", "drmos_soc", "temperature_celsius", printed.Celsius, "board_soc"),
		row("Board Temperature", "drmos_core", "temperature_celsius", printed.Celsius, "board_core"),
		row("Board Temperature", "tdiode", "temperature_celsius", printed.Celsius, "tdiode"),
		row("Board Temperature", "air-inlet", "temperature_celsius", printed.Celsius, "air_inlet"),
		row("Board Temperature", "air-outlet", "temperature_celsius", printed.Celsius, "air_outlet"),
		row("Board Voltage", "way *", "rail_volts", printed.Volts, "way*"),
		row("Board Current", "way *", "rail_amperes", printed.Amperes, "way*"),
		row("Board Power", "way *", "rail_power_watts", printed.Watts, "way*"),
		row("Board Power", "total", "power_watts", printed.Watts),
		row("Board Power", "limit", "power_limit_watts", printed.Watts).NotZero(),
		row("DPM current performance level", "xcore", "performance_level", printed.Count),
		row("Clocks/XCORE", "xcore_clk", "clock_hertz", printed.Hertz, "core"),
		row("Clocks/MC0", "mc0_dficlk", "clock_hertz", printed.Hertz, "memory"),
		row("Clocks/VPUE", "vpu_encclk", "clock_hertz", printed.Hertz, "vpu_encode"),
		row("Clocks/VPUD", "vpu_decclk0", "clock_hertz", printed.Hertz, "vpu_decode"),
	}
	for _, rail := range []string{"soc", "core", "hbm", "pcie"} {
		rows = append(rows,
			row("Pmbus Voltage", rail, "rail_volts", printed.Volts, rail),
			row("Pmbus Current", rail, "rail_amperes", printed.Amperes, rail),
			row("Pmbus Power", rail, "rail_power_watts", printed.Watts, rail))
	}
	for _, m := range []struct{ key, label string }{{"vram", "vram"}, {"xtt", "host_mapped"}} {
		used := row("Memory", m.key+" used", "memory_used_bytes", printed.Bytes, m.label)
		used.Total = "memory_total_bytes"
		rows = append(rows, used,
			row("Memory", m.key+" total", "memory_total_bytes", printed.Bytes, m.label).NotZero())
	}
	return rows
}

// counterRows read the sections of the flags of counters, whichever were accepted.
func counterRows() []detail.Row {
	rows := []detail.Row{
		row("ECC Errors", "sram correctable", "ecc_errors_total", printed.Count, "sram", "correctable"),
		row("ECC Errors", "sram uncorrectable", "ecc_errors_total", printed.Count, "sram", "uncorrectable"),
		row("ECC Errors", "dram correctable", "ecc_errors_total", printed.Count, "dram", "correctable"),
		row("ECC Errors", "dram uncorrectable", "ecc_errors_total", printed.Count, "dram", "uncorrectable"),
		row("Retired Pages", "double bit ecc", "ecc_retired_pages", printed.Pages, "dram", "uncorrectable").In("page"),
		row("Ecc state", "state", "ecc_enabled", printed.Count, "").Of(map[string]float64{"enable": 1, "disable": 0}),
		row("Pcie Info", "current speed", "pcie_link_transfers_per_second", printed.Transfers).NotZero(),
		row("Pcie Info", "current width", "pcie_link_width", printed.Lanes).NotZero(),
		row("Pcie Info", "max speed", "pcie_link_transfers_per_second_max", printed.Transfers).NotZero(),
		row("Pcie Info", "max width", "pcie_link_width_max", printed.Lanes).NotZero(),
		row("Pcie Bandwidth", "rx", "pcie_bytes_per_second", printed.ByteRate, "receive"),
		row("Pcie Bandwidth", "tx", "pcie_bytes_per_second", printed.ByteRate, "transmit"),
		row("Hbm Bandwidth", "throughput", "memory_bandwidth_bytes_per_second", printed.ByteRate, "vram"),
	}
	for _, reason := range []string{
		"idle", "applications limit", "over power", "chip over temperature", "vr over temperature", "hbm over temperature",
		"thermal over temperature", "pcc", "power brake", "didt", "low usage", "other",
	} {
		r := row("Xcore Clocks Throttle Reason", reason, "throttled", printed.Count, strings.ReplaceAll(reason, " ", "_"))
		rows = append(rows, r.Of(map[string]float64{"active": 1, "not active": 0}))
	}
	return rows
}

// jsonRows read the parts of mx-smi -j that no other text has.
func jsonRows() []detail.Row {
	rows := []detail.Row{
		row("ras_status", "*", "ras_status", printed.Count, "*").As(detail.Hex),
		row("ras_count", "corrected_error", "ras_errors_total", printed.Count, "correctable"),
		row("ras_count", "uncorrected_error", "ras_errors_total", printed.Count, "uncorrectable"),
	}
	for _, event := range []string{"aer_ue", "aer_ce", "synfld", "dbe", "mmio"} {
		rows = append(rows, row("pci_event_info", event, "pci_events_total", printed.Count, event))
	}
	return rows
}

func row(section, key string, m model.Metric, u printed.Unit, labels ...string) detail.Row {
	return detail.Key(key, m, u, labels...).Under(section)
}
