package fakesmi_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

// wantAscend are the samples that a command of npu-smi or hccn_tool tells of a chip of a
// family: 310, 310p, 910a, 910b, a3 or 950. Alone is a chip that is asked about alone.
func wantAscend(s samples, family, name string, c *fakesmi.AscendCard, port string, alone bool) {
	add := func(metric string, v float64, labels ...string) { s.add(c.Device, metric, v, labels...) }
	is := func(families string) bool { return strings.Contains(" "+families+" ", " "+family+" ") }
	hbm := is("910a 910b a3 950")
	switch name {
	case "usages", "watch":
		wantUse(add, name, is, c)
	case "common":
		add("clock_hertz", 1e6*c.MHz, "core")
		add("clock_max_hertz", 1e6*c.RatedMHz, "core")
	case "ecc":
		if is("310 310p 910a") {
			wantECC(add, "ddr", is, c.DDR.ECC)
		}
		if hbm {
			wantECC(add, "hbm", is, c.HBM.ECC)
		}
	case "ecc_enable":
		switch {
		case c.Chip != "0": // the tool tells of the first one
		case is("310 310p 910a"):
			add("ecc_enabled", oneIf(c.DDR.ECCEnabled), "ddr")
		default:
			add("ecc_enabled", oneIf(c.HBM.ECCEnabled), "hbm")
		}
	case "hccs":
		if is("310p 910a 910b a3") {
			wantLinks(add, hbm, c.Links)
		}
	case "sensors":
		if family == "310" {
			return
		}
		add("temperature_celsius", rounded(c.SocMax, 0), "soc_max")
		if hbm {
			add("temperature_celsius", rounded(c.NDIE, 0), "ndie")
			add("temperature_celsius", rounded(c.HBM.Celsius, 0), "hbm")
			add("temperature_celsius", rounded(c.SFP, 0), "optical")
		}
	case "memory":
		if hbm {
			add("temperature_celsius", rounded(c.HBM.Celsius, 0), "hbm")
		}
	case "temp": // of the board, which is one chip's where there is one
		if is("310p 910a 910b a3") && alone {
			add("temperature_celsius", c.BoardCelsius[0], "lm75a_te")
			add("temperature_celsius", c.BoardCelsius[1], "lm75b_te")
		}
	case "volt":
		add("rail_volts", rounded(c.Volts, 2), "core")
	case "pcie_err":
		if family != "310" {
			e := c.PCIe
			for kind, n := range map[string]uint64{"tx": e.Send, "rx": e.Receive, "lcrc": e.LCRC, "ecrc": e.ECRC, "retry": e.Retries} {
				add("pcie_errors_total", float64(n), kind)
			}
		}
	case "sio_info":
		if is("a3 950") {
			add("sio_errors_total", float64(c.SIOSend), "transmit")
			add("sio_errors_total", float64(c.SIOReceive), "receive")
		}
	case "health":
		for _, code := range c.ErrorCodes {
			add("error_info", 1, code)
		}
	case "board":
		if is("310p 910b a3 950") && c.Chip == "0" { // the tool tells of the board, which is shown at the first one
			add("board_info", 1, c.Serial, "IT21EXAMPLE")
		}
	default:
		wantNetwork(add, family, name, c, port)
	}
}

type adder func(metric string, v float64, labels ...string)

func wantUse(add adder, name string, is func(string) bool, c *fakesmi.AscendCard) {
	watch := name == "watch"
	ratio := func(engine string, percent float64) { add("engine_utilization_ratio", percent/100, engine) }
	ratio("aicore", c.Use.Core)
	ratio("ai_cpu", c.Use.AICPU)
	ratio("control_cpu", c.Use.ControlCPU)
	if is("a3 950") {
		ratio("cube", c.Use.Cube)
		ratio("npu", c.Use.NPU)
	}
	switch {
	case watch:
	case is("910b a3 950"):
		ratio("vector", c.Use.Vector)
	case is("310p"):
		ratio("vector", c.Use.VectorCore)
	}
	switch {
	case is("910a 910b a3 950"):
		add("memory_bandwidth_ratio", c.HBM.Bandwidth/100, "hbm")
	case watch || is("310p"):
		add("memory_bandwidth_ratio", c.DDR.Bandwidth/100, "ddr")
	}
}

func wantECC(add adder, memory string, is func(string) bool, e fakesmi.AscendECC) {
	both := func(metric string, single, double uint64) {
		add(metric, float64(single), memory, "correctable")
		add(metric, float64(double), memory, "uncorrectable")
	}
	both("ecc_errors_total", e.Single, e.Double)
	if is("310") {
		return
	}
	both("ecc_lifetime_errors_total", e.TotalSingle, e.TotalDouble)
	both("ecc_retired_pages", e.PagesSingle, e.PagesDouble)
	if !is("910a") {
		add("ecc_pending_pages", float64(e.NextDouble), memory, "uncorrectable")
	}
}

func wantLinks(add adder, hbm bool, links []fakesmi.HCCSLink) {
	healthy := true
	for i, l := range links {
		link := strconv.Itoa(i + 1)
		healthy = healthy && l.Lanes == 4
		if hbm {
			add("link_width", float64(l.Lanes), link)
			add("link_speed_bits_per_second", 56e9*float64(l.Lanes), link)
		}
		add("link_packets_total", float64(l.SendPackets), link, "transmit")
		add("link_packets_total", float64(l.ReceivePackets), link, "receive")
		add("link_bytes_total", 20*float64(l.SendPackets), link, "transmit")
		add("link_bytes_total", 20*float64(l.ReceivePackets), link, "receive")
		add("link_errors_total", float64(l.Retries), link, "retry")
		add("link_errors_total", float64(l.Errors), link, "crc")
	}
	if hbm {
		add("links_healthy", oneIf(healthy))
	}
}

// wantNetwork are the samples of a chip's one RoCE port, or of one port of a 950.
func wantNetwork(add adder, family, name string, c *fakesmi.AscendCard, port string) {
	if name == "hccn_dev_info" {
		for _, p := range c.Ports {
			add("network_up", oneIf(p.Up), p.UDie, p.ID)
		}
		return
	}
	for _, p := range c.Ports {
		if p.ID != port {
			continue
		}
		switch name {
		case "hccn_link":
			add("network_up", oneIf(p.Up), "", "")
		case "hccn_speed":
			add("network_speed_bits_per_second", 1e6*p.Mbps, p.UDie, p.ID)
		case "hccn_link_stat":
			add("network_link_changes_total", float64(p.Ups), p.UDie, p.ID, "up")
			if family != "910a" {
				add("network_link_changes_total", float64(p.Downs), p.UDie, p.ID, "down")
			}
		case "hccn_net_health":
			add("network_healthy", oneIf(p.Health == "Success"))
			add("network_health_info", 1, p.Health)
		case "hccn_optical":
			wantOptical(add, p.Optical)
		case "hccn_stat":
			for key, n := range p.Stat {
				if family == "950" {
					wantUnifiedBus(add, p, key, float64(n))
				} else {
					wantRoCE(add, key, float64(n))
				}
			}
		}
	}
}

func wantRoCE(add adder, key string, n float64) {
	direction := map[bool]string{true: "receive", false: "transmit"}[strings.Contains(key, "_rx_")]
	plain := strings.NewReplacer("_rx_", "_", "_tx_", "_").Replace(key)
	var priority int
	if _, err := fmt.Sscanf(plain, "mac_pfc_pri%d_pkt_num", &priority); err == nil {
		add("network_pfc_frames_total", n, direction, strconv.Itoa(priority))
		return
	}
	if metric := map[string]string{
		"mac_mac_pause_num": "network_pause_frames_total", "mac_total_pkt_num": "network_packets_total", "mac_total_oct_num": "network_bytes_total",
		"mac_bad_pkt_num": "network_bad_packets_total", "mac_bad_oct_num": "network_bad_bytes_total",
	}[plain]; metric != "" {
		add(metric, n, direction)
	}
	if kind := map[string]string{"roce_all_pkt_num": "all", "roce_rc_pkt_num": "rc", "roce_err_pkt_num": "err", "roce_cnp_pkt_num": "cnp"}[plain]; kind != "" {
		add("roce_packets_total", n, direction, kind)
	}
	if event := map[string]string{
		"roce_new_pkt_rty_num": "retransmit", "roce_out_of_order_num": "out_of_order", "roce_qp_status_err_num": "qp_status",
		"roce_unexpected_ack_num": "unexpected_ack", "roce_verification_err_num": "verification",
	}[plain]; event != "" {
		add("roce_events_total", n, event)
	}
	switch key {
	case "mac_rx_fcs_err_pkt_num":
		add("network_fcs_errors_total", n)
	case "roce_ecn_db_num":
		add("roce_ecn_total", n)
	}
}

func wantUnifiedBus(add adder, p fakesmi.Port, key string, n float64) {
	if kind := map[string]string{"retry_req_sum": "retry_request", "retry_ack_sum": "retry_ack", "crc_error_sum": "crc"}[key]; kind != "" {
		add("ub_errors_total", n, p.UDie, p.ID, kind)
		return
	}
	direction := map[bool]string{true: "receive", false: "transmit"}[strings.HasPrefix(key, "rx_") || strings.HasSuffix(key, "_rx")]
	kind, way, counted := strings.Cut(key, "_cnt_")
	switch {
	case strings.HasSuffix(key, "_busi_flit_num"):
		kind = "busi_flit"
	case strings.HasSuffix(key, "_ack_flit"):
		kind = "ack_flit"
	case counted && (strings.HasSuffix(kind, "_err") || kind == "drop_ind" || kind == "err_ind"):
		add("ub_errors_total", n, p.UDie, p.ID, kind+"_"+way)
		return
	}
	add("ub_packets_total", n, p.UDie, p.ID, strings.TrimSuffix(kind, "_pkt"), direction)
}

func wantOptical(add adder, o fakesmi.Optical) {
	add("optical_present", oneIf(o.Present))
	if !o.Present {
		return
	}
	add("optical_temperature_celsius", rounded(o.Celsius, 0))
	add("optical_volts", rounded(o.Millivolts, 2)/1000)
	for bound, v := range map[string]struct{ celsius, volts, transmit, receive float64 }{
		"high": {70, 3.465, 3.5481, 3.5481}, "low": {0, 3.135, 0.2818, 0.1445},
	} {
		add("optical_temperature_limit_celsius", v.celsius, bound)
		add("optical_voltage_limit_volts", v.volts, bound)
		add("optical_power_limit_watts", v.transmit/1000, "transmit", bound)
		add("optical_power_limit_watts", v.receive/1000, "receive", bound)
	}
	for i := range 4 {
		lane := strconv.Itoa(i)
		add("optical_bias_amperes", rounded(o.Bias[i], 4)/1000, lane)
		add("optical_power_watts", rounded(o.SendPower[i], 4)/1000, "transmit", lane)
		add("optical_power_watts", rounded(o.ReceivePower[i], 4)/1000, "receive", lane)
		add("optical_signal_lost", float64(o.SendLost>>i&1), "transmit", lane)
		add("optical_signal_lost", float64(o.ReceiveLost>>i&1), "receive", lane)
		add("optical_snr_decibels", rounded(o.HostSNR[i], 4), "host", lane)
		add("optical_snr_decibels", rounded(o.MediaSNR[i], 4), "media", lane)
	}
}
