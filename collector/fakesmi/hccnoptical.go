package fakesmi

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// opticalText prints a port's module. The keys of an absent one have no lanes.
func opticalText(p Port, _ NetworkQuery, _ time.Time) Answer {
	o := p.Optical
	if p.ID != "" { // a 950's ports are of copper
		return Answer{Text: "Optical module is not present.\n", Errs: true, Status: statusNoOptical}
	}
	var b strings.Builder
	b.WriteString("optical info:\n")
	line := func(key, text string) { fmt.Fprintf(&b, "%-21s: %s\n", key, text) }
	o.identity(line)
	line("Vcc", unitOf(o.present(o.Millivolts), 2, "mV"))
	if !o.Present {
		for _, key := range []string{
			"Tx Power", "Rx Power", "Vcc High Thres", "Vcc Low Thres", "Temp High Thres", "Temp Low Thres",
			"TxPower High Thres", "TxPower Low Thres", "RxPower High Thres", "RxPower Low Thres",
		} {
			line(key, notPrinted)
		}
		return Answer{Text: b.String()}
	}
	o.light(line)
	return Answer{Text: b.String()}
}

// present is a value of a module that is there.
func (o Optical) present(v float64) float64 {
	if !o.Present {
		return math.NaN()
	}
	return v
}

func (o Optical) identity(line func(key, text string)) {
	type row struct{ key, there, absent string }
	for _, r := range []row{
		{"present", "present", "not present"},
		{"temperature", unitOf(o.Celsius, 0, "C"), notPrinted},
		{"high power enable reg", "enabled", "not enabled"},
		{"vendor name", "EXAMPLE", ""},
		{"vendor part number", "EX-200G-SR4", ""},
		{"vendor serial number", "EX0000000", ""},
		{"vendor org unique id", "0xac 0x4a 0x0", "0x0 0x0 0x0"},
		{"xsfp identifier", "QSFP+ or later", notPrinted},
		{"xsfp wave length", "850 nm", "0 nm"},
		{"manufact date code", "240301", ""},
	} {
		if o.Present {
			line(r.key, r.there)
		} else {
			line(r.key, r.absent)
		}
	}
}

// light prints what is measured of each lane, with the thresholds, and the rest.
func (o Optical) light(line func(key, text string)) {
	for i := range o.SendPower {
		line(fmt.Sprintf("Tx Power%d", i), unitOf(o.SendPower[i], 4, "mW"))
		line(fmt.Sprintf("Rx Power%d", i), unitOf(o.ReceivePower[i], 4, "mW"))
	}
	line("Vcc High Thres", "3465.00 mV")
	line("Vcc Low Thres", "3135.00 mV")
	line("Temp High Thres", "70 C")
	line("Temp Low Thres", "0 C")
	for _, way := range []string{"TxPower", "RxPower"} {
		low := "0.2818 mW"
		if way == "RxPower" {
			low = "0.1445 mW"
		}
		line(way+" High Thres", "3.5481 mW")
		line(way+" Low Thres", low)
	}
	for i := range o.Bias {
		line(fmt.Sprintf("Tx Bias%d", i), unitOf(o.Bias[i], 4, "mA"))
	}
	line("Tx Los Flag", fmt.Sprintf("%#x", o.SendLost))
	line("Rx Los Flag", fmt.Sprintf("%#x", o.ReceiveLost))
	line("Tx LoL Flag", fmt.Sprintf("%#x", o.SendUnlocked))
	line("Rx LoL Flag", fmt.Sprintf("%#x", o.ReceiveUnlocked))
	for _, side := range []struct {
		name  string
		ratio [4]float64
	}{{"Host", o.HostSNR}, {"Media", o.MediaSNR}} {
		for i, v := range side.ratio {
			text := "not supported"
			if !math.IsNaN(v) {
				text = unitOf(v, 4, "dB")
			}
			line(fmt.Sprintf("%s SNR Lane%d", side.name, i), text)
		}
	}
	line("Physical Code", notPrinted)
	line("vendor rev", "1A")
	line("Specification compliance", "0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00")
}

// unitOf prints a value with its unit, or what stands for none.
func unitOf(v float64, n int, unit string) string {
	if math.IsNaN(v) {
		return notPrinted
	}
	return decimals(v, n) + " " + unit
}
