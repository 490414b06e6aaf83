package fakesmi

import (
	"math"
	"time"
)

// Port is a network port of a die as hccn_tool tells of it. NaN is a value that the
// tool does not have.
type Port struct {
	UDie, ID   string // of a 950; a die of the others has one port, without a name
	Up         bool
	Mbps       float64
	Health     string            // net health status
	Stat       map[string]uint64 // counters by key; those that are missing are not printed
	Ups, Downs uint64
	Changes    []LinkChange // newest first
	Optical    Optical
}

// LinkChange is a link that came or went.
type LinkChange struct {
	At time.Time
	Up bool
}

// Optical is the module of a port. Flags have a bit for each lane.
type Optical struct {
	Present                       bool
	Celsius, Millivolts           float64
	SendPower, ReceivePower       [4]float64 // mW
	Bias                          [4]float64 // mA
	SendLost, ReceiveLost         uint8
	SendUnlocked, ReceiveUnlocked uint8
	HostSNR, MediaSNR             [4]float64 // dB
}

// ports are those of the die with index i.
func (l AscendLayout) ports(i int, device string, faults Faults, life *Life) []Port {
	port := Port{Up: !faults.has(device, FaultPortDown), Mbps: 200000, Health: "Success"}
	if !port.Up {
		port.Mbps, port.Health = math.NaN(), "Unreachable"
	}
	port.Ups, port.Downs, port.Changes = linkChanges(device, life)
	switch l.family {
	case is950:
		port.Mbps *= 2
		var all []Port
		for k, id := range []string{"4", "5", "6"} {
			p := port
			p.UDie, p.ID, p.Stat = "0", id, unifiedBusStat(i+k, device, life)
			all = append(all, p)
		}
		return all
	case is910A, is910B, isA3:
		port.Stat, port.Optical = roceStat(i, device, life), newOptical(i, device, faults)
		if l.family == is910A { // whose tool is older
			for _, key := range []string{"mac_rx_fcs_err_pkt_num", "roce_new_pkt_rty_num", "roce_ecn_db_num"} {
				delete(port.Stat, key)
			}
		}
		return []Port{port}
	}
	return nil
}

// linkChanges are the link's: it came up when the machine began.
func linkChanges(device string, life *Life) (ups, downs uint64, all []LinkChange) {
	const kept = changesKept
	ups = 1
	if t := life.trouble(device, FaultPortDown); t != nil {
		isUp := t.Since == nil
		for _, at := range t.Changes {
			all = append(all, LinkChange{at, isUp})
			isUp = !isUp
		}
		downs = uint64(t.Times)
		ups += downs
		if t.Since != nil {
			ups--
		}
	}
	all = append(all, LinkChange{life.Start.At, true})
	return ups, downs, all[:min(len(all), kept)]
}

// roceStat are the counters of a RoCE port, which stand still while it has no link.
func roceStat(i int, device string, life *Life) map[string]uint64 {
	grown := func(perSecond, perBusySecond float64) uint64 {
		share := 1 + 0.01*float64(i)
		return life.grownWithout(device, FaultPortDown, rate{share * perSecond, share * perBusySecond})
	}
	const octets = 4107
	sent, received := grown(3, 24000), grown(3, 23900)
	bad := life.grownIn(device, FaultOpticsFade, 2, 0.5)
	paused := grown(0, 0.4)
	all := map[string]uint64{
		"mac_rx_mac_pause_num": grown(0, 0.001), "mac_tx_pfc_pkt_num": grown(0, 0.01), "mac_tx_pfc_pri4_pkt_num": grown(0, 0.01),
		"mac_rx_pfc_pkt_num": paused, "mac_rx_pfc_pri4_pkt_num": paused,
		"mac_tx_total_pkt_num": sent, "mac_tx_total_oct_num": sent * octets,
		"mac_rx_total_pkt_num": received, "mac_rx_total_oct_num": received * octets,
		"mac_rx_bad_pkt_num": bad, "mac_rx_bad_oct_num": 512 * bad, "mac_rx_fcs_err_pkt_num": bad,
		"roce_rx_rc_pkt_num": grown(0, 23880), "roce_rx_all_pkt_num": grown(0, 23890),
		"roce_tx_rc_pkt_num": grown(0, 23980), "roce_tx_all_pkt_num": grown(0, 23990), "roce_cqe_num": grown(0, 11),
		"roce_rx_cnp_pkt_num": grown(0, 0.02), "roce_tx_cnp_pkt_num": grown(0, 0.02), "roce_ecn_db_num": grown(0, 0.02),
		"roce_out_of_order_num": bad, "roce_new_pkt_rty_num": bad,
		"nic_tx_all_pkg_num": grown(0.2, 0), "nic_tx_all_oct_num": grown(28, 0), "nic_rx_all_pkg_num": grown(2, 0), "nic_rx_all_oct_num": grown(150, 0),
	}
	for _, key := range roceKeys() {
		all[key] += 0 // those that count nothing here are printed too
	}
	return all
}

// unifiedBusStat are the counters of a port of a 950.
func unifiedBusStat(i int, device string, life *Life) map[string]uint64 {
	grown := func(perSecond, perBusySecond float64) uint64 {
		share := 1 + 0.01*float64(i)
		return life.grownWithout(device, FaultPortDown, rate{share * perSecond, share * perBusySecond})
	}
	packets := grown(1, 9000)
	all := map[string]uint64{
		"ub_clan_pkt_cnt_rx": packets, "ub_clan_pkt_cnt_tx": grown(1, 9100), "ub_mem_pkt_cnt_rx": grown(0, 41000), "ub_mem_pkt_cnt_tx": grown(0, 40000),
		"to_link_pkt_cnt_rx": packets, "rx_busi_flit_num": 12 * packets, "rx_send_ack_flit": packets,
		"tx_busi_flit_num": grown(12, 110000), "tx_recv_ack_flit": grown(1, 9100),
		"retry_req_sum": life.grownIn(device, FaultLinkLanes, 8, 0.5), "retry_ack_sum": life.grownIn(device, FaultLinkLanes, 8, 0.5),
		"crc_error_sum": life.grownIn(device, FaultLinkLanes, 1, 0.02),
	}
	for _, key := range unifiedBusKeys() {
		all[key] += 0
	}
	return all
}

// newOptical is the module of the die with index i. It receives nothing without a link.
func newOptical(i int, device string, faults Faults) Optical {
	shift := 0.01 * float64(i)
	o := Optical{
		Present: true, Celsius: 44 + float64(i%4), Millivolts: 3290.1 + float64(i),
		SendPower: [4]float64{1.3968 + shift, 1.4035 + shift, 1.414 + shift, 1.4988 + shift},
		Bias:      [4]float64{7.936, 7.928, 7.936, 7.924},
		HostSNR:   [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		MediaSNR:  [4]float64{23.1211, 22.6289, 22.1875, 23.2969},
	}
	received := [4]float64{1.0189 + shift, 0.9907 + shift, 1.0054 + shift, 1.0213 + shift}
	const faded, every = 0.0921, 0xf
	switch {
	case faults.has(device, FaultPortDown):
		received = [4]float64{0.0001, 0.0001, 0.0001, 0.0001}
		o.ReceiveLost, o.ReceiveUnlocked = every, every
	case faults.has(device, FaultOpticsFade):
		received[1], received[2] = faded, faded+0.02
		o.MediaSNR[1], o.MediaSNR[2] = 16.0117, 16.5039
	}
	o.ReceivePower = received
	return o
}
