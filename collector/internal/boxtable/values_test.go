package boxtable_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
)

func TestAbsentAndLabel(t *testing.T) {
	for _, s := range []string{"", "NA", "na", "N/A", "n/a", "-", "--", "unknown", "UNKNOWN", "Unknown"} {
		if !boxtable.Absent(s) || boxtable.Label(s) != "" {
			t.Errorf("%q is taken for a value", s)
		}
	}
	for _, s := range []string{"0", "NAN", "none", "---", "x", "-1", "N A"} {
		if boxtable.Absent(s) || boxtable.Label(s) != s {
			t.Errorf("%q is taken for no value", s)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		s, unit string
		want    float64
		ok      bool
	}{
		{"0", "", 0, true},
		{"71", "", 71, true},
		{"71.5", "", 71.5, true},
		{"-12", "", -12, true},
		{"71W", "W", 71, true},
		{"71 W", "W", 71, true},
		{"71w", "W", 71, true},
		{"71", "W", 71, true},
		{"36 %", "%", 36, true},
		{"W", "W", 0, false},
		{"71C", "W", 0, false},
		{"", "", 0, false},
		{"-", "", 0, false},
		{".", "", 0, false},
		{"1.2.3", "", 0, false},
		{"--1", "", 0, false},
		{"1-", "", 0, false},
		{"+1", "", 0, false},
		{"1e9", "", 0, false},
		{"0x1f", "", 0, false},
		{"inf", "", 0, false},
		{"NaN", "", 0, false},
		{"1_000", "", 0, false},
		{"1,5", "", 0, false},
		{"１２", "", 0, false},
		{"111111111111111111111", "", 0, false},
	} {
		got, ok := boxtable.Number(c.s, c.unit)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("Number(%q, %q) = %v, %v, want %v, %v", c.s, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestIndex(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "7": 7, "32768": 32768, "2147483647": 2147483647} {
		if got, ok := boxtable.Index(s); !ok || got != want {
			t.Errorf("Index(%q) = %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-1", "+1", "1.0", "a", "1a", "0x1", "1_0", "2147483648", "99999999999999999999", "７"} {
		if got, ok := boxtable.Index(s); ok {
			t.Errorf("Index(%q) = %d, want none", s, got)
		}
	}
}

func TestPCIAddress(t *testing.T) {
	for _, s := range []string{"0000:3b:00.0", "0000:9D:00.0", "00000000:07:00.0", "10001:00:1f.7", "0000:01:00.F ", "abcd:ef:1f.10"} {
		if !boxtable.PCIAddress(s) {
			t.Errorf("%q is not taken for a PCI address", s)
		}
	}
	for _, s := range []string{
		"", "NA", "0000", "0000:3b:00", "0000:3b:00.", "3b:00.0", "0000:3g:00.0", "0000:3b:00:0", "OK", "36C", "000:3b:00.0",
		"000000000:3b:00.0", "0000:3b:00.0000", "0000:3b-00.0", "0000::3b:00.0",
	} {
		if boxtable.PCIAddress(s) {
			t.Errorf("%q is taken for a PCI address", s)
		}
	}
}

func ptr(v float64) *float64 { return &v }

// A user would notice memory that nobody uses, or more of it than the card has.
func TestParseUsage(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		cell, unit string
		want       boxtable.Usage
		err        string
	}{
		{cell: "5680/65536 MiB", want: boxtable.Usage{Used: ptr(5680 * mib), Total: ptr(65536 * mib)}},
		{cell: "5680/65536MiB", want: boxtable.Usage{Used: ptr(5680 * mib), Total: ptr(65536 * mib)}},
		{cell: "5680 MiB / 64 GiB", want: boxtable.Usage{Used: ptr(5680 * mib), Total: ptr(64 << 30)}},
		{cell: "31859/ 32768", unit: "MB", want: boxtable.Usage{Used: ptr(31859 * mib), Total: ptr(32768 * mib)}},
		{cell: "0    / 32768", unit: "MB", want: boxtable.Usage{Used: ptr(0), Total: ptr(32768 * mib)}},
		{cell: "15   / 15", unit: "page", want: boxtable.Usage{Used: ptr(15), Total: ptr(15)}},
		{cell: "3 / 4", want: boxtable.Usage{Used: ptr(3), Total: ptr(4)}},
		{cell: "0    / 0", unit: "MB"},
		{cell: "7    / 0", unit: "MB"},
		{cell: "NA", unit: "MB"},
		{cell: "N/A", unit: "MB"},
		{cell: "", unit: "MB"},
		{cell: "NA / 44280", unit: "MB", want: boxtable.Usage{Total: ptr(44280 * mib)}},
		{cell: "N/A / 44280", unit: "MB", want: boxtable.Usage{Total: ptr(44280 * mib)}},
		{cell: "- / 44280", unit: "MB", want: boxtable.Usage{Total: ptr(44280 * mib)}},
		{cell: "/ 44280", unit: "MB", want: boxtable.Usage{Total: ptr(44280 * mib)}},
		{cell: "5680/NA MiB", want: boxtable.Usage{Used: ptr(5680 * mib)}},
		{cell: "5680 / N/A", unit: "MB", want: boxtable.Usage{Used: ptr(5680 * mib)}},
		{cell: "NA/NA MiB"},
		{cell: "NA/65536 MiB", want: boxtable.Usage{Total: ptr(65536 * mib)}},
		{cell: "-24 / 32768", unit: "MB", want: boxtable.Usage{Total: ptr(32768 * mib)}, err: `cannot believe the used part of "-24 / 32768"`},
		{cell: "32769/ 32768", unit: "MB", want: boxtable.Usage{Total: ptr(32768 * mib)}, err: `cannot believe the used part of "32769/ 32768"`},
		{cell: "18446744073709551592 / 32768", unit: "MB", want: boxtable.Usage{Total: ptr(32768 * mib)}, err: `cannot believe the used part of "18446744073709551592 / 32768"`},
		{cell: "x / 32768", unit: "MB", want: boxtable.Usage{Total: ptr(32768 * mib)}, err: `cannot believe the used part of "x / 32768"`},
		{cell: "1 / 18446744073709551615", unit: "page", err: `cannot read the total in "1 / 18446744073709551615"`},
		{cell: "1 / -4", unit: "MB", err: `cannot read the total in "1 / -4"`},
		{cell: "1 / 4 TB", err: `cannot read the total in "1 / 4 TB"`},
		{cell: "1/2/3", unit: "MB", err: `cannot read the total in "1/2/3"`},
		{cell: "12345", unit: "MB", err: `"12345" is not used/total`},
	} {
		got, err := boxtable.ParseUsage(c.cell, c.unit)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", c.cell, diff)
		}
		if message := errorText(err); message != c.err {
			t.Errorf("%q: error %q, want %q", c.cell, message, c.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
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
		got, ok := boxtable.Bytes(c.cell, c.unit)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("Bytes(%q, %q) = %v, %v, want %v, %v", c.cell, c.unit, got, ok, c.want, c.ok)
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
		used, total, ok := boxtable.CutPair(cell)
		if got := [2]string{used, total}; !ok || got != want {
			t.Errorf("CutPair(%q) = %q, %v, want %q", cell, got, ok, want)
		}
	}
	for _, cell := range []string{"", "71W", "N/A", "n/a", "NA"} {
		if used, total, ok := boxtable.CutPair(cell); ok {
			t.Errorf("CutPair(%q) = %q, %q, want no pair", cell, used, total)
		}
	}
}
