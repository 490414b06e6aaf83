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
		{smitext.Watts, "71W", "", 71},
		{smitext.Watts, "71.5", "W", 71.5},
		{smitext.Celsius, "-12", "C", -12},
		{smitext.Percent, "36 %", "", 0.36},
		{smitext.Percent, "100%", "", 1},
		{smitext.Count, "7", "", 7},
		{smitext.Level, "P9", "", 9},
		{smitext.Bytes, "4066", "MiB", 4066 << 20},
		{smitext.Bytes, "2 GB", "MB", 2 << 30},
		{smitext.Bytes, "7KiB", "", 7 << 10},
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
		{smitext.Lanes, "16x", "", 16},
		{smitext.Lanes, "X16", "", 16},
		{smitext.Celsius, "35 ℃", "", 35},
		{smitext.Celsius, "105℃", "", 105},
		{smitext.Bytes, "32G", "", 32 << 30},
	} {
		if got, ok, err := c.unit.Parse(c.text, c.header); !ok || err != nil || got != c.want {
			t.Errorf("%q (%s) is %v, %v, %v, want %v", c.text, c.header, got, ok, err, c.want)
		}
	}
	for _, c := range []struct {
		unit         smitext.Unit
		text, header string
		why          string
	}{
		{smitext.Volts, "5", "", "no unit, or another one"},
		{smitext.Volts, "-5 V", "", "beyond what a machine can have"},
		{smitext.Volts, "5 A", "", "no unit, or another one"},
		{smitext.Watts, "71", "", "no unit, or another one"},
		{smitext.Watts, "71C", "W", "no unit, or another one"},
		{smitext.Watts, "-1W", "", "beyond what a machine can have"},
		{smitext.Watts, "W", "", "no number"},
		{smitext.Percent, "101%", "", "beyond what a machine can have"},
		{smitext.Count, "7 of", "", "no number"},
		{smitext.Level, "9", "", "no unit, or another one"},
		{smitext.Level, "P-9", "", "no number"},
		{smitext.Lanes, "16", "", "no unit, or another one"},
		{smitext.Lanes, "P16", "", "no number"},
		{smitext.Lanes, "x16 W", "", "no number"},
		{smitext.Hertz, "-1 MHz", "", "beyond what a machine can have"},
		{smitext.ByteRate, "5 MB/s", "", "no unit, or another one"},
		{smitext.BitRate, "5 Mb", "", "no unit, or another one"},
		{smitext.Amperes, "5 mW", "", "no unit, or another one"},
		{smitext.Bytes, "17592186044415", "MB", "beyond what a machine can have"}, // one byte below zero, in MB
		{smitext.Bytes, "12 parsecs", "MB", "no unit, or another one"},
	} {
		if v, known, err := c.unit.Parse(c.text, c.header); known || err == nil || err.Error() != c.why {
			t.Errorf("%q (%s) is %v, %v, %v, want %q", c.text, c.header, v, known, err, c.why)
		}
	}
}
