package smitext_test

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// Whatever the text, a pair's parts are non-negative and within their total, and
// nothing else is told.
func FuzzField(f *testing.F) {
	for _, seed := range []string{"1/2", "0    / 0", "NA / 5 MiB", "N/A/N/A", "-3 / 4", "18446744073709551615 / 4", "9 GiB / 1 KiB", "/", "1 / 2 / 3", "71W / 350W", "36 %", "P9", "-5 C"} {
		f.Add(seed, "MB", uint8(smitext.Bytes))
		f.Add(seed, "", uint8(smitext.Watts))
	}
	f.Fuzz(func(t *testing.T, text, unit string, u uint8) {
		for _, field := range []smitext.Field{
			{Metric: "value", Unit: smitext.Unit(u)},
			{Metric: "value", Total: "total", Unit: smitext.Unit(u)},
			{Metric: "value", Limit: "total", Unit: smitext.Unit(u)},
		} {
			var rs model.Readings
			ok := field.Read(&rs, text, unit) == nil
			value, hasValue := rs.Get("value")
			total, hasTotal := rs.Get("total")
			switch {
			case hasValue && value < 0 && field.Unit != smitext.Celsius && field.Unit != smitext.Decibels || value >= 1<<60 || hasValue && value > 1 && field.Unit == smitext.Percent:
				t.Fatalf("%q gives %v", text, value)
			case hasTotal && total == 0, field.Total != "" && hasValue && hasTotal && value > total:
				t.Fatalf("%q gives %v of %v", text, value, total)
			case field.Total != "" && !ok && hasValue, smitext.Absent(text) && len(rs) > 0, len(rs) > 2:
				t.Fatalf("%q gives %v, %v", text, rs, ok)
			}
		}
	})
}

func FuzzNumbers(f *testing.F) {
	for _, seed := range []string{"0", "-1.5", "71 W", "0000:3b:00.0", "99999999999", "99999999999999991808", ".", "1e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, ok := smitext.Number(s); ok && !(v >= -1e20 && v <= 1e20) {
			t.Fatalf("Number(%q) = %v", s, v)
		}
		if n, ok := smitext.Index(s); ok && n < 0 {
			t.Fatalf("Index(%q) = %d", s, n)
		}
		if smitext.PCIAddress(s) && smitext.Absent(s) {
			t.Fatalf("%q is an address and nothing", s)
		}
	})
}
