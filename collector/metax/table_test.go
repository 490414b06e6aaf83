package metax_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

func ptr[T any](v T) *T { return &v }

// newCard is a table of the newest layout with one card.
func newCard(util, power, temp, memory, state string) string {
	return fmt.Sprintf(`
| Board       Name | GPU   Persist-M | Bus-id       | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage | GPU-State            |
|==|
| 1     MetaX C500 | 2           Off | 0000:0e:00.0 | %s |
| %s | %s | %s | %s |
`, util, power, temp, memory, state)
}

// oldCard is a table of the oldest layout with one card.
func oldCard(util, tempPower, memory string) string {
	return fmt.Sprintf(`
| GPU         NAME   | Bus-id         | GPU-Util |
| Temp        Power  | Memory-Usage   |          |
|==|
| 2           MXC500 | 0000:0e:00.0   | %s       |
| %s                 | %s             |          |
`, util, tempPower, memory)
}

func util(v float64) model.Readings    { return modeltest.Reading("utilization_ratio", v) }
func watts(v float64) model.Readings   { return modeltest.Reading("power_watts", v) }
func limit(v float64) model.Readings   { return modeltest.Reading("power_limit_watts", v) }
func celsius(v float64) model.Readings { return modeltest.Reading("temperature_celsius", v, "chip") }
func level(v float64) model.Readings   { return modeltest.Reading("performance_level", v) }

func vram(used, total *float64) model.Readings {
	return modeltest.Usage("memory_", "_bytes", 1<<20, used, total, "vram")
}

// A user would notice a reading that the card never had.
func TestCells(t *testing.T) {
	health := func(state, reason string) *model.Health {
		return &model.Health{OK: state == "Available", State: state, Reason: reason}
	}
	type d = model.Device
	for _, c := range []struct {
		name, out string
		want      model.Device
		warnings  []string
	}{
		{
			name: "all is printed", out: newCard("37%   Enabled", "201W / 350W", "61C   P9", "5680/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(0.37), watts(201), limit(350), celsius(61), level(9), vram(ptr(5680.), ptr(65536.)))},
		},
		{
			name: "blanks before units", out: newCard("37 % *sGPU", "201 W / 350 W", "61 C  P 9", "5680 / 65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(0.37), watts(201), limit(350), celsius(61), vram(ptr(5680.), ptr(65536.)))},
			warnings: []string{
				`card 2: cannot tell which part of "61 C  P 9" is perf`,
			},
		},
		{
			name: "no blanks", out: newCard("0% Native", "69W/350W", "0C P0", "0/65536MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(0), watts(69), limit(350), celsius(0), level(0), vram(ptr(0.), ptr(65536.)))},
		},
		{
			name: "no cap", out: newCard("100% Off", "97W / NA", "61C P9", "65536/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(1), watts(97), celsius(61), level(9), vram(ptr(65536.), ptr(65536.)))},
		},
		{
			name: "no cap at all", out: newCard("1% Off", "97W", "61C P9", "1/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(0.01), watts(97), celsius(61), level(9), vram(ptr(1.), ptr(65536.)))},
		},
		{
			name: "no draw", out: newCard("1% Off", "N/A / 350W", "61C P9", "1/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(0.01), limit(350), celsius(61), level(9), vram(ptr(1.), ptr(65536.)))},
		},
		{
			name: "nothing", out: newCard("NA NA", "NA / NA", "NA NA", "NA/NA MiB", "NA"),
		},
		{
			name: "a zero total and a zero cap are unknown", out: newCard("NA NA", "NA / 0W", "NA NA", "0/0 MiB", "NA"),
		},
		{
			name: "empty cells", out: newCard("", "", "", "", ""),
		},
		{
			name: "words are not numbers", out: newCard("busy Off", "much / 350W", "hot P-9", "full/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(limit(350), vram(nil, ptr(65536.)))},
			warnings: []string{
				`card 2: cannot read gpu-util from "busy": no number`,
				`card 2: cannot read pwr:usage/cap from "much / 350W": no number`,
				`card 2: cannot read temp from "hot": no number`,
				`card 2: cannot read perf from "P-9": no number`,
				`card 2: cannot read memory-usage from "full/65536 MiB": its used part: no number`,
			},
		},
		{
			name: "numbers without their unit", out: newCard("37 Off", "201 / 350", "61 9", "5680/65536", "Available"),
			want: d{Health: health("Available", "")},
			warnings: []string{
				`card 2: cannot read gpu-util from "37": no unit, or another one`,
				`card 2: cannot read pwr:usage/cap from "201 / 350": no unit, or another one`,
				`card 2: cannot read temp from "61": no unit, or another one`,
				`card 2: cannot read perf from "9": no number`,
				`card 2: cannot read memory-usage from "5680/65536": its total: no unit, or another one`,
			},
		},
		{
			name: "out of range", out: newCard("101% Off", "-1W / -2W", "-5C P99999999999", "65537/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(celsius(-5), vram(nil, ptr(65536.)))},
			warnings: []string{
				`card 2: cannot read gpu-util from "101%": beyond what a machine can have`,
				`card 2: cannot read pwr:usage/cap from "-1W / -2W": beyond what a machine can have`,
				`card 2: cannot read perf from "P99999999999": no number`,
				`card 2: cannot read memory-usage from "65537/65536 MiB": used is more than the total`,
			},
		},
		{
			name: "a value too few: what is left is known by its unit", out: newCard("37%", "201W / 350W", "P9", "5680/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(util(0.37), watts(201), limit(350), level(9), vram(ptr(5680.), ptr(65536.)))},
			warnings: []string{
				`card 2: cannot tell which part of "P9" is temp`,
			},
		},
		{
			name: "a value too much", out: newCard("37% 38% Off", "201W / 350W", "61C up P9", "5680/65536 MiB", "Available"),
			want: d{Health: health("Available", ""), Readings: slices.Concat(watts(201), limit(350), celsius(61), level(9), vram(ptr(5680.), ptr(65536.)))},
			warnings: []string{
				`card 2: cannot tell which part of "37% 38% Off" is gpu-util`,
			},
		},
		{
			name: "another state", out: newCard("0% Off", "9W / 350W", "30C P0", "1/65536 MiB", "Resetting"),
			want: d{Health: health("Resetting", ""), Readings: slices.Concat(util(0), watts(9), limit(350), celsius(30), level(0), vram(ptr(1.), ptr(65536.)))},
		},
		{
			name: "a state with its reason", out: newCard("0% Off", "NA", "NA NA", "NA", "Not Available(Layout Node Not Found)"),
			want: d{Health: health("Not Available", "Layout Node Not Found"), Readings: slices.Concat(util(0))},
		},
		{
			name: "states are matched as printed", out: newCard("0% Off", "NA", "NA NA", "NA", "available"),
			want: d{Health: health("available", ""), Readings: slices.Concat(util(0))},
		},
		{
			name: "the old layout", out: oldCard("37%", "61C   201W", "5680/65536 MiB"),
			want: d{Readings: slices.Concat(util(0.37), watts(201), celsius(61), vram(ptr(5680.), ptr(65536.)))},
		},
		{
			name: "the old layout with a cap nobody announced", out: oldCard("37%", "61C   201W / 350W", "5680/65536 MiB"),
			want: d{Readings: slices.Concat(util(0.37), watts(201), limit(350), celsius(61), vram(ptr(5680.), ptr(65536.)))},
		},
		{
			name: "the old layout without a temperature", out: oldCard("37%", "201W", "5680/65536 MiB"),
			want:     d{Readings: slices.Concat(util(0.37), watts(201), vram(ptr(5680.), ptr(65536.)))},
			warnings: []string{`card 2: cannot tell which part of "201W" is temp`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := metax.ParseTable([]byte(c.out))
			if err != nil {
				t.Fatal(err)
			}
			c.want.ID, c.want.BusID = "2", "0000:0e:00.0"
			if c.want.Name, c.want.Board = "MXC500", ""; strings.Contains(c.out, "Board") {
				c.want.Name, c.want.Board = "MetaX C500", "1"
			}
			if diff := cmp.Diff([]model.Device{c.want}, r.Devices, modeltest.InAnyOrder()); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
			if diff := cmp.Diff(c.warnings, r.Warnings.Texts); diff != "" {
				t.Errorf("warnings wanted (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	card := newCard("0% Off", "9W / 350W", "30C P0", "1/65536 MiB", "Available")
	for _, c := range []struct {
		title string
		want  *model.Tool
	}{
		{"", nil},
		{"| hello |\n", nil},
		{
			"| MX-SMI 2.2.9    Kernel Mode Driver Version: 3.4.4 |\n| MACA Version: 3.3.0.15    BIOS Version: 1.30.0.0 |\n",
			&model.Tool{Name: "mx-smi", Version: "2.2.9", DriverVersion: "3.4.4", RuntimeVersion: "3.3.0.15", FirmwareVersion: "1.30.0.0"},
		},
		{
			"| HT-SMI 2.2.9    Kernel Mode Driver Version: 3.4.4 |\n| HPCC Version: 3.3.0.15    BIOS Version: 1.30.0.0 |\n",
			&model.Tool{Name: "ht-smi", Version: "2.2.9", DriverVersion: "3.4.4", RuntimeVersion: "3.3.0.15", FirmwareVersion: "1.30.0.0"},
		},
		{"| MX-SMI 2.1.12   Kernel Mode Driver Version: unknown |\n| MACA Version: unknown    BIOS Version: NA |\n", &model.Tool{Name: "mx-smi", Version: "2.1.12"}},
		{"| MX-SMI          Kernel Mode Driver Version: |\n| MACA Version:    BIOS Version: 1.30 |\n", &model.Tool{Name: "mx-smi", FirmwareVersion: "1.30"}},
		{"| MACA Version: 3.3.0.15 |\n", &model.Tool{RuntimeVersion: "3.3.0.15"}},
	} {
		r, err := metax.ParseTable([]byte(c.title + card))
		if err != nil {
			t.Errorf("%q: %v", c.title, err)
		}
		if diff := cmp.Diff(c.want, r.Tool); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", c.title, diff)
		}
	}
}

func TestClassify(t *testing.T) {
	for want, texts := range map[failure.Reason][]string{
		failure.NoDevice: {"mx-smi  version: 2.2.3\nNo available devices were discovered\n", "Target device is not available"},
		failure.Driver: {
			"mx-smi: error while loading shared libraries: libmxsml.so: cannot open shared object file",
			"Driver is not loaded",
			"MetaX Kernel Driver Not Found",
			"Mars Kernel Driver Not Found",
			"Driver And Vbios Compatibility Check Failed",
		},
		failure.Busy:        {"Device is busy"},
		failure.Permission:  {"open /dev/dri/card0: Permission denied"},
		failure.Unsupported: {"PARSE ERROR: Argument: -q\n             Couldn't find match for argument\n", "Operation not support in target device"},
		"":                  {"", "GPU#0 show-pcie-slot Sysfs error: No such file or directory"},
	} {
		for _, text := range texts {
			reason, line, ok := metax.Classify([]byte(text))
			if reason != want || ok != (want != "") {
				t.Errorf("%q is %q, want %q", text, reason, want)
			}
			if ok && (line == "" || strings.Contains(line, "\n") || !strings.Contains(text, line)) {
				t.Errorf("%q is told as %q", text, line)
			}
		}
	}
}

// The same program resets cards and flashes firmware.
func TestVendorOnlyReads(t *testing.T) {
	v := metax.Vendor()
	allowed := map[string]bool{"": true, "-L": true, "topo -n": true, "topo -m": true}
	for _, q := range append(v.Sides, v.Table) {
		for _, args := range q.Args {
			if line := strings.Join(args, " "); !allowed[line] {
				t.Errorf("asks %q", line)
			}
		}
	}
}

func TestTopologyNamesAreCardNumbers(t *testing.T) {
	for name, want := range map[string]string{"GPU0": "0", "GPU12": "12", "mlx5_0": "mlx5_0", "NIC0": "NIC0"} {
		if id := metax.Vendor().Resolve(name, nil); id != want {
			t.Errorf("%s means %q, want %q", name, id, want)
		}
	}
}

// A release that prints a word of one box in another: a scrape must have no series
// that the card or the slice never had.
func TestWordsOfAnotherBox(t *testing.T) {
	text := modeltest.Read(t, "testdata/table-2.2.12-slices.txt")
	words := []string{"GPU-Util ", "Pwr:Usage/Cap", "Temp ", "Perf ", "Memory-Usage", "Compute ", "Vram Quota", "sGPU-Util"}
	for _, from := range words {
		for _, to := range words {
			out := strings.Replace(string(text), from, to, 1)
			if r, err := metax.ParseTable([]byte(out)); err == nil {
				modeltest.CheckReport(t, r)
			}
		}
	}
}
