package ascend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

func ptr[T any](v T) *T { return &v }

// chip910B is a table with one chip of the family with HBM.
func chip910B(health, power, temp, hugepages, aicore, ddr, hbm string) string {
	return fmt.Sprintf(`
| NPU   Name   | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID | Bus-Id        | AICore(%%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+==+
| 6     910B4  | %s | %s  %s  %s |
| 1     13     | 0000:C1:00.0  | %s  %s  %s |
`, health, power, temp, hugepages, aicore, ddr, hbm)
}

func util(v float64) model.Readings    { return modeltest.Reading("utilization_ratio", v) }
func watts(v float64) model.Readings   { return modeltest.Reading("power_watts", v) }
func celsius(v float64) model.Readings { return modeltest.Reading("temperature_celsius", v, "chip") }

func pages(used, total *float64) model.Readings {
	return modeltest.Usage("hugepages_", "", 1, used, total)
}

func ddr(used, total *float64) model.Readings {
	return modeltest.Usage("memory_", "_bytes", 1<<20, used, total, "ddr")
}

func hbm(used, total *float64) model.Readings {
	return modeltest.Usage("memory_", "_bytes", 1<<20, used, total, "hbm")
}

// A user would notice a reading that the chip never had.
func TestCells(t *testing.T) {
	ok := &model.Health{OK: true, State: "OK"}
	type d = model.Device
	for _, c := range []struct {
		name, out string
		want      model.Device
		warnings  []string
	}{
		{
			name: "all is printed", out: chip910B("OK", "107.3", "44", "15   / 970", "9", "1203 / 13553", "29611/ 32768"),
			want: d{Health: ok, Readings: slices.Concat(watts(107.3), celsius(44), util(0.09), ddr(ptr(1203.), ptr(13553.)), hbm(ptr(29611.), ptr(32768.)), pages(ptr(15.), ptr(970.)))},
		},
		{
			name: "no blanks, all of them", out: chip910B("OK", "1", "2", "3/4", "100", "5/6", "7    /    8"),
			want: d{Health: ok, Readings: slices.Concat(watts(1), celsius(2), util(1), ddr(ptr(5.), ptr(6.)), hbm(ptr(7.), ptr(8.)), pages(ptr(3.), ptr(4.)))},
		},
		{
			name: "a total of 0 is none", out: chip910B("OK", "88.0", "35", "0    / 0", "0", "0    / 0", "2833 / 32768"),
			want: d{Health: ok, Readings: slices.Concat(watts(88), celsius(35), util(0), hbm(ptr(2833.), ptr(32768.)))},
		},
		{
			name: "the second die has no power of its own", out: chip910B("OK", "-", "35", "0 / 0", "0", "0 / 0", "2833 / 32768"),
			want: d{Health: ok, Readings: slices.Concat(celsius(35), util(0), hbm(ptr(2833.), ptr(32768.)))},
		},
		{
			name: "not printed", out: chip910B("NA", "NA", "NA", "NA", "NA", "NA", "NA"),
		},
		{
			name: "not printed, in pairs", out: chip910B("-", "N/A", "-", "NA / NA", "N/A", "- / -", "N/A / N/A"),
		},
		{
			name: "half printed", out: chip910B("OK", "unknown", "35", "NA / 970", "7", "NA / 44280", "5 / NA"),
			want: d{Health: ok, Readings: slices.Concat(celsius(35), util(0.07), ddr(nil, ptr(44280.)), hbm(ptr(5.), nil), pages(nil, ptr(970.)))},
		},
		{
			name: "units in the cells", out: chip910B("OK", "88.5 W", "35C", "1 / 2", "7 %", "0 / 0", "1 GB / 2 GB"),
			want: d{Health: ok, Readings: slices.Concat(watts(88.5), celsius(35), util(0.07), hbm(ptr(1024.), ptr(2048.)), pages(ptr(1.), ptr(2.)))},
		},
		{
			name:     "no unit anywhere, but for memory, which is not guessed at",
			out:      strings.NewReplacer("(W)", "", "(C)", "", "(page)", "", "(%)", "", "(MB)", "").Replace(chip910B("OK", "88.5", "35", "1 / 2", "7", "1 / 2", "3 / 4")),
			want:     d{Health: ok, Readings: slices.Concat(watts(88.5), celsius(35), util(0.07), pages(ptr(1.), ptr(2.)))},
			warnings: []string{`NPU 6: cannot read memory-usage from "1 / 2": its total: no unit, or another one`, `NPU 6: cannot read hbm-usage from "3 / 4": its total: no unit, or another one`},
		},
		{
			name: "below zero", out: chip910B("OK", "-0.5", "-12", "-1 / 5", "-1", "-3 / 4", "-24 / 32768"),
			want: d{Health: ok, Readings: slices.Concat(celsius(-12), ddr(nil, ptr(4.)), hbm(nil, ptr(32768.)), pages(nil, ptr(5.)))},
			warnings: []string{
				`NPU 6: cannot read power from "-0.5": beyond what a machine can have`,
				`NPU 6: cannot read hugepages-usage from "-1 / 5": its used part: beyond what a machine can have`,
				`NPU 6: cannot read aicore from "-1": beyond what a machine can have`,
				`NPU 6: cannot read memory-usage from "-3 / 4": its used part: beyond what a machine can have`,
				`NPU 6: cannot read hbm-usage from "-24 / 32768": its used part: beyond what a machine can have`,
			},
		},
		{
			name: "more than there can be", out: chip910B("OK", "88.0", "35", "0 / 0", "101", "0 / 0", "4294967272/ 32768"),
			want:     d{Health: ok, Readings: slices.Concat(watts(88), celsius(35), hbm(nil, ptr(32768.)))},
			warnings: []string{`NPU 6: cannot read aicore from "101": beyond what a machine can have`, `NPU 6: cannot read hbm-usage from "4294967272/ 32768": used is more than the total`},
		},
		{
			name: "words", out: chip910B("OK", "ERR!", "hot", "1 / 2", "busy", "0 / 0", "full"),
			want: d{Health: ok, Readings: slices.Concat(pages(ptr(1.), ptr(2.)))},
			warnings: []string{
				`NPU 6: cannot read power from "ERR!": no number`, `NPU 6: cannot read temp from "hot": no number`,
				`NPU 6: cannot read aicore from "busy": no number`, `NPU 6: cannot read hbm-usage from "full": no pair with a slash`,
			},
		},
		{
			name: "a value too few: which one cannot be known", out: chip910B("OK", "88.0", "", "1 / 2", "", "0 / 0", "5 / 6"),
			want: d{Health: ok},
			warnings: []string{
				`NPU 6: "88.0    1 / 2" has other values than its header has words`, `NPU 6: "0 / 0  5 / 6" has other values than its header has words`,
			},
		},
		{
			name: "a chip that could not be asked is not well", out: chip910B("OK", "0.0", "0", "0 / 0", "0", "0 / 0", "0 / 0"),
			warnings: []string{"NPU 6: every reading is zero, which is what a failed query prints"},
		},
		{
			name: "a chip that is not there is ill", out: chip910B("UNKNOWN", "0.0", "0", "0 / 0", "0", "0 / 0", "0 / 0"),
			want:     d{Health: &model.Health{State: "UNKNOWN"}},
			warnings: []string{"NPU 6: every reading is zero, which is what a failed query prints"},
		},
		{
			name: "any other word is ill", out: chip910B("Important", "1.0", "2", "0 / 0", "0", "0 / 0", "0 / 0"),
			want: d{Health: &model.Health{State: "Important"}, Readings: slices.Concat(watts(1), celsius(2), util(0))},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ascend.ParseInfo([]byte(c.out))
			if err != nil {
				t.Fatal(err)
			}
			c.want.ID, c.want.NPU, c.want.Chip, c.want.Name, c.want.BusID = "13", "6", "1", "910B4", "0000:C1:00.0"
			if diff := cmp.Diff([]model.Device{c.want}, r.Devices, modeltest.InAnyOrder()); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
			if diff := cmp.Diff(c.warnings, r.Warnings.Texts); diff != "" {
				t.Errorf("warnings wanted (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}

// The label device is what a workload selects a chip by.
func TestDeviceNumbers(t *testing.T) {
	const head = "| NPU Name | Health | Power(W) Temp(C) |\n| Chip %s | Bus-Id | AICore(%%) Memory-Usage(MB) |\n"
	type chip struct{ npu, chip, number string }
	for _, c := range []struct {
		name, word string
		chips      []chip
		want       []string
	}{
		{"the NPU id where no number has a column", "", []chip{{"0", "0", ""}, {"32", "0", ""}}, []string{"0", "32"}},
		{"the Device column", "Device", []chip{{"215", "0", "0"}, {"215", "1", "1"}}, []string{"0", "1"}},
		{"the Phy-ID column", "Phy-ID", []chip{{"6", "0", "12"}, {"6", "1", "13"}}, []string{"12", "13"}},
		{"the NPU id where the column is empty", "Device", []chip{{"0", "0", ""}, {"4", "0", "NA"}}, []string{"0", "4"}},
		{"places for all where one number is two chips'", "Phy-ID", []chip{{"0", "0", "0"}, {"0", "1", "0"}, {"1", "0", "7"}}, []string{"0.0", "0.1", "1.0"}},
		{"places for all where an NPU has two chips without numbers", "", []chip{{"3", "0", ""}, {"3", "1", ""}, {"5", "0", ""}}, []string{"3.0", "3.1", "5.0"}},
		{"the same chip twice makes no number ambiguous", "Phy-ID", []chip{{"6", "0", "12"}, {"6", "0", "12"}, {"6", "1", "13"}}, []string{"12", "13"}},
	} {
		out := fmt.Sprintf(head, c.word)
		for i, x := range c.chips {
			out += fmt.Sprintf("| %s X | OK | 1 2 |\n| %s %s | 0000:%02X:00.0 | 3 4/5 |\n", x.npu, x.chip, x.number, i)
		}
		r, err := ascend.ParseInfo([]byte(out))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, d := range r.Devices {
			got = append(got, d.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", c.name, diff)
		}
	}
}

func TestTitle(t *testing.T) {
	chip := chip910B("OK", "1", "2", "3/4", "5", "6/7", "8/9")
	for title, want := range map[string]*model.Tool{
		"":            nil,
		"| hello |\n": nil,
		"| npu-smi 23.0.rc3          Version: 23.0.rc2.3        |\n": {Name: "npu-smi", Version: "23.0.rc3", DriverVersion: "23.0.rc2.3"},
		"| NPU-SMI 1.0 Version: 2.0 |\n":                             {Name: "npu-smi", Version: "1.0", DriverVersion: "2.0"},
		"| npu-smi NA    Version: NA |\n":                            {Name: "npu-smi"},
		"| npu-smi |\n":                                              {Name: "npu-smi"},
		"| npu-smi 25.0 |\n":                                         {Name: "npu-smi", Version: "25.0"},
	} {
		r, err := ascend.ParseInfo([]byte(title + chip))
		if err != nil {
			t.Errorf("%q: %v", title, err)
		}
		if diff := cmp.Diff(want, r.Tool); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", title, diff)
		}
	}
}

func TestClassify(t *testing.T) {
	for want, texts := range map[failure.Reason][]string{
		failure.Driver: {
			"DrvMngGetConsoleLogLevel failed. (ret=4)\ndcmi module initialize failed. ret is -8005\n",
			"npu get board type failed. ret is -8012",
			"npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file: No such file",
			"npu-smi: error while loading shared libraries: libascend_hal.so: cannot open shared object file: -8020",
		},
		failure.Busy: {"dcmi model initialized failed, because the device is used. ret is -8020"},
		failure.NoDevice: {
			"There is no NPU card on this server.",
			"There is no NPU chip on this card.",
			"Failed to get card number.",
			"Invalid card id.\nError parameter of -i\nUsage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]",
		},
		failure.Permission: {
			"Operation not permitted, only root user can run this",
			"ret is -8002",
			"bash: /usr/local/bin/npu-smi: Permission denied",
		},
		failure.Unsupported: {
			"This device does not support querying spod-info.",
			"NPU is working in SMP mode, does not support querying topo",
			"This command cannot be executed on a VM/common container.",
			"Command or option is not found.",
			"Error parameter of -t",
			"Failed to execute npu-smi info. ret is -8255",
		},
		"": {"", "[WARNING]The driver package may not be completely installed, which may cause function abnormal."},
	} {
		for _, text := range texts {
			reason, line, ok := ascend.Classify([]byte(text))
			if reason != want || ok != (want != "") {
				t.Errorf("%q is %q, want %q", text, reason, want)
			}
			if hint := strings.Contains(line, "LD_LIBRARY_PATH"); hint != strings.Contains(text, "shared libraries") {
				t.Errorf("%q is told as %q", text, line)
			}
		}
	}
}

// The same program resets chips and changes their configuration.
func TestVendorOnlyReads(t *testing.T) {
	v := ascend.Vendor()
	allowed := map[string]bool{"info": true, "info -m": true, "info -l": true, "info -t topo": true}
	for _, q := range append(v.Sides, v.Table) {
		for _, args := range q.Args {
			if line := strings.Join(args, " "); !allowed[line] {
				t.Errorf("asks %q", line)
			}
		}
	}
}

func TestTopologyNames(t *testing.T) {
	single := []model.Device{{ID: "0", NPU: "0", Chip: "0"}, {ID: "5", NPU: "5", Chip: "0"}}
	physical := []model.Device{{ID: "12", NPU: "6", Chip: "0"}, {ID: "13", NPU: "6", Chip: "1"}}
	places := []model.Device{{ID: "2.0", NPU: "2", Chip: "0"}, {ID: "2.1", NPU: "2", Chip: "1"}, {ID: "3.0", NPU: "3", Chip: "0"}}
	logical := []model.Device{{ID: "0", NPU: "4", Chip: "0"}, {ID: "1", NPU: "9", Chip: "0"}}
	for _, c := range []struct {
		name    string
		devices []model.Device
		id      string
	}{
		{"NPU0", single, "0"},
		{"NPU5", single, "5"},
		{"NPU3", single, "3"},
		{"Phy-ID13", physical, "13"},
		{"Phy-ID6", physical, "6"},
		{"NPU6", physical, "NPU6"},
		{"NPU3", places, "3.0"},
		{"NPU2", places, "NPU2"},
		{"Phy-ID4", places, "4"},
		{"NPU4", logical, "0"},
		{"NPU1", logical, "NPU1"},
		{"hns_0", single, "hns_0"},
	} {
		if id := ascend.Vendor().Resolve(c.name, c.devices); id != c.id {
			t.Errorf("%s among %v means %q, want %q", c.name, c.devices, id, c.id)
		}
	}
}
