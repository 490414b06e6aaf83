package ascend

import (
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// devInfo asks an Ascend 950 for all its ports; what is told of one port only is asked
// for those that it names. The text of -optical is not known.
func devInfo() smi.Detail {
	return smi.Detail{
		Name: "hccn_dev_info", Network: true, Scope: smi.Die, Every: smi.Minute, Lean: true,
		When: func(d *model.Device) bool { return !hasChip(d) },
		Args: func(d model.Device) [][]string {
			if d.NPU == "" {
				return nil
			}
			return [][]string{{"-g", "-dev_info", "-i", d.NPU}}
		},
		Parse: func(out []byte, cards []model.Device) ([]smi.Told, error) {
			return detail.Parse(devInfoBlocks(out), devInfoRows(), asked, cards)
		},
		More: portDetails,
	}
}

// devInfoBlocks read the first table of the answer, whose header has two spellings.
func devInfoBlocks(out []byte) []keyvalue.Block {
	layout := keyvalue.Layout{Boxed: true, First: "udie id", IDs: []string{"udie id", "port id"}}
	for _, word := range []string{"udie id", "port id", "speed ability", "port type", "link status", "media type"} {
		layout.Words = append(layout.Words, boxtable.Word{Text: word})
	}
	short := layout
	short.First, short.IDs = "udieid", []string{"udieid", "portid"}
	spelled := map[string]string{"udieid": "udie id", "portid": "port id", "porttype": "port type"}
	blocks := slices.Concat(keyvalue.Columns(out, layout), keyvalue.Columns(out, short))
	for i := range blocks {
		for j := range blocks[i].Entries {
			e := &blocks[i].Entries[j]
			if long, ok := spelled[e.Key]; ok {
				e.Key = long
			}
		}
	}
	return blocks
}

// devInfoRows leave out the speed: it is what a port is able to.
func devInfoRows() []detail.Row {
	return []detail.Row{detail.Key("link status", "network_up", printed.Count, "{udie id}", "{port id}").Of(upDown())}
}

// maxPorts is more than a chip has: 18 have been met in its documents.
const maxPorts = 32

// portDetails are the questions about each port: how often its link changed, and of one
// that is up its speed and, on the unified bus, what went through it.
func portDetails(out []byte, _ model.Device) []smi.Detail {
	var all []smi.Detail
	seen := map[[2]string]bool{}
	for _, b := range devInfoBlocks(out) {
		values := map[string]string{}
		for _, e := range b.Entries {
			values[e.Key] = e.Value
		}
		udie, port := values["udie id"], values["port id"]
		id := [2]string{udie, port}
		if seen[id] || len(seen) >= maxPorts || len(udie) > 3 || len(port) > 3 {
			continue
		}
		seen[id] = true
		ask := func(name, command string, d smi.Detail) smi.Detail {
			d.Name, d.Port, d.Network, d.Scope = name, udie+"/"+port, true, smi.Die
			d.Args = func(d model.Device) [][]string {
				return [][]string{{"-g", command, "-i", d.NPU, "-u", udie, "-p", port}}
			}
			return d
		}
		all = append(all, ask("hccn_link_stat", "-link_stat", smi.Detail{Every: smi.FiveMinutes, Parse: parseAsked(linkStatRows(udie, port))}))
		if !strings.EqualFold(values["link status"], "up") {
			continue
		}
		all = append(all, ask("hccn_speed", "-speed", smi.Detail{Every: smi.Hour, Parse: parsePortSpeed}))
		if kind := values["port type"]; kind == "UB" {
			all = append(all, ask("hccn_stat", "-stat", smi.Detail{Every: smi.FiveMinutes, Parse: parseAsked(unifiedBusRows(udie, port))}))
		}
	}
	return all
}

func parsePortSpeed(out []byte, cards []model.Device) ([]smi.Told, error) {
	layout := keyvalue.Layout{Boxed: true, First: "npu", Card: "npu", IDs: []string{"udie", "port"}}
	rows := []detail.Row{detail.Key("speed", "network_speed_bits_per_second", printed.BitRate, "{udie}", "{port}")}
	return detail.Parse(keyvalue.Columns(out, layout), rows, asked, cards)
}

// unifiedBusRows read -stat of a port of the unified bus. Its first two keys are no
// counters. The tool's document spells three kinds in another way than its source.
func unifiedBusRows(udie, port string) []detail.Row {
	var rows []detail.Row
	packets := func(key, kind, direction string) {
		rows = append(rows, detail.Key(key, "ub_packets_total", printed.Count, udie, port, kind, direction))
	}
	failed := func(key, kind string) {
		rows = append(rows, detail.Key(key, "ub_errors_total", printed.Count, udie, port, kind))
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
