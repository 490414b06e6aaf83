package smitext_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

func TestAbsentAndLabel(t *testing.T) {
	for _, s := range []string{"", "NA", "na", "N/A", "n/a", "-", "--", "unknown", "UNKNOWN", "Unknown"} {
		if !smitext.Absent(s) || smitext.Label(s) != "" {
			t.Errorf("%q is taken for a value", s)
		}
	}
	for _, s := range []string{"0", "NAN", "none", "---", "x", "-1", "N A"} {
		if smitext.Absent(s) || smitext.Label(s) != s {
			t.Errorf("%q is taken for no value", s)
		}
	}
}

func TestNumber(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "71": 71, "71.5": 71.5, "-12": -12} {
		if got, ok := smitext.Number(s); !ok || got != want {
			t.Errorf("Number(%q) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"W", "71W", "", "-", ".", "1.2.3", "--1", "1-", "+1", "1e9", "0x1f", "inf", "NaN", "1_000", "1,5", "１２", "111111111111111111111",
	} {
		if got, ok := smitext.Number(s); ok {
			t.Errorf("Number(%q) = %v, want none", s, got)
		}
	}
}

func TestIndex(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "7": 7, "32768": 32768, "2147483647": 2147483647} {
		if got, ok := smitext.Index(s); !ok || got != want {
			t.Errorf("Index(%q) = %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-1", "+1", "1.0", "a", "1a", "0x1", "1_0", "2147483648", "99999999999999999999", "７"} {
		if got, ok := smitext.Index(s); ok {
			t.Errorf("Index(%q) = %d, want none", s, got)
		}
	}
}

func TestPCIAddress(t *testing.T) {
	for _, s := range []string{"0000:3b:00.0", "0000:9D:00.0", "00000000:07:00.0", "10001:00:1f.7", "0000:01:00.F ", "abcd:ef:1f.10"} {
		if !smitext.PCIAddress(s) {
			t.Errorf("%q is not taken for a PCI address", s)
		}
	}
	for _, s := range []string{
		"", "NA", "0000", "0000:3b:00", "0000:3b:00.", "3b:00.0", "0000:3g:00.0", "0000:3b:00:0", "OK", "36C", "000:3b:00.0",
		"000000000:3b:00.0", "0000:3b:00.0000", "0000:3b-00.0", "0000::3b:00.0", "0000:3b:00. 0",
	} {
		if smitext.PCIAddress(s) {
			t.Errorf("%q is taken for a PCI address", s)
		}
	}
}

func one(v float64) model.Readings            { return model.Readings{{Metric: "value", Value: v}} }
func all(v float64) model.Readings            { return model.Readings{{Metric: "total", Value: v}} }
func both(used, total float64) model.Readings { return append(one(used), all(total)...) }

// A user would notice a number in the wrong unit, or memory that nobody uses, or
// more of it than the card has.
func TestField(t *testing.T) {
	const mib = 1 << 20
	value := func(u smitext.Unit) smitext.Field { return smitext.Field{Metric: "value", Unit: u} }
	memory := smitext.Field{Metric: "value", Total: "total", Unit: smitext.Bytes}
	pages := smitext.Field{Metric: "value", Total: "total", Unit: smitext.Pages}
	power := smitext.Field{Metric: "value", Limit: "total", Unit: smitext.Watts}
	for _, c := range []struct {
		field      smitext.Field
		text, unit string
		want       model.Readings
		why        string // it cannot be read
	}{
		{field: value(smitext.Watts), text: "71W", want: one(71)},
		{field: value(smitext.Watts), text: "71.5 W", want: one(71.5)},
		{field: value(smitext.Watts), text: "71", unit: "W", want: one(71)},
		{field: value(smitext.Watts), text: "71", why: "no unit, or another one"},
		{field: value(smitext.Watts), text: "71C", unit: "W", why: "no unit, or another one"},
		{field: value(smitext.Watts), text: "-1W", why: "beyond what a machine can have"},
		{field: value(smitext.Watts), text: "W", why: "no number"},
		{field: value(smitext.Watts), text: "NA", unit: "W"},
		{field: value(smitext.Celsius), text: "-12", unit: "C", want: one(-12)},
		{field: value(smitext.Percent), text: "36 %", want: one(0.36)},
		{field: value(smitext.Percent), text: "100%", want: one(1)},
		{field: value(smitext.Percent), text: "101%", why: "beyond what a machine can have"},
		{field: value(smitext.Count), text: "7", want: one(7)},
		{field: value(smitext.Count), text: "7 of", why: "no unit, or another one"},
		{field: value(smitext.Count), text: "7W", why: "no unit, or another one"},
		{field: value(smitext.Level), text: "P9", want: one(9)},
		{field: value(smitext.Level), text: "9", why: "no number"},
		{field: value(smitext.Level), text: "P-9", why: "no number"},

		{field: power, text: "69W / 350W", want: both(69, 350)},
		{field: power, text: "450W/350W", want: both(450, 350)},
		{field: power, text: "97W / N/A", want: one(97)},
		{field: power, text: "97W", want: one(97)},
		{field: power, text: "N/A / 350W", want: all(350)},
		{field: power, text: "70W / 0W", want: one(70)},
		{field: power, text: "201 / 350", why: "no unit, or another one"},
		{field: power, text: "much / 350W", want: all(350), why: "no number"},

		{field: memory, text: "5680/65536 MiB", want: both(5680*mib, 65536*mib)},
		{field: memory, text: "5680/65536MiB", want: both(5680*mib, 65536*mib)},
		{field: memory, text: "5680 MiB / 64 GiB", want: both(5680*mib, 64<<30)},
		{field: memory, text: "31859/ 32768", unit: "MB", want: both(31859*mib, 32768*mib)},
		{field: memory, text: "0    / 32768", unit: "MB", want: both(0, 32768*mib)},
		{field: pages, text: "15   / 15", unit: "page", want: both(15, 15)},
		{field: memory, text: "3 / 4", why: "its total: no unit, or another one"},
		{field: memory, text: "0    / 0", unit: "MB"},
		{field: memory, text: "7    / 0", unit: "MB"},
		{field: memory, text: "NA", unit: "MB"},
		{field: memory, text: "N/A", unit: "MB"},
		{field: memory, text: "", unit: "MB"},
		{field: memory, text: "NA / 44280", unit: "MB", want: all(44280 * mib)},
		{field: memory, text: "N/A / 44280", unit: "MB", want: all(44280 * mib)},
		{field: memory, text: "- / 44280", unit: "MB", want: all(44280 * mib)},
		{field: memory, text: "/ 44280", unit: "MB", want: all(44280 * mib)},
		{field: memory, text: "5680/NA MiB", want: one(5680 * mib)},
		{field: memory, text: "5680 / N/A", unit: "MB", want: one(5680 * mib)},
		{field: memory, text: "NA/NA MiB"},
		{field: memory, text: "NA/65536 MiB", want: all(65536 * mib)},
		{field: memory, text: "-24 / 32768", unit: "MB", want: all(32768 * mib), why: "its used part: beyond what a machine can have"},
		{field: memory, text: "32769/ 32768", unit: "MB", want: all(32768 * mib), why: "used is more than the total"},
		{field: memory, text: "18446744073709551592 / 32768", unit: "MB", want: all(32768 * mib), why: "its used part: beyond what a machine can have"},
		{field: memory, text: "x / 32768", unit: "MB", want: all(32768 * mib), why: "its used part: no number"},
		{field: pages, text: "1 / 18446744073709551615", unit: "page", why: "its total: beyond what a machine can have"},
		{field: memory, text: "1 / -4", unit: "MB", why: "its total: beyond what a machine can have"},
		{field: memory, text: "1 / 4 TB", why: "its total: no unit, or another one"},
		{field: memory, text: "1/2/3", unit: "MB", why: "its total: no number"},
		{field: memory, text: "12345", unit: "MB", why: "no pair with a slash"},
	} {
		var got model.Readings
		why := ""
		if err := c.field.Read(&got, c.text, c.unit); err != nil {
			why = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" || why != c.why {
			t.Errorf("%q (%s): %q, want %q; want (-) and got (+) differ:\n%s", c.text, c.unit, why, c.why, diff)
		}
	}
}

// What was told first holds, as where a header says a word twice.
func TestFieldKeepsWhatWasTold(t *testing.T) {
	rs := one(1)
	f := smitext.Field{Metric: "value", Unit: smitext.Watts}
	if err := f.Read(&rs, "2W", ""); err != nil || !cmp.Equal(rs, one(1)) {
		t.Errorf("got %v", rs)
	}
	rs = all(20)
	f = smitext.Field{Metric: "value", Total: "total", Unit: smitext.Pages}
	if err := f.Read(&rs, "30 / 40", "page"); err != nil || !cmp.Equal(rs, all(20)) {
		t.Errorf("got %v", rs)
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		cell, unit string
		want       float64
		ok         bool
	}{
		{"4066", "MiB", 4066 << 20, true},
		{"4066", "MB", 4066 << 20, true},
		{"4066 MiB", "", 4066 << 20, true},
		{"2 GB", "MB", 2 << 30, true},
		{"7KiB", "", 7 << 10, true},
		{"0", "MB", 0, true},
		{"4066", "", 0, false},
		{"-1", "MB", 0, false},
		{"17592186044415", "MB", 0, false}, // one byte below zero, in MB
		{"python", "MB", 0, false},
		{"", "MB", 0, false},
		{"12 parsecs", "MB", 0, false},
	} {
		got, ok := smitext.Bytes.Value(c.cell, c.unit)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("Value(%q, %q) = %v, %v, want %v, %v", c.cell, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestCutPair(t *testing.T) {
	for cell, want := range map[string][2]string{
		"69W / 350W": {"69W", "350W"},
		"69W/350W":   {"69W", "350W"},
		"97W / N/A":  {"97W", "N/A"},
		"N/A / 350W": {"N/A", "350W"},
		"n/a/n/a":    {"n/a", "n/a"},
		"/":          {"", ""},
	} {
		used, total, ok := smitext.CutPair(cell)
		if got := [2]string{used, total}; !ok || got != want {
			t.Errorf("CutPair(%q) = %q, %v, want %q", cell, got, ok, want)
		}
	}
	for _, cell := range []string{"", "71W", "N/A", "n/a", "NA"} {
		if used, total, ok := smitext.CutPair(cell); ok {
			t.Errorf("CutPair(%q) = %q, %q, want no pair", cell, used, total)
		}
	}
}
