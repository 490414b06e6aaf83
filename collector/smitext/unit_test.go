package smitext_test

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// A user would notice a clock in megahertz, or traffic in the wrong base.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit         smitext.Unit
		text, header string
		want         float64
	}{
		{smitext.Volts, "0.738 V", "", 0.738},
		{smitext.Volts, "0.72", "V", 0.72},
		{smitext.Volts, "3250.00 mV", "", 3.25},
		{smitext.Amperes, "21.000 A", "", 21},
		{smitext.Amperes, "8 mA", "", 0.008},
		{smitext.Watts, "0.5 mW", "", 0.0005},
		{smitext.Hertz, "1125 MHz", "", 1.125e9},
		{smitext.Hertz, "1800", "MHZ", 1.8e9},
		{smitext.Transfers, "32 GT/s", "", 3.2e10},
		{smitext.ByteRate, "3 MBytes/s", "", 3 << 20},
		{smitext.BitRate, "200000 Mb/s", "", 2e11},
		{smitext.BitRate, "200000Mb/s", "", 2e11},
		{smitext.BitRate, "400 G", "", 4e11},
		{smitext.BitRate, "224", "Gb/s", 2.24e11},
		{smitext.BitRate, "400", "Gbps", 4e11},
		{smitext.Decibels, "23.5 dB", "", 23.5},
		{smitext.Decibels, "-1.5 dB", "", -1.5},
		{smitext.Lanes, "x16", "", 16},
	} {
		if got, ok := c.unit.Value(c.text, c.header); !ok || got != c.want {
			t.Errorf("%q (%s) is %v, %v, want %v", c.text, c.header, got, ok, c.want)
		}
	}
	for text, u := range map[string]smitext.Unit{
		"5": smitext.Volts, "-5 V": smitext.Volts, "5 A": smitext.Volts, "16": smitext.Lanes, "P16": smitext.Lanes, "x": smitext.Lanes, "x16 W": smitext.Lanes,
		"-1 MHz": smitext.Hertz, "5 MB/s": smitext.ByteRate, "5 Mb": smitext.BitRate, "5 mW": smitext.Amperes,
	} {
		if got, ok := u.Value(text, ""); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
