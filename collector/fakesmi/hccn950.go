package fakesmi

import (
	"fmt"
	"math"
	"time"
)

// grid is a box whose cells begin with one blank.
func (x *box) grid(head []string, groups [][][]string) {
	end := func() { x.rule("+", "+", "+", '-') }
	add := func(cells []string) {
		padded := make([]string, len(cells))
		for i, c := range cells {
			padded[i] = " " + c
		}
		x.row(padded...)
	}
	end()
	add(head)
	end()
	for _, rows := range groups {
		for _, cells := range rows {
			add(cells)
		}
		end()
	}
}

// deviceText is the answer of -dev_info: ports, interfaces and addresses of the bus.
func deviceText(c AscendCard) string {
	x := &box{widths: []int{9, 9, 21, 11, 13, 12}}
	var ports [][]string
	for _, p := range c.Ports {
		ports = append(ports, []string{p.UDie, p.ID, "400", "UB", upOrDown(p.Up), "Electrical"})
	}
	x.grid([]string{"UDie ID", "Port ID", "Speed Ability(Gbps)", "Port Type", "Link Status", "Media Type"}, [][][]string{ports})
	x.widths = []int{17, 44, 44, 11, 17}
	x.grid([]string{"Interface Name", "IP Address", "Netmask", "Bond Mode", "Slaves"}, [][][]string{
		{{"end0v0", "192.0.2.1" + c.Device, "255.255.255.0", notPrinted, notPrinted}},
		{{"ipourma0", "::10:0:5:1" + c.Device, "ffff:ffff:ffff:ffff::", notPrinted, notPrinted}, {"", "::10:0:5:2" + c.Device, "ffff:ffff:ffff:ffff::", "", ""}},
	})
	x.widths = []int{17, 11, 41}
	var addresses [][]string
	for i := range 2 {
		name := ""
		if i == 0 {
			name = "udma1"
		}
		addresses = append(addresses, []string{name, fmt.Sprint(i), fmt.Sprintf("0000:0000:0000:0000:0010:0000:0005:00%d%s", i+1, c.Device)})
	}
	x.grid([]string{"Name", "EID Index", "EID"}, [][][]string{addresses})
	return x.b.String()
}

// portSpeedText is the answer of -speed about a port.
func portSpeedText(p Port, q NetworkQuery, _ time.Time) Answer {
	speed, lanes, state := notPrinted, "X0", "abnormal"
	if !math.IsNaN(p.Mbps) {
		speed, lanes, state = decimals(p.Mbps/1000, 0)+" G", "X4", "normal"
	}
	x := &box{widths: []int{5, 6, 6, 9, 5, 7, 11}}
	x.grid([]string{"NPU", "UDie", "Port", "Speed", "Cap", "Width", "Status"},
		[][][]string{{{q.Device, p.UDie, p.ID, speed, "X4", lanes, state}}})
	return Answer{Text: x.b.String()}
}

// portLinkStatText is the answer of -link_stat about a port: its dates have one blank
// before a day of one digit, where asctime has two.
func portLinkStatText(p Port, q NetworkQuery, _ time.Time) Answer {
	x := &box{widths: []int{5, 6, 6, 13, 25}}
	x.line("link up count :    %d", p.Ups)
	x.line("link down count :  %d", p.Downs)
	var rows [][]string
	for _, c := range p.Changes {
		rows = append(rows, []string{" " + q.Device, " " + p.UDie, " " + p.ID, " LINK_" + upOrDown(c.Up), c.At.Format("Mon Jan 2 15:04:05 2006")})
	}
	x.grid([]string{"NPU", "UDie", "Port", "Link_Status", "Time_Stamp"}, [][][]string{rows})
	return Answer{Text: x.b.String()}
}
