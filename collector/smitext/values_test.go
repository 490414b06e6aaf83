package smitext_test

import (
	"testing"

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
