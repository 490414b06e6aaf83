package printed_test

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

// A user would notice a clock in megahertz, or traffic in the wrong base.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit         printed.Unit
		text, header string
		want         float64
	}{
		{printed.Volts, "0.738 V", "", 0.738},
		{printed.Volts, "0.72", "V", 0.72},
		{printed.Volts, "3250.00 mV", "", 3.25},
		{printed.Amperes, "21.000 A", "", 21},
		{printed.Amperes, "8 mA", "", 0.008},
		{printed.Watts, "0.5 mW", "", 0.0005},
		{printed.Hertz, "1125 MHz", "", 1.125e9},
		{printed.Hertz, "1800", "MHZ", 1.8e9},
		{printed.Transfers, "32 GT/s", "", 3.2e10},
		{printed.ByteRate, "3 MBytes/s", "", 3 << 20},
		{printed.BitRate, "200000 Mb/s", "", 2e11},
		{printed.BitRate, "200000Mb/s", "", 2e11},
		{printed.BitRate, "400 G", "", 4e11},
		{printed.BitRate, "224", "Gb/s", 2.24e11},
		{printed.BitRate, "400", "Gbps", 4e11},
		{printed.Decibels, "23.5 dB", "", 23.5},
		{printed.Decibels, "-1.5 dB", "", -1.5},
		{printed.Lanes, "x16", "", 16},
	} {
		if got, ok := c.unit.Value(c.text, c.header); !ok || got != c.want {
			t.Errorf("%q (%s) is %v, %v, want %v", c.text, c.header, got, ok, c.want)
		}
	}
	for text, u := range map[string]printed.Unit{
		"5": printed.Volts, "-5 V": printed.Volts, "5 A": printed.Volts, "16": printed.Lanes, "P16": printed.Lanes, "x": printed.Lanes, "x16 W": printed.Lanes,
		"-1 MHz": printed.Hertz, "5 MB/s": printed.ByteRate, "5 Mb": printed.BitRate, "5 mW": printed.Amperes,
	} {
		if got, ok := u.Value(text, ""); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
