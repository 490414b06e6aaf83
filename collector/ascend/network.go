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
	port := func(command string, rows smitext.Rows, d model.Command) model.Command {
		d.Network, d.Scope, d.When, d.Args = true, model.Die, hasChip, rocePort(command)
		if d.Parse == nil {
			d.Parse = parseText(rows, askedPort)
		}
		return d
	}
	return []model.Command{
		port("-link", linkStatusRows, model.Command{Name: "hccn_link", Every: time.Minute, Lean: true}),
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
		if !smitext.IsIndex(d.ID) {
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
	upDown         = map[string]float64{"up": 1, "down": 0}
	linkStatusRows = smitext.Rows{{Word: "link status", Metric: "network_up", Labels: []string{"", ""}, Words: upDown}}
)

func speedRows(udie, port string) smitext.Rows {
	return smitext.Rows{{Word: "speed", Metric: "network_speed_bits_per_second", Labels: []string{udie, port}, Unit: smitext.BitRate}}
}

func linkStatRows(udie, port string) smitext.Rows {
	return smitext.Rows{
		{Word: "link up count", Metric: "network_link_changes_total", Labels: []string{udie, port, "up"}},
		{Word: "link down count", Metric: "network_link_changes_total", Labels: []string{udie, port, "down"}},
	}
}

var (
	// Without an address to try, or while one is being set, the tool has tried nothing, and the
	// network is neither healthy nor not.
	netHealthStates = map[string]float64{
		"success": 1, "socket fail": 0, "socket failed": 0, "receive timeout": 0, "unreachable": 0, "time exceeded": 0,
		"fault": 0, "thread error": 0, "init": math.NaN(), "detect ip set": math.NaN(), "unknown": math.NaN(),
	}
	netHealthRows = smitext.Rows{
		{Word: "net health status", Metric: "network_healthy", Words: netHealthStates},
		{Word: "net health status", Metric: "network_health_info", Labels: []string{"*"}, Words: netHealthStates, Form: smitext.FormText},
	}
)

// statRows leave out what adds up: mac_*_pfc_pkt_num is the sum of the priorities.
var statRows = smitext.Rows{
	{Word: "mac_rx_fcs_err_pkt_num", Metric: "network_fcs_errors_total"},
	{Word: "mac_rx_mac_pause_num", Metric: "network_pause_frames_total", Labels: []string{"receive"}},
	{Word: "mac_tx_mac_pause_num", Metric: "network_pause_frames_total", Labels: []string{"transmit"}},
	{Word: "mac_rx_pfc_pri*_pkt_num", Metric: "network_pfc_frames_total", Labels: []string{"receive", "*"}},
	{Word: "mac_tx_pfc_pri*_pkt_num", Metric: "network_pfc_frames_total", Labels: []string{"transmit", "*"}},
	{Word: "mac_rx_total_pkt_num", Metric: "network_packets_total", Labels: []string{"receive"}},
	{Word: "mac_tx_total_pkt_num", Metric: "network_packets_total", Labels: []string{"transmit"}},
	{Word: "mac_rx_total_oct_num", Metric: "network_bytes_total", Labels: []string{"receive"}},
	{Word: "mac_tx_total_oct_num", Metric: "network_bytes_total", Labels: []string{"transmit"}},
	{Word: "mac_rx_bad_pkt_num", Metric: "network_bad_packets_total", Labels: []string{"receive"}},
	{Word: "mac_tx_bad_pkt_num", Metric: "network_bad_packets_total", Labels: []string{"transmit"}},
	{Word: "mac_rx_bad_oct_num", Metric: "network_bad_bytes_total", Labels: []string{"receive"}},
	{Word: "mac_tx_bad_oct_num", Metric: "network_bad_bytes_total", Labels: []string{"transmit"}},
	{Word: "roce_rx_all_pkt_num", Metric: "roce_packets_total", Labels: []string{"receive", "all"}},
	{Word: "roce_tx_all_pkt_num", Metric: "roce_packets_total", Labels: []string{"transmit", "all"}},
	{Word: "roce_rx_rc_pkt_num", Metric: "roce_packets_total", Labels: []string{"receive", "rc"}},
	{Word: "roce_tx_rc_pkt_num", Metric: "roce_packets_total", Labels: []string{"transmit", "rc"}},
	{Word: "roce_rx_err_pkt_num", Metric: "roce_packets_total", Labels: []string{"receive", "err"}},
	{Word: "roce_tx_err_pkt_num", Metric: "roce_packets_total", Labels: []string{"transmit", "err"}},
	{Word: "roce_rx_cnp_pkt_num", Metric: "roce_packets_total", Labels: []string{"receive", "cnp"}},
	{Word: "roce_tx_cnp_pkt_num", Metric: "roce_packets_total", Labels: []string{"transmit", "cnp"}},
	{Word: "roce_ecn_db_num", Metric: "roce_ecn_total"},
	{Word: "roce_new_pkt_rty_num", Metric: "roce_events_total", Labels: []string{"retransmit"}},
	{Word: "roce_out_of_order_num", Metric: "roce_events_total", Labels: []string{"out_of_order"}},
	{Word: "roce_qp_status_err_num", Metric: "roce_events_total", Labels: []string{"qp_status"}},
	{Word: "roce_unexpected_ack_num", Metric: "roce_events_total", Labels: []string{"unexpected_ack"}},
	{Word: "roce_verification_err_num", Metric: "roce_events_total", Labels: []string{"verification"}},
}

// opticalRows: older tools print one lane, and not which. A limit of 0 is one that the module
// does not have; only that of cold may be 0.
var opticalRows = smitext.Rows{
	{Word: "present", Metric: "optical_present", Words: map[string]float64{"present": 1, "not present": 0}},
	{Word: "temp high thres", Metric: "optical_temperature_limit_celsius", Labels: []string{"high"}, Unit: smitext.Celsius, NotZero: true},
	{Word: "temp low thres", Metric: "optical_temperature_limit_celsius", Labels: []string{"low"}, Unit: smitext.Celsius},
	{Word: "vcc high thres", Metric: "optical_voltage_limit_volts", Labels: []string{"high"}, Unit: smitext.Volts, NotZero: true},
	{Word: "vcc low thres", Metric: "optical_voltage_limit_volts", Labels: []string{"low"}, Unit: smitext.Volts, NotZero: true},
	{Word: "temperature", Metric: "optical_temperature_celsius", Unit: smitext.Celsius},
	{Word: "vcc", Metric: "optical_volts", Unit: smitext.Volts},
	{Word: "tx bias", Metric: "optical_bias_amperes", Labels: []string{""}, Unit: smitext.Amperes},
	{Word: "tx bias*", Metric: "optical_bias_amperes", Labels: []string{"*"}, Unit: smitext.Amperes},
	{Word: "host snr lane*", Metric: "optical_snr_decibels", Labels: []string{"host", "*"}, Unit: smitext.Decibels},
	{Word: "media snr lane*", Metric: "optical_snr_decibels", Labels: []string{"media", "*"}, Unit: smitext.Decibels},
	{Word: "rx los flag", Metric: "optical_signal_lost", Labels: []string{"receive", "*"}, Form: smitext.FormBits, Lanes: "rx power*"},
	{Word: "tx los flag", Metric: "optical_signal_lost", Labels: []string{"transmit", "*"}, Form: smitext.FormBits, Lanes: "tx power*"},
	{Word: "rxpower high thres", Metric: "optical_power_limit_watts", Labels: []string{"receive", "high"}, Unit: smitext.Watts, NotZero: true},
	{Word: "txpower high thres", Metric: "optical_power_limit_watts", Labels: []string{"transmit", "high"}, Unit: smitext.Watts, NotZero: true},
	{Word: "rxpower low thres", Metric: "optical_power_limit_watts", Labels: []string{"receive", "low"}, Unit: smitext.Watts, NotZero: true},
	{Word: "txpower low thres", Metric: "optical_power_limit_watts", Labels: []string{"transmit", "low"}, Unit: smitext.Watts, NotZero: true},
	{Word: "rx power", Metric: "optical_power_watts", Labels: []string{"receive", ""}, Unit: smitext.Watts},
	{Word: "tx power", Metric: "optical_power_watts", Labels: []string{"transmit", ""}, Unit: smitext.Watts},
	{Word: "rx power*", Metric: "optical_power_watts", Labels: []string{"receive", "*"}, Unit: smitext.Watts},
	{Word: "tx power*", Metric: "optical_power_watts", Labels: []string{"transmit", "*"}, Unit: smitext.Watts},
}

var noModule = regexp.MustCompile(`(?im)^\s*Optical module is not present\.\s*$`)

// parseOptical reads what -optical prints. Where there is no module, that is a sentence on
// standard error, or the values beside it are those of none.
func parseOptical(out []byte, cards []model.Device) (model.Report, error) {
	absent := model.Readings{{Metric: "optical_present", Value: 0}}
	report, err := opticalRows.ReadCards(smitext.ReadKeyValues(out), askedPort, cards)
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
