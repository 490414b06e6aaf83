package ascend

import (
	"bytes"
	"fmt"
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// networkTools are hccn_tool's name and where the driver's package puts it.
func networkTools() []string {
	return []string{"hccn_tool", "/usr/local/Ascend/driver/tools/hccn_tool"}
}

// networkDetails are the commands of hccn_tool: those of a die's one RoCE port, and for
// Ascend 950 the one that tells of all ports.
func networkDetails() []smi.Detail {
	port := func(name, command string, d smi.Detail, rows []detail.Row) smi.Detail {
		d.Name, d.Network, d.Scope, d.When = name, true, smi.Die, hasChip
		d.Args, d.Parse = rocePort(command), parseText(rows, askedPort)
		return d
	}
	return []smi.Detail{
		port("hccn_link", "-link", smi.Detail{Every: smi.Minute, Lean: true}, linkRows()),
		port("hccn_stat", "-stat", smi.Detail{Every: smi.Minute, Lean: true}, statRows()),
		port("hccn_link_stat", "-link_stat", smi.Detail{Every: smi.FiveMinutes}, linkStatRows("", "")),
		port("hccn_net_health", "-net_health", smi.Detail{Every: smi.FiveMinutes}, netHealthRows()),
		optical(port("hccn_optical", "-optical", smi.Detail{Every: smi.FiveMinutes, Stderr: true}, opticalRows())),
		port("hccn_speed", "-speed", smi.Detail{Every: smi.Hour}, speedRows()),
		devInfo(),
	}
}

// rocePort asks for a die's port by the die's physical id, which the device is called by
// where it has one.
func rocePort(command string) func(model.Device) [][]string {
	return func(d model.Device) [][]string {
		if _, ok := printed.Index(d.ID); !ok {
			return nil
		}
		return [][]string{{"-i", d.ID, command, "-g"}}
	}
}

// askedPort finds the die of an answer about one port.
func askedPort(b *keyvalue.Block, cards []model.Device) (int, error) {
	if len(cards) != 1 || b.Card != "" && b.Card != cards[0].ID {
		return -1, fmt.Errorf("the output is about the device %.20q, which was not asked for", b.Card)
	}
	return 0, nil
}

func linkRows() []detail.Row {
	return []detail.Row{detail.Key("link status", "network_up", printed.Count, "", "").Of(upDown())}
}

func upDown() map[string]float64 { return map[string]float64{"up": 1, "down": 0} }

func speedRows() []detail.Row {
	return []detail.Row{detail.Key("speed", "network_speed_bits_per_second", printed.BitRate, "", "")}
}

func linkStatRows(udie, port string) []detail.Row {
	return []detail.Row{
		detail.Key("link up count", "network_link_changes_total", printed.Count, udie, port, "up"),
		detail.Key("link down count", "network_link_changes_total", printed.Count, udie, port, "down"),
	}
}

// netHealthRows: without an address to try, or while one is being set, the tool has tried
// nothing, and the network is neither healthy nor not.
func netHealthRows() []detail.Row {
	states := map[string]float64{
		"success": 1, "socket fail": 0, "socket failed": 0, "receive timeout": 0, "unreachable": 0, "time exceeded": 0,
		"fault": 0, "thread error": 0, "init": math.NaN(), "detect ip set": math.NaN(), "unknown": math.NaN(),
	}
	const key = "net health status"
	return []detail.Row{
		detail.Key(key, "network_healthy", printed.Count).Of(states),
		detail.Key(key, "network_health_info", printed.Count, "*").Of(states).As(detail.Text),
	}
}

// statRows leave out what adds up: mac_*_pfc_pkt_num is the sum of the priorities.
func statRows() []detail.Row {
	rows := []detail.Row{
		detail.Key("mac_rx_fcs_err_pkt_num", "network_fcs_errors_total", printed.Count),
		detail.Key("roce_ecn_db_num", "roce_ecn_total", printed.Count),
	}
	for _, d := range [][2]string{{"rx", "receive"}, {"tx", "transmit"}} {
		mac, roce, direction := "mac_"+d[0]+"_", "roce_"+d[0]+"_", d[1]
		rows = append(rows,
			detail.Key(mac+"mac_pause_num", "network_pause_frames_total", printed.Count, direction),
			detail.Key(mac+"pfc_pri*_pkt_num", "network_pfc_frames_total", printed.Count, direction, "*"),
			detail.Key(mac+"total_pkt_num", "network_packets_total", printed.Count, direction),
			detail.Key(mac+"total_oct_num", "network_bytes_total", printed.Count, direction),
			detail.Key(mac+"bad_pkt_num", "network_bad_packets_total", printed.Count, direction),
			detail.Key(mac+"bad_oct_num", "network_bad_bytes_total", printed.Count, direction))
		for _, kind := range []string{"all", "rc", "err", "cnp"} {
			rows = append(rows, detail.Key(roce+kind+"_pkt_num", "roce_packets_total", printed.Count, direction, kind))
		}
	}
	for _, e := range [][2]string{
		{"new_pkt_rty", "retransmit"},
		{"out_of_order", "out_of_order"},
		{"qp_status_err", "qp_status"},
		{"unexpected_ack", "unexpected_ack"},
		{"verification_err", "verification"},
	} {
		rows = append(rows, detail.Key("roce_"+e[0]+"_num", "roce_events_total", printed.Count, e[1]))
	}
	return rows
}

// opticalRows: older tools print one lane, and not which. A limit of 0 is one that the module
// does not tell; only that of cold may be 0.
func opticalRows() []detail.Row {
	present := detail.Key("present", "optical_present", printed.Count).Of(map[string]float64{"present": 1, "not present": 0})
	present.Gate = true
	rows := []detail.Row{
		present,
		detail.Key("temp high thres", "optical_temperature_limit_celsius", printed.Celsius, "high").NotZero(),
		detail.Key("temp low thres", "optical_temperature_limit_celsius", printed.Celsius, "low"),
		detail.Key("vcc high thres", "optical_voltage_limit_volts", printed.Volts, "high").NotZero(),
		detail.Key("vcc low thres", "optical_voltage_limit_volts", printed.Volts, "low").NotZero(),
		detail.Key("temperature", "optical_temperature_celsius", printed.Celsius),
		detail.Key("vcc", "optical_volts", printed.Volts),
		detail.Key("tx bias", "optical_bias_amperes", printed.Amperes, ""),
		detail.Key("tx bias*", "optical_bias_amperes", printed.Amperes, "*"),
		detail.Key("host snr lane*", "optical_snr_decibels", printed.Decibels, "host", "*"),
		detail.Key("media snr lane*", "optical_snr_decibels", printed.Decibels, "media", "*"),
	}
	for _, d := range [][2]string{{"rx", "receive"}, {"tx", "transmit"}} {
		lost := detail.Key(d[0]+" los flag", "optical_signal_lost", printed.Count, d[1], "*").As(detail.Bits)
		lost.Lanes = d[0] + " power*"
		rows = append(rows, lost,
			detail.Key(d[0]+"power high thres", "optical_power_limit_watts", printed.Watts, d[1], "high").NotZero(),
			detail.Key(d[0]+"power low thres", "optical_power_limit_watts", printed.Watts, d[1], "low").NotZero(),
			detail.Key(d[0]+" power", "optical_power_watts", printed.Watts, d[1], ""),
			detail.Key(d[0]+" power*", "optical_power_watts", printed.Watts, d[1], "*"))
	}
	return rows
}

// optical adds the other answer where there is no module: a sentence on standard error.
func optical(d smi.Detail) smi.Detail {
	parse := d.Parse
	d.Parse = func(out []byte, cards []model.Device) ([]smi.Told, error) {
		told, err := parse(out, cards)
		if err != nil && len(cards) == 1 && saysNoModule(out) {
			return []smi.Told{{Device: cards[0].ID, Readings: model.Readings{{Metric: "optical_present", Value: 0}}}}, nil
		}
		return told, err
	}
	return d
}

func saysNoModule(out []byte) bool {
	for line := range bytes.Lines(out) {
		if bytes.EqualFold(bytes.TrimSpace(line), []byte("Optical module is not present.")) {
			return true
		}
	}
	return false
}

// ClassifyNetwork returns what an error text of hccn_tool means. Most go to stderr, and
// exit statuses collide, so the sentence decides.
func ClassifyNetwork(text []byte) (failure.Reason, string, bool) {
	return failure.Match(text, append(failure.LoaderPatterns(), []failure.Pattern{
		{Text: "hccn_tool is busy", Reason: failure.Busy},
		{Text: "i2c is busy", Reason: failure.Busy},
		{Text: "Control link unreachable", Reason: failure.Busy}, // the other die reads the module
		{Text: "is not supported on this product", Reason: failure.Unsupported},
		{Text: "Optical module is not present", Reason: failure.Unsupported}, // to -optical, an answer
		{Text: "permission denied", Reason: failure.Permission},
		{Text: "The device is not exist", Reason: failure.NoDevice},
		{Text: "Get device health status failed", Reason: failure.Driver},
	}...))
}
