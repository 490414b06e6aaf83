package ascend

import (
	"math"
	"regexp"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// networkDetails are the commands of hccn_tool: those of a die's one RoCE port, and for
// Ascend 950 the one that answers for all ports.
func networkDetails() []model.Command {
	port := func(command string, rows []smitext.KeyRow, d model.Command) model.Command {
		d.Network, d.Scope, d.When, d.Args = true, model.Die, hasChip, rocePort(command)
		if d.Parse == nil {
			d.Parse = parseText(rows, askedPort)
		}
		return d
	}
	return []model.Command{
		port("-link", linkRows, model.Command{Name: "hccn_link", Every: time.Minute, Lean: true}),
		port("-stat", statRows, model.Command{Name: "hccn_stat", Every: time.Minute, Lean: true}),
		port("-link_stat", linkStatRows("", ""), model.Command{Name: "hccn_link_stat", Every: 5 * time.Minute}),
		port("-net_health", netHealthRows, model.Command{Name: "hccn_net_health", Every: 5 * time.Minute}),
		port("-optical", nil, model.Command{Name: "hccn_optical", Every: 5 * time.Minute, Stderr: true, Parse: parseOptical}),
		port("-speed", speedRows("", ""), model.Command{Name: "hccn_speed", Every: time.Hour}),
		devInfo(),
	}
}

// rocePort asks for a die's port by the die's physical id, which the device is called by
// where it has one.
func rocePort(command string) func(model.Device) [][]string {
	return func(d model.Device) [][]string {
		if _, ok := smitext.Index(d.ID); !ok {
			return nil
		}
		return [][]string{{"-i", d.ID, command, "-g"}}
	}
}

// askedPort finds the die of an answer about one port.
func askedPort(b *smitext.Block, cards []model.Device) int {
	if len(cards) != 1 || b.Card != "" && b.Card != cards[0].ID {
		return -1
	}
	return 0
}

var (
	upDown   = map[string]float64{"up": 1, "down": 0}
	linkRows = []smitext.KeyRow{row("link status", "network_up", smitext.Count, "", "").WithWords(upDown)}
)

func speedRows(udie, port string) []smitext.KeyRow {
	return []smitext.KeyRow{row("speed", "network_speed_bits_per_second", smitext.BitRate, udie, port)}
}

func linkStatRows(udie, port string) []smitext.KeyRow {
	return []smitext.KeyRow{
		row("link up count", "network_link_changes_total", smitext.Count, udie, port, "up"),
		row("link down count", "network_link_changes_total", smitext.Count, udie, port, "down"),
	}
}

var (
	// Without an address to try, or while one is being set, the tool has tried nothing, and the
	// network is neither healthy nor not.
	netHealthStates = map[string]float64{
		"success": 1, "socket fail": 0, "socket failed": 0, "receive timeout": 0, "unreachable": 0, "time exceeded": 0,
		"fault": 0, "thread error": 0, "init": math.NaN(), "detect ip set": math.NaN(), "unknown": math.NaN(),
	}
	netHealthRows = []smitext.KeyRow{
		row("net health status", "network_healthy", smitext.Count).WithWords(netHealthStates),
		row("net health status", "network_health_info", smitext.Count, "*").WithWords(netHealthStates).WithForm(smitext.FormText),
	}
)

// statRows leave out what adds up: mac_*_pfc_pkt_num is the sum of the priorities.
var statRows = []smitext.KeyRow{
	row("mac_rx_fcs_err_pkt_num", "network_fcs_errors_total", smitext.Count),
	row("mac_rx_mac_pause_num", "network_pause_frames_total", smitext.Count, "receive"),
	row("mac_tx_mac_pause_num", "network_pause_frames_total", smitext.Count, "transmit"),
	row("mac_rx_pfc_pri*_pkt_num", "network_pfc_frames_total", smitext.Count, "receive", "*"),
	row("mac_tx_pfc_pri*_pkt_num", "network_pfc_frames_total", smitext.Count, "transmit", "*"),
	row("mac_rx_total_pkt_num", "network_packets_total", smitext.Count, "receive"),
	row("mac_tx_total_pkt_num", "network_packets_total", smitext.Count, "transmit"),
	row("mac_rx_total_oct_num", "network_bytes_total", smitext.Count, "receive"),
	row("mac_tx_total_oct_num", "network_bytes_total", smitext.Count, "transmit"),
	row("mac_rx_bad_pkt_num", "network_bad_packets_total", smitext.Count, "receive"),
	row("mac_tx_bad_pkt_num", "network_bad_packets_total", smitext.Count, "transmit"),
	row("mac_rx_bad_oct_num", "network_bad_bytes_total", smitext.Count, "receive"),
	row("mac_tx_bad_oct_num", "network_bad_bytes_total", smitext.Count, "transmit"),
	row("roce_rx_all_pkt_num", "roce_packets_total", smitext.Count, "receive", "all"),
	row("roce_tx_all_pkt_num", "roce_packets_total", smitext.Count, "transmit", "all"),
	row("roce_rx_rc_pkt_num", "roce_packets_total", smitext.Count, "receive", "rc"),
	row("roce_tx_rc_pkt_num", "roce_packets_total", smitext.Count, "transmit", "rc"),
	row("roce_rx_err_pkt_num", "roce_packets_total", smitext.Count, "receive", "err"),
	row("roce_tx_err_pkt_num", "roce_packets_total", smitext.Count, "transmit", "err"),
	row("roce_rx_cnp_pkt_num", "roce_packets_total", smitext.Count, "receive", "cnp"),
	row("roce_tx_cnp_pkt_num", "roce_packets_total", smitext.Count, "transmit", "cnp"),
	row("roce_ecn_db_num", "roce_ecn_total", smitext.Count),
	row("roce_new_pkt_rty_num", "roce_events_total", smitext.Count, "retransmit"),
	row("roce_out_of_order_num", "roce_events_total", smitext.Count, "out_of_order"),
	row("roce_qp_status_err_num", "roce_events_total", smitext.Count, "qp_status"),
	row("roce_unexpected_ack_num", "roce_events_total", smitext.Count, "unexpected_ack"),
	row("roce_verification_err_num", "roce_events_total", smitext.Count, "verification"),
}

// opticalRows: older tools print one lane, and not which. A limit of 0 is one that the module
// does not have; only that of cold may be 0.
var opticalRows = []smitext.KeyRow{
	row("present", "optical_present", smitext.Count).WithWords(map[string]float64{"present": 1, "not present": 0}),
	row("temp high thres", "optical_temperature_limit_celsius", smitext.Celsius, "high").NotZero(),
	row("temp low thres", "optical_temperature_limit_celsius", smitext.Celsius, "low"),
	row("vcc high thres", "optical_voltage_limit_volts", smitext.Volts, "high").NotZero(),
	row("vcc low thres", "optical_voltage_limit_volts", smitext.Volts, "low").NotZero(),
	row("temperature", "optical_temperature_celsius", smitext.Celsius),
	row("vcc", "optical_volts", smitext.Volts),
	row("tx bias", "optical_bias_amperes", smitext.Amperes, ""),
	row("tx bias*", "optical_bias_amperes", smitext.Amperes, "*"),
	row("host snr lane*", "optical_snr_decibels", smitext.Decibels, "host", "*"),
	row("media snr lane*", "optical_snr_decibels", smitext.Decibels, "media", "*"),
	row("rx los flag", "optical_signal_lost", smitext.Count, "receive", "*").WithLaneBits("rx power*"),
	row("tx los flag", "optical_signal_lost", smitext.Count, "transmit", "*").WithLaneBits("tx power*"),
	row("rxpower high thres", "optical_power_limit_watts", smitext.Watts, "receive", "high").NotZero(),
	row("txpower high thres", "optical_power_limit_watts", smitext.Watts, "transmit", "high").NotZero(),
	row("rxpower low thres", "optical_power_limit_watts", smitext.Watts, "receive", "low").NotZero(),
	row("txpower low thres", "optical_power_limit_watts", smitext.Watts, "transmit", "low").NotZero(),
	row("rx power", "optical_power_watts", smitext.Watts, "receive", ""),
	row("tx power", "optical_power_watts", smitext.Watts, "transmit", ""),
	row("rx power*", "optical_power_watts", smitext.Watts, "receive", "*"),
	row("tx power*", "optical_power_watts", smitext.Watts, "transmit", "*"),
}

var noModule = regexp.MustCompile(`(?im)^\s*Optical module is not present\.\s*$`)

// parseOptical reads what -optical prints. Where there is no module, that is a sentence on
// standard error, or the values beside it are those of none.
func parseOptical(out []byte, cards []model.Device) (model.Report, error) {
	absent := model.Readings{{Metric: "optical_present", Value: 0}}
	report, err := smitext.ParseKeys(smitext.ReadKeyValues(out), opticalRows, askedPort, cards)
	if err != nil && len(cards) == 1 && noModule.Match(out) {
		return model.Report{Devices: []model.Device{{ID: cards[0].ID, Readings: absent}}}, nil
	}
	for i := range report.Devices {
		if present, ok := report.Devices[i].Readings.Get("optical_present"); ok && present == 0 {
			report.Devices[i].Readings = absent
		}
	}
	return report, err
}

// ClassifyNetwork returns what an error text of hccn_tool means. Most go to stderr, and
// exit statuses collide, so the sentence decides.
func ClassifyNetwork(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
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
