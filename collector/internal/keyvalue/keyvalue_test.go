package keyvalue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
)

// show writes blocks as "card bus chip/chips told mcu: section|key|unit=value; …".
func show(blocks []keyvalue.Block) []string {
	var all []string
	for _, b := range blocks {
		var entries []string
		for _, e := range b.Entries {
			entries = append(entries, fmt.Sprintf("%s|%s|%s=%s", e.Section, e.Key, e.Unit, e.Value))
		}
		all = append(all, fmt.Sprintf("%s %s %s/%d %d %t: %s", b.Card, b.BusID, b.Chip, b.Chips, b.Told, b.MCU, strings.Join(entries, "; ")))
	}
	return all
}

// A user would notice one chip's values at another, or those of the board's controller at
// a chip.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":           {"", nil},
		"a last line cut":   {"a : 1\nb : 2", []string{"  /0 0 false: |a|=1"}},
		"CRLF":              {"a : 1\r\nb:\r\n", []string{"  /0 0 false: |a|=1; |b|="}},
		"the first colon":   {"Time : 10:20\nkey:value\n", []string{"  /0 0 false: |time|=10:20; |key|=value"}},
		"units":             {"\tTemperature (C)  : 4\n\tAicore  curFreq(MHZ) : 8\nhotspot(sensor1): 1 C\nf(0) x: 1\n", []string{"  /0 0 false: |temperature|C=4; |aicore curfreq|MHZ=8; |hotspot|sensor1=1 C; |f(0) x|=1"}},
		"a value goes on":   {"Info : a\n\n\t    : b\n", []string{"  /0 0 false: |info|=a b"}},
		"nothing to add to": {" : b\n", nil},
		"a drawn table":     {"a : 1\n+--+\n| b : 2 |\n", []string{"  /0 0 false: |a|=1"}},
		"sections": {
			"Attached GPUs : 2\nGPU#0  MXC500  0000:37:00.0\n    Clocks\n        XCORE\n            CLK : 1\n        MC\n            CLK : 2\n    Memory\n        vram : 3\n\n" +
				"GPU#1 MX C500 0000:38:00.0\n    Usage\n        GPU : 4\nGPU#1 show-x Sysfs error: No such file\nEnd of Log\n",
			[]string{"  /0 0 false: |attached gpus|=2", "0 0000:37:00.0 /0 0 false: Clocks/XCORE|clk|=1; Clocks/MC|clk|=2; Memory|vram|=3", "1 0000:38:00.0 /0 0 false: Usage|gpu|=4; |gpu#1 show-x sysfs error|=No such file"},
		},
		"numbers that close": {
			"NPU ID : 3\nChip Count : 2\n\na : 1\nChip ID : 0\n\na : 2\nChip ID : 1\n\nt (C) : 3\nChip Name : mcu\n",
			[]string{"3  0/2 2 false: |a|=1", "3  1/2 2 false: |a|=2", "3  /2 2 true: |t|C=3"},
		},
		"numbers that open": {
			"NPU ID : 3\nChip Count : 2\nChip ID : 0\na : 1\nChip ID : 1\na : 2\nChip Name : MCU\nt (C) : 3\n",
			[]string{"3  0/2 2 false: |a|=1", "3  1/2 2 false: |a|=2", "3  /2 2 true: |t|C=3"},
		},
		"the end is cut":       {"NPU ID : 3\na : 1\nChip ID : 0\na : 2\n", []string{"3  0/0 1 false: |a|=1"}},
		"no numbers":           {"NPU ID : 3\na : 1\n", []string{"3  /0 0 false: |a|=1"}},
		"chips and no numbers": {"NPU ID : 3\nChip Count : 2\na : 1\n", []string{"3  /2 0 false: |a|=1"}},
		"two cards":            {"NPU ID : 3\nChip ID : 0\na : 1\nNPU ID : 4\na : 2\nChip ID : 1\n", []string{"3  0/0 1 false: |a|=1", "4  1/0 1 false: |a|=2"}},
		"a chip's name":        {"Chip Name : 910A\na : 1\n", []string{"  /0 0 false: |chip name|=910A; |a|=1"}},
		"devid":                {"[devid 5]up   : 2\n[devid 5] down: 1\n[device 6]up : 3\n", []string{"5  /0 0 false: |up|=2; |down|=1", "6  /0 0 false: |up|=3"}},
		"other brackets":       {"[pub cert] info: x\n", []string{"  /0 0 false: |[pub cert] info|=x"}},
	} {
		if diff := cmp.Diff(c.want, show(keyvalue.Read([]byte(c.text)))); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}

func watch() keyvalue.Layout {
	return keyvalue.Layout{Words: boxtable.Vocabulary{{Text: "ai core"}, {Text: "hccs link"}}, First: "npuid", Card: "npuid", Chip: "chipid"}
}

// A user would notice the number of one column under another's name.
func TestColumns(t *testing.T) {
	box := keyvalue.Layout{Boxed: true, First: "udie", IDs: []string{"udie", "port"}}
	for name, c := range map[string]struct {
		layout keyvalue.Layout
		text   string
		want   []string
	}{
		"one blank": {watch(), "NpuID(Idx) ChipId(Idx) Pwr(W) AI Core(%)\n0 1 90.1 3\n", []string{"0  1/0 0 false: |pwr|W=90.1; |ai core|%=3"}},
		"no chip":   {watch(), "NpuID(Idx)  Pwr(W)  \r\n7    NA \r\n", []string{"7  /0 0 false: |pwr|W=NA"}},
		"no header": {watch(), "0 1 90.1 3\n", nil},
		"other rows": {
			watch(), "hello\nNpuID(Idx) ChipId(Idx) AI Core(%)\nwarning x y\nNA 1 2\n0 NA 2\n0 1\n0 1 2 3\n0 1 2\n0 1 9",
			[]string{"0  1/0 0 false: |ai core|%=2"},
		},
		"a link's bandwidth": {
			keyvalue.Layout{Words: watch().Words, First: "hccs link", IDs: []string{"hccs link"}},
			"hccs link                      tx_bandwidth(GB/S)             \n1                                   0.570000                      \ntotal                               4.200000  \n",
			[]string{"  /0 0 false: |hccs link|=1; |tx_bandwidth|GB/S=0.570000"},
		},
		"boxes": {
			box, "+---+\n| UDie | Port | Link |\n+---+\n| 0 | 4 | UP |\n| 0 | NA | UP |\n| 0 | 5 |\n| 0 | 6 | DO\n+---+\n| Name | X | Y |\n| 1 | 2 | 3 |\n",
			[]string{"  /0 0 false: |udie|=0; |port|=4; |link|=UP"},
		},
		"text beside boxes": {box, "0 4 UP\nUDie Port Link\n1 2 3\n", nil},
	} {
		if diff := cmp.Diff(c.want, show(keyvalue.Columns([]byte(c.text), c.layout))); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}

// A text of a megabyte costs no more than its bytes: a reader that holds more of it would
// keep a scrape's memory for as long.
func TestSizesAreBounded(t *testing.T) {
	const n = 100_000
	for name, text := range map[string]string{
		"values that go on": "a : 1\n" + strings.Repeat(" : more\n", n),
		"entries":           strings.Repeat("a : 1\n", n),
		"chips":             strings.Repeat("Chip ID : 1\n", n),
		"deep sections":     deep(1400),
	} {
		entries, longest := 0, 0
		for _, b := range keyvalue.Read([]byte(text)) {
			for _, e := range b.Entries {
				entries, longest = entries+1, max(longest, len(e.Value)+len(e.Section))
			}
		}
		if entries > 1400 || longest > 5<<10 {
			t.Errorf("%s: %d entries of up to %d bytes", name, entries, longest)
		}
	}
}

// deep is n titles, each further in than the one before, with a key below each.
func deep(n int) string {
	var b strings.Builder
	for i := range n {
		blanks := strings.Repeat(" ", i)
		b.WriteString(blanks + "title\n" + blanks + " k : 1\n")
	}
	return b.String()
}

// FuzzRead holds that no bytes make the readers panic, that a line is one entry at most,
// and that a text cut behind a line tells no more than the whole.
func FuzzRead(f *testing.F) {
	f.Add([]byte("NPU ID : 3\nChip Count : 2\n\na : 1\nChip ID : 0\n\na : 2\nChip ID : 1\n"), 30)
	f.Add([]byte("GPU#0  MXC500  0000:37:00.0\n    Clocks\n        XCORE\n            CLK : 1\n"), 50)
	f.Add([]byte("[devid 5]up   : 2\n : x\n"), 3)
	f.Add([]byte("NpuID(Idx) ChipId(Idx) AI Core(%)\n0 1 2\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		count := func(text []byte) (n int) {
			for _, b := range keyvalue.Read(text) {
				if len(b.Entries) == 0 {
					t.Fatal("a block of nothing")
				}
				n += len(b.Entries)
			}
			return n
		}
		lines := strings.Count(string(text), "\n")
		whole, part := count(text), count(text[:max(0, min(cut, len(text)))])
		if whole > lines || part > lines {
			t.Fatalf("%d entries, %d of a part, in %d lines", whole, part, lines)
		}
		for _, l := range []keyvalue.Layout{watch(), {Boxed: true, First: "npu", IDs: []string{"port"}}} {
			if n := len(keyvalue.Columns(text, l)); n > lines {
				t.Fatalf("%d rows in %d lines", n, lines)
			}
		}
	})
}
