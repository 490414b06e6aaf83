package ascend

import (
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// devInfoRows leave out the speed: it is what a port is able to.
var devInfoRows = smitext.Rows{{Word: "linkstatus", Metric: "network_up", Labels: []string{"{udieid}", "{portid}"}, Words: upDown}}

// devInfo asks an Ascend 950 for all its ports; what a call answers for one port only is asked
// for those that it names. The text of -optical is not known.
func devInfo() model.Command {
	return model.Command{
		Name: "hccn_dev_info", Network: true, Scope: model.Die, Every: time.Minute, Lean: true,
		When: func(d *model.Device) bool { return !hasChip(d) },
		Args: func(d model.Device) [][]string {
			if d.NPU == "" {
				return nil
			}
			return [][]string{{"-g", "-dev_info", "-i", d.NPU}}
		},
		Parse: func(out []byte, cards []model.Device) (model.Report, error) {
			return devInfoRows.ReadCards(devInfoBlocks(out), findChip, cards)
		},
		More: portDetails,
	}
}

// devInfoBlocks read the ports, whose numbers are small whole ones, from the first table of
// the answer.
func devInfoBlocks(out []byte) []smitext.Block {
	return slices.DeleteFunc(smitext.ReadColumns(out, "udieid"), func(b smitext.Block) bool {
		return !smitext.IsIndex(b.Value("udieid")) || !smitext.IsIndex(b.Value("portid"))
	})
}

// maxPorts is more than a chip has: 18 have been met in its documents.
const maxPorts = 32

// portDetails are the questions about each port: how often its link changed, and of one
// that is up its speed and, on the unified bus, what went through it.
func portDetails(out []byte, _ model.Device) []model.Command {
	var all []model.Command
	seen := map[string]bool{}
	for _, b := range devInfoBlocks(out) {
		udie, port := b.Value("udieid"), b.Value("portid")
		name := udie + "/" + port
		if seen[name] || len(seen) >= maxPorts {
			continue
		}
		seen[name] = true
		ask := func(command string, d model.Command) {
			d.Part, d.Network, d.Scope = name, true, model.Die
			d.Args = func(d model.Device) [][]string {
				return [][]string{{"-g", command, "-i", d.NPU, "-u", udie, "-p", port}}
			}
			all = append(all, d)
		}
		ask("-link_stat", model.Command{Name: "hccn_link_stat", Every: 5 * time.Minute, Parse: parseText(linkStatRows(udie, port), findChip)})
		if !strings.EqualFold(b.Value("linkstatus"), "up") {
			continue
		}
		ask("-speed", model.Command{Name: "hccn_speed", Every: time.Hour, Parse: parseColumns("npu", speedRows(udie, port))})
		if b.Value("porttype") == "UB" {
			ask("-stat", model.Command{Name: "hccn_stat", Every: 5 * time.Minute, Parse: parseText(unifiedBusRows(udie, port), findChip)})
		}
	}
	return all
}

// unifiedBusRows read -stat of a port of the unified bus. Its first two keys are no
// counters. The tool's document spells three kinds in another way than its source.
func unifiedBusRows(udie, port string) smitext.Rows {
	var rows smitext.Rows
	packets := func(key, kind, direction string) {
		rows = append(rows, smitext.Row{Word: key, Metric: "ub_packets_total", Labels: []string{udie, port, kind, direction}})
	}
	failed := func(key, kind string) {
		rows = append(rows, smitext.Row{Word: key, Metric: "ub_errors_total", Labels: []string{udie, port, kind}})
	}
	for _, d := range [][2]string{{"rx", "receive"}, {"tx", "transmit"}} {
		for _, kind := range []string{
			"ub_glb_ipv4_pkt", "ub_glb_ipv6_pkt", "unic_ipv4_pkt", "unic_ipv6_pkt", "ub_clan_pkt", "ub_umoc_ctph", "ub_umoc_ntph", "ub_mem_pkt",
			"unknown_pkt", "to_host_pkt", "to_imp_pkt", "to_mar_pkt", "to_link_pkt", "to_noc_pkt", "lpbk_ind",
		} {
			packets(kind+"_cnt_"+d[0], strings.TrimSuffix(kind, "_pkt"), d[1])
		}
		for _, kind := range [][2]string{{"ub_ipv4", "ub_glb_ipv4"}, {"ub_ipv6", "ub_glb_ipv6"}, {"ub_compact", "ub_clan"}} {
			packets(kind[0]+"_pkt_cnt_"+d[0], kind[1], d[1])
		}
		packets(d[0]+"_busi_flit_num", "busi_flit", d[1])
		for _, kind := range []string{"drop_ind", "err_ind", "route_err", "out_err", "length_err"} {
			failed(kind+"_cnt_"+d[0], kind+"_"+d[0])
		}
	}
	packets("rx_send_ack_flit", "ack_flit", "receive")
	packets("tx_recv_ack_flit", "ack_flit", "transmit")
	failed("retry_req_sum", "retry_request")
	failed("retry_ack_sum", "retry_ack")
	failed("crc_error_sum", "crc")
	return rows
}
