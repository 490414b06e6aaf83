package smitext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// show writes blocks as "card bus chip/chips mcu: path|word|unit=value; …".
func show(blocks []smitext.Block) []string {
	var all []string
	for _, b := range blocks {
		var entries []string
		for _, e := range b.Entries {
			entries = append(entries, fmt.Sprintf("%s|%s|%s=%s", e.Path, e.Word, e.Unit, e.Value))
		}
		all = append(all, fmt.Sprintf("%s %s %s/%d %t: %s", b.Card, b.BusID, b.Chip, b.Chips, b.MCU, strings.Join(entries, "; ")))
	}
	return all
}

// A user would notice one chip's values at another, or those of the board's controller at
// a chip.
func TestReadKeyValues(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":         {"", nil},
		"a last line cut": {"a : 1\nb : 2", []string{"  /0 false: |a|=1"}},
		"CRLF":            {"a : 1\r\nb:\r\n", []string{"  /0 false: |a|=1; |b|="}},
		"the first colon": {"Time : 10:20\nkey:value\n", []string{"  /0 false: |time|=10:20; |key|=value"}},
		"units":           {"\tTemperature (C)  : 4\n\tAicore  curFreq(MHZ) : 8\nhotspot(sensor1): 1 C\nf(0) x: 1\n", []string{"  /0 false: |temperature|C=4; |aicore curfreq|MHZ=8; |hotspot|sensor1=1 C; |f(0) x|=1"}},
		"a value goes on": {"Info : a\n\n\t    : b\n", []string{"  /0 false: |info|=a"}},
		"titles": {
			"Attached GPUs : 2\nGPU#0  MXC500  0000:37:00.0\n    Clocks\n        XCORE\n            CLK : 1\n        MC\n            CLK : 2\n    Memory\n        vram : 3\n\n" +
				"GPU#1 MX C500 0000:38:00.0\n    Usage\n        GPU : 4\nGPU#1 show-x Sysfs error: No such file\nEnd of Log\n",
			[]string{"  /0 false: |attached gpus|=2", "0 0000:37:00.0 /0 false: clocks > xcore|clk|=1; clocks > mc|clk|=2; memory|vram|=3", "1 0000:38:00.0 /0 false: usage|gpu|=4; |gpu#1 show-x sysfs error|=No such file"},
		},
		"cards by their bus": {
			"Attached XPUs : 1\nXPU 00000000:01:00.0\n    PCI\n        Link Info\n            Max : 4\n    Bus : 0x01\n",
			[]string{"  /0 false: |attached xpus|=1", " 00000000:01:00.0 /0 false: pci > link info|max|=4; |bus|=0x01"},
		},
		"numbers that close": {
			"NPU ID : 3\nChip Count : 2\n\na : 1\nChip ID : 0\n\na : 2\nChip ID : 1\n\nt (C) : 3\nChip Name : mcu\n",
			[]string{"3  0/2 false: |a|=1", "3  1/2 false: |a|=2", "3  /2 true: |t|C=3"},
		},
		"numbers that open": {
			"NPU ID : 3\nChip Count : 2\nChip ID : 0\na : 1\nChip ID : 1\na : 2\nChip Name : MCU\nt (C) : 3\n",
			[]string{"3  0/2 false: |a|=1", "3  1/2 false: |a|=2", "3  /2 true: |t|C=3"},
		},
		"the end is cut": {"NPU ID : 3\na : 1\nChip ID : 0\na : 2\n", []string{"3  0/0 false: |a|=1"}},
		"no numbers":     {"NPU ID : 3\nChip Count : 2\na : 1\n", []string{"3  /2 false: |a|=1"}},
		"two cards":      {"NPU ID : 3\nChip ID : 0\na : 1\nNPU ID : 4\na : 2\nChip ID : 1\n", []string{"3  0/0 false: |a|=1", "4  1/0 false: |a|=2"}},
		"a chip's name":  {"Chip Name : 910A\na : 1\n", []string{"  /0 false: |chip name|=910A; |a|=1"}},
		"devid":          {"[devid 5]up   : 2\n[devid 5] down: 1\n[device 6]up : 3\n", []string{"5  /0 false: |up|=2; |down|=1", "6  /0 false: |up|=3"}},
		"other brackets": {"[pub cert] info: x\n", []string{"  /0 false: |[pub cert] info|=x"}},
	} {
		if diff := cmp.Diff(c.want, show(smitext.ReadKeyValues([]byte(c.text)))); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}

// A user would notice the number of one column under another's name.
func TestReadColumns(t *testing.T) {
	for name, c := range map[string]struct {
		first, text string
		want        []string
	}{
		"one blank": {"npuid", "NpuID(Idx) ChipId(Idx) Pwr(W) AI Core(%)\n0 1 90.1 3\n", []string{"0  1/0 false: |pwr|W=90.1; |aicore|%=3"}},
		"no chip":   {"npuid", "NpuID(Idx)  Pwr(W)  \r\n7    NA \r\n", []string{"7  /0 false: |pwr|W=NA"}},
		"no header": {"npuid", "0 1 90.1 3\n", nil},
		"other rows": {
			"npuid", "hello\nNpuID(Idx) ChipId(Idx) AI Core(%)\nwarning x y\nNA 1 2\n0 1\n0 1 2 3\n0 1 2\n0 1 9",
			[]string{"0  1/0 false: |aicore|%=2"},
		},
		"boxes": {
			"udie", "+---+\n| UDie | Port No | Speed(G) |\n+---+\n| 0 | 4 | 40 |\n| 0 | NA | |\n| 0 | 5 |\n| 0 | 6 | DO\n+---+\n| Name | X | Y |\n| 1 | 2 | 3 |\n",
			[]string{"  /0 false: |udie|=0; |portno|=4; |speed|G=40", "  /0 false: |udie|=0; |portno|=NA; |speed|G="},
		},
	} {
		if diff := cmp.Diff(c.want, show(smitext.ReadColumns([]byte(c.text), c.first))); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}
