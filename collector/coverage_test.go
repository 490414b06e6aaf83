package collector

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

// replaced are the metrics of the vendors' exporters that a text was to tell, and ours, with
// enough of its labels to tell it apart; none of ours where a dash stands. Numbers of lanes
// and links at the end of a name are left out. One of ours may stand for several.
func replaced() map[string]string {
	return map[string]string{
		"mx-exporter": `
			mx_chip_hotspot_temp=temperature_celsius{hotspot} mx_board_core_temp=temperature_celsius{board_core} mx_board_soc_temp=temperature_celsius{board_soc}
			mx_gpu_usage=utilization_ratio mx_vpue_usage=engine_utilization_ratio{vpu_encode} mx_vpud_usage=engine_utilization_ratio{vpu_decode}
			mx_memory_total=memory_total_bytes{host_mapped} mx_memory_used=memory_used_bytes{host_mapped} mx_memory_usage=memory_used_bytes{vram}
			mx_board_power=power_watts mx_board_power_limit=power_limit_watts mx_pmbus_power=rail_power_watts{hbm}
			mx_gpu_clock=clock_hertz{core} mx_mem_clock=clock_hertz{memory} mx_vpue_clock=clock_hertz{vpu_encode} mx_vpud_clock=clock_hertz{vpu_decode}
			mx_xcore_dpm_level=performance_level mx_clk_thr=throttled{over_power} mx_pcie_bw=pcie_bytes_per_second{receive}
			mx_pcie_speed=pcie_link_transfers_per_second mx_pcie_width=pcie_link_width mx_topo_info=link_info
			mx_hbm_bw=memory_bandwidth_bytes_per_second{vram} mx_gpu_state=healthy mx_ecc_error_count=ecc_errors_total{dram,uncorrectable}
			mx_ras_count=ras_errors_total{uncorrectable} mx_ras_status=ras_status{pcie_register0} mx_pci_event=pci_events_total{aer_ue}
			mx_sgpu_compute_quota=slice_compute_quota_ratio mx_sgpu_total_memory=slice_memory_quota_bytes
			mx_sgpu_free_memory=slice_memory_quota_bytes mx_sgpu_used_memory=slice_memory_used_bytes mx_sgpu_usage=slice_utilization_ratio
			mx_device_type=info mx_bios_ver=tool_info mx_driver_ver=tool_info mx_process=process_memory_used_bytes`,
		"npu-exporter": `
			machine_npu_nums=devices machine_card_nums=devices machine_healthy_npu_nums=healthy machine_unhealthy_npu_nums=healthy machine_unknown_npu_nums=healthy
			name=info health_status=healthy node_base_info=tool_info temperature=temperature_celsius power=power_watts
			process_info=process_memory_used_bytes process_info_num=process_memory_used_bytes
			utilization=engine_utilization_ratio{aicore} overall_utilization=engine_utilization_ratio{npu} vector_utilization=engine_utilization_ratio{vector}
			cube_utilization=engine_utilization_ratio{cube} voltage=rail_volts{core} aicore_current_freq=clock_hertz{core}
			error_code=error_info{A4025021} error_code_1=error_info{8C03A000} network_status=network_healthy
			serial_number=board_info product_type=board_info total_memory=memory_total_bytes used_memory=memory_used_bytes
			hbm_total_memory=memory_total_bytes hbm_used_memory=memory_used_bytes hbm_utilization=memory_used_bytes
			hbm_temperature=temperature_celsius{hbm} hbm_bandwidth_utilization=memory_bandwidth_ratio{hbm} hbm_ecc_enable_flag=ecc_enabled{hbm}
			hbm_ecc_single_bit_error_cnt=ecc_errors_total{hbm,correctable} hbm_ecc_double_bit_error_cnt=ecc_errors_total{hbm,uncorrectable}
			hbm_ecc_total_single_bit_error_cnt=ecc_lifetime_errors_total{hbm,correctable} hbm_ecc_total_double_bit_error_cnt=ecc_lifetime_errors_total{hbm,uncorrectable}
			hbm_ecc_single_bit_isolated_pages_cnt=ecc_retired_pages{hbm,correctable} hbm_ecc_double_bit_isolated_pages_cnt=ecc_retired_pages{hbm,uncorrectable}
			hccs_statistic_info_tx_cnt=link_packets_total{1,transmit} hccs_statistic_info_rx_cnt=link_packets_total{1,receive} hccs_statistic_info_crc_err_cnt=link_errors_total{1,crc}
			hccs_bandwidth_info_tx=link_bytes_total{1,transmit} hccs_bandwidth_info_rx=link_bytes_total{1,receive} hccs_bandwidth_info_total_tx=link_bytes_total{1,transmit}
			hccs_bandwidth_info_total_rx=link_bytes_total{1,receive} hccs_bandwidth_info_profiling_time=link_bytes_total{1,transmit}
			sio_crc_tx_err_cnt=sio_errors_total{transmit} sio_crc_rx_err_cnt=sio_errors_total{receive}
			bandwidth_tx=network_bytes_total{transmit} bandwidth_rx=network_bytes_total{receive} link_status=network_up
			npu_chip_link_speed=network_speed_bits_per_second npu_chip_link_up_num=network_link_changes_total{,,up}
			npu_chip_mac_rx_pause_num=network_pause_frames_total{receive} npu_chip_mac_tx_pause_num=network_pause_frames_total{transmit}
			npu_chip_mac_rx_pfc_pkt_num=network_pfc_frames_total{receive,0} npu_chip_mac_tx_pfc_pkt_num=network_pfc_frames_total{transmit,7}
			npu_chip_mac_rx_bad_pkt_num=network_bad_packets_total{receive} npu_chip_mac_tx_bad_pkt_num=network_bad_packets_total{transmit}
			npu_chip_mac_rx_bad_oct_num=network_bad_bytes_total{receive} npu_chip_mac_tx_bad_oct_num=network_bad_bytes_total{transmit} rx_fcs_num=network_fcs_errors_total
			npu_chip_roce_rx_all_pkt_num=roce_packets_total{receive,all} npu_chip_roce_tx_all_pkt_num=roce_packets_total{transmit,all}
			npu_chip_roce_rx_err_pkt_num=roce_packets_total{receive,err} npu_chip_roce_tx_err_pkt_num=roce_packets_total{transmit,err}
			npu_chip_roce_rx_cnp_pkt_num=roce_packets_total{receive,cnp} npu_chip_roce_tx_cnp_pkt_num=roce_packets_total{transmit,cnp} rx_ecn_num=roce_ecn_total
			npu_chip_roce_new_pkt_rty_num=roce_events_total{retransmit} npu_chip_roce_out_of_order_num=roce_events_total{out_of_order} npu_chip_roce_qp_status_err_num=roce_events_total{qp_status}
			npu_chip_roce_unexpected_ack_num=roce_events_total{unexpected_ack} npu_chip_roce_verification_err_num=roce_events_total{verification}
			npu_chip_optical_state=optical_present npu_chip_optical_vcc=optical_volts npu_chip_optical_temp=optical_temperature_celsius
			npu_chip_optical_tx_power=optical_power_watts{transmit,0} npu_chip_optical_rx_power=optical_power_watts{receive,1}`,
		"npu-exporter on 950": `
			link_status_X_Y=network_up{0,4} link_speed_X_Y=network_speed_bits_per_second{0,4} bandwidth_tx_X_Y=- bandwidth_rx_X_Y=-
			ub_ipv4_pkt_cnt_rx=ub_packets_total{0,4,ub_glb_ipv4,receive} ub_ipv6_pkt_cnt_rx=ub_packets_total{0,4,ub_glb_ipv6,receive}
			unic_ipv4_pkt_cnt_rx=ub_packets_total{0,4,unic_ipv4,receive} unic_ipv6_pkt_cnt_rx=ub_packets_total{0,4,unic_ipv6,receive}
			ub_compact_pkt_cnt_rx=ub_packets_total{0,4,ub_clan,receive} ub_umoc_ctph_cnt_rx=ub_packets_total{0,4,ub_umoc_ctph,receive}
			ub_umoc_ntph_cnt_rx=ub_packets_total{0,4,ub_umoc_ntph,receive} ub_mem_pkt_cnt_rx=ub_packets_total{0,4,ub_mem,receive}
			unknown_pkt_cnt_rx=ub_packets_total{0,4,unknown,receive} drop_ind_cnt_rx=ub_errors_total{0,4,drop_ind_rx}
			err_ind_cnt_rx=ub_errors_total{0,4,err_ind_rx} to_host_pkt_cnt_rx=ub_packets_total{0,4,to_host,receive}
			to_imp_pkt_cnt_rx=ub_packets_total{0,4,to_imp,receive} to_mar_pkt_cnt_rx=ub_packets_total{0,4,to_mar,receive}
			to_link_pkt_cnt_rx=ub_packets_total{0,4,to_link,receive} to_noc_pkt_cnt_rx=ub_packets_total{0,4,to_noc,receive}
			route_err_cnt_rx=ub_errors_total{0,4,route_err_rx} out_err_cnt_rx=ub_errors_total{0,4,out_err_rx}
			length_err_cnt_rx=ub_errors_total{0,4,length_err_rx} rx_busi_flit_num=ub_packets_total{0,4,busi_flit,receive}
			rx_send_ack_flit=ub_packets_total{0,4,ack_flit,receive} ub_ipv4_pkt_cnt_tx=ub_packets_total{0,4,ub_glb_ipv4,transmit}
			ub_ipv6_pkt_cnt_tx=ub_packets_total{0,4,ub_glb_ipv6,transmit} unic_ipv4_pkt_cnt_tx=ub_packets_total{0,4,unic_ipv4,transmit}
			unic_ipv6_pkt_cnt_tx=ub_packets_total{0,4,unic_ipv6,transmit} ub_compact_pkt_cnt_tx=ub_packets_total{0,4,ub_clan,transmit}
			ub_umoc_ctph_cnt_tx=ub_packets_total{0,4,ub_umoc_ctph,transmit} ub_umoc_ntph_cnt_tx=ub_packets_total{0,4,ub_umoc_ntph,transmit}
			ub_mem_pkt_cnt_tx=ub_packets_total{0,4,ub_mem,transmit} unknown_pkt_cnt_tx=ub_packets_total{0,4,unknown,transmit}
			drop_ind_cnt_tx=ub_errors_total{0,4,drop_ind_tx} err_ind_cnt_tx=ub_errors_total{0,4,err_ind_tx}
			lpbk_ind_cnt_tx=ub_packets_total{0,4,lpbk_ind,transmit} out_err_cnt_tx=ub_errors_total{0,4,out_err_tx}
			length_err_cnt_tx=ub_errors_total{0,4,length_err_tx} tx_busi_flit_num=ub_packets_total{0,4,busi_flit,transmit}
			tx_recv_ack_flit=ub_packets_total{0,4,ack_flit,transmit} retry_req_sum=ub_errors_total{0,4,retry_request}
			retry_ack_sum=ub_errors_total{0,4,retry_ack} crc_error_sum=ub_errors_total{0,4,crc}`,
	}
}

// Somebody who leaves a vendor's exporter must find what its documents promise, as far
// as a text tells it. What has no equivalent after all is said in docs/migrating.md.
func TestVendorsMetricsAreReplaced(t *testing.T) {
	ours := tellable(t)
	missing := missingNames(readDocument(t, "migrating.md"))
	for exporter, want := range map[string][2]int{"mx-exporter": {37, 37}, "npu-exporter": {78, 78}, "npu-exporter on 950": {42, 44}} {
		all, replacedOnes := map[string]bool{}, 0
		for pair := range strings.FieldsSeq(replaced()[exporter]) {
			theirs, our, _ := strings.Cut(pair, "=")
			if all[theirs] {
				t.Errorf("%s: %s is there twice", exporter, theirs)
			}
			all[theirs] = true
			switch isMissing := missing[theirs] || missing["npu_chip_info_"+theirs]; {
			case our == "-" && !isMissing:
				t.Errorf("%s: %s has no equivalent, and docs/migrating.md does not say so", exporter, theirs)
			case our != "-" && isMissing:
				t.Errorf("%s: docs/migrating.md says that %s has no equivalent, and it would be %s", exporter, theirs, our)
			case our != "-" && !ours[our]:
				t.Errorf("%s: %s would be %s, which nothing tells", exporter, theirs, our)
			case our != "-":
				replacedOnes++
			}
		}
		if got := [2]int{replacedOnes, len(all)}; got != want {
			t.Errorf("%s: %d of %d metrics are replaced, want %d of %d", exporter, got[0], got[1], want[0], want[1])
		}
	}
}

// tellable are our metrics, those of details only where a fixture tells them, and with labels.
func tellable(t *testing.T) map[string]bool {
	t.Helper()
	ours := map[string]bool{}
	for _, s := range Metrics() {
		fromDetails := slices.ContainsFunc(detailSections(), func(d Section) bool { return d.Name == s.Name })
		for _, m := range s.Metrics {
			ours[m.Name] = ours[m.Name] || !fromDetails
		}
	}
	for _, f := range allFixtures(t) {
		report, _ := f.detail.Parse(f.text, f.cards)
		for _, x := range report.Devices {
			for _, r := range x.Readings {
				ours[string(r.Metric)] = true
				ours[string(r.Metric)+"{"+strings.Join(r.Labels, ",")+"}"] = true
			}
		}
	}
	return ours
}

// missingNames are the names in the tables of what has no equivalent.
func missingNames(document string) map[string]bool {
	names := map[string]bool{}
	for _, part := range strings.Split(document, "**Without an equivalent**")[1:] {
		_, table, _ := strings.Cut(part, "\n|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for row := range strings.Lines(table) {
			for i, span := range strings.Split(strings.Split(row, "|")[1], "`") {
				names[span] = i%2 == 1
			}
		}
	}
	return names
}

// every gathers one sample of each declared metric.
func every() ([]*dto.MetricFamily, error) {
	e := emitter{series: newSeries(), part: &part{}}
	for _, s := range Metrics() {
		for _, m := range s.Metrics {
			e.put(m.Name, 1, make([]string, len(s.Labels)+len(m.Labels))...)
		}
	}
	return families([]*part{e.part})
}

// A name that the linter refuses cannot be mended once it is used. It wants bytes where
// every tool and data sheet says bits: the speed of a link.
func TestEveryMetricPassesTheLinter(t *testing.T) {
	problems, err := testutil.GatherAndLint(prometheus.GathererFunc(every))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.HasSuffix(p.Metric, "_speed_bits_per_second") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, s := range detailSections() {
		for _, m := range s.Metrics {
			if isTotal := strings.HasSuffix(m.Name, "_total"); isTotal != (m.Type == prometheus.CounterValue) {
				t.Errorf("%s has the type %v", m.Name, m.Type)
			}
		}
	}
}
