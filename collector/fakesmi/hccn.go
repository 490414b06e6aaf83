package fakesmi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NetworkQuery is a call of hccn_tool that reads: -i Device -Command -g, and on a 950
// -u and -p, which choose a port.
type NetworkQuery struct {
	Command, Device, UDie, Port string
}

// networkCommand is how one of hccn_tool's commands is answered about a port.
type networkCommand struct {
	name string
	on   family
	text func(Port, NetworkQuery, time.Time) Answer
}

func networkCommands() []networkCommand {
	const roce = is910A | is910B | isA3
	return []networkCommand{
		{"link", roce | is950, linkText},
		{"stat", roce, statText(roceKeys(), "%s:%d\n", nil)},
		{"stat", is950, statText(unifiedBusKeys(), "%s: %d\n", func(p Port) string { return "port_id: " + p.ID + "\nis_uboe_port: 0\n" })},
		{"speed", roce, speedText},
		{"speed", is950, portSpeedText},
		{"link_stat", is910A, linkStatText(false)},
		{"link_stat", is910B | isA3, linkStatText(true)},
		{"link_stat", is950, portLinkStatText},
		{"net_health", roce, healthText},
		{"optical", roce | is950, opticalText},
	}
}

// NetworkCommands are those that some family knows.
func NetworkCommands() []string {
	names := []string{"dev_info"}
	for _, c := range networkCommands() {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// hccn_tool's own errors, and its exit statuses, some of which stand for several.
const (
	statusUnsupported = 13
	statusNoOptical   = 20
)

// Network answers a call of hccn_tool at a moment. Most errors go to stderr, that of a
// command that the product lacks does not.
func (l AscendLayout) Network(q NetworkQuery, cards []AscendCard, at time.Time) Answer {
	i := slices.IndexFunc(cards, func(c AscendCard) bool { return c.Device == q.Device })
	if i < 0 {
		return Answer{Text: "The device is not exist!\n", Errs: true, Status: 1}
	}
	if q.Command == "dev_info" && l.family == is950 {
		return Answer{Text: deviceText(cards[i])}
	}
	commands := networkCommands()
	k := slices.IndexFunc(commands, func(c networkCommand) bool { return c.name == q.Command && c.on&l.family != 0 })
	if k < 0 {
		return Answer{Text: "The command is not supported on this product.\n", Status: statusUnsupported}
	}
	for _, p := range cards[i].Ports {
		if p.UDie == q.UDie && p.ID == q.Port {
			return commands[k].text(p, q, at)
		}
	}
	return Answer{Text: "The port is not exist!\n", Errs: true, Status: 1}
}

func linkText(p Port, _ NetworkQuery, _ time.Time) Answer {
	return Answer{Text: "link status: " + upOrDown(p.Up) + "\n"}
}

func upOrDown(up bool) string {
	if up {
		return "UP"
	}
	return "DOWN"
}

func speedText(p Port, _ NetworkQuery, _ time.Time) Answer {
	if math.IsNaN(p.Mbps) {
		return Answer{Text: "Speed: Unknown!\n"}
	}
	return Answer{Text: "Speed: " + decimals(p.Mbps, 0) + " Mb/s\n"}
}

func healthText(p Port, _ NetworkQuery, _ time.Time) Answer {
	return Answer{Text: "net health status: " + p.Health + "\n"}
}

// statText prints the counters that the port has, in the order of keys.
func statText(keys []string, format string, head func(Port) string) func(Port, NetworkQuery, time.Time) Answer {
	return func(p Port, _ NetworkQuery, _ time.Time) Answer {
		var b strings.Builder
		b.WriteString("packet statistics:\n")
		if head != nil {
			b.WriteString(head(p))
		}
		for _, key := range keys {
			if n, ok := p.Stat[key]; ok {
				fmt.Fprintf(&b, format, key, n)
			}
		}
		return Answer{Text: b.String()}
	}
}

// linkStatText prints how often the link came and went; older tools do not count its going.
func linkStatText(countsDowns bool) func(Port, NetworkQuery, time.Time) Answer {
	return func(p Port, q NetworkQuery, at time.Time) Answer {
		var b strings.Builder
		line := func(key, format string, value any) {
			fmt.Fprintf(&b, "[devid %s]%-20s:"+format+"\n", q.Device, key, value)
		}
		line("current time", " %s", at.Format(time.ANSIC))
		line("link up count", " %d", p.Ups)
		if countsDowns {
			line("link down count", " %d", p.Downs)
		}
		if len(p.Changes) == 0 {
			line("link change records", " %s", notPrinted)
			return Answer{Text: b.String()}
		}
		line("link change records", "%s", "")
		for _, c := range p.Changes {
			fmt.Fprintf(&b, "[devid %s]    %s    LINK %s\n", q.Device, c.At.Format(time.ANSIC), upOrDown(c.Up))
		}
		return Answer{Text: b.String()}
	}
}

// roceKeys are the counters of -stat in their order.
func roceKeys() []string {
	keys := []string{"mac_tx_mac_pause_num", "mac_rx_mac_pause_num"}
	for _, way := range []string{"tx", "rx"} {
		keys = append(keys, "mac_"+way+"_pfc_pkt_num")
		for priority := range 8 {
			keys = append(keys, "mac_"+way+"_pfc_pri"+strconv.Itoa(priority)+"_pkt_num")
		}
	}
	return append(keys,
		"mac_tx_total_pkt_num", "mac_tx_total_oct_num", "mac_tx_bad_pkt_num", "mac_tx_bad_oct_num",
		"mac_rx_total_pkt_num", "mac_rx_total_oct_num", "mac_rx_bad_pkt_num", "mac_rx_bad_oct_num", "mac_rx_fcs_err_pkt_num",
		"roce_rx_rc_pkt_num", "roce_rx_all_pkt_num", "roce_rx_err_pkt_num", "roce_tx_rc_pkt_num", "roce_tx_all_pkt_num", "roce_tx_err_pkt_num",
		"roce_cqe_num", "roce_rx_cnp_pkt_num", "roce_tx_cnp_pkt_num", "roce_unexpected_ack_num", "roce_out_of_order_num",
		"roce_verification_err_num", "roce_qp_status_err_num", "roce_new_pkt_rty_num", "roce_ecn_db_num",
		"nic_tx_all_pkg_num", "nic_tx_all_oct_num", "nic_rx_all_pkg_num", "nic_rx_all_oct_num")
}

// unifiedBusKeys are those of a 950.
func unifiedBusKeys() []string {
	var keys []string
	for _, way := range []string{"rx", "tx"} {
		for _, kind := range []string{
			"ub_glb_ipv4_pkt", "ub_glb_ipv6_pkt", "unic_ipv4_pkt", "unic_ipv6_pkt", "ub_clan_pkt", "ub_umoc_ctph", "ub_umoc_ntph", "ub_mem_pkt",
			"unknown_pkt", "drop_ind", "err_ind",
		} {
			keys = append(keys, kind+"_cnt_"+way)
		}
		if way == "rx" {
			keys = append(keys, "to_host_pkt_cnt_rx", "to_imp_pkt_cnt_rx", "to_mar_pkt_cnt_rx", "to_link_pkt_cnt_rx", "to_noc_pkt_cnt_rx", "route_err_cnt_rx",
				"out_err_cnt_rx", "length_err_cnt_rx", "rx_busi_flit_num", "rx_send_ack_flit")
		}
	}
	return append(keys, "lpbk_ind_cnt_tx", "out_err_cnt_tx", "length_err_cnt_tx", "tx_busi_flit_num", "tx_recv_ack_flit",
		"retry_req_sum", "retry_ack_sum", "crc_error_sum")
}
