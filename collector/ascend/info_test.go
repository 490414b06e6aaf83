package ascend_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

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
	const chip = "| NPU Name | Health | Power(W) Temp(C) |\n| Chip | Bus-Id | AICore(%) Memory-Usage(MB) |\n| 0 X | OK | 1 2 |\n| 0 | NA | 3 4/5 |\n"
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
