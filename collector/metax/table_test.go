package metax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

func TestTitle(t *testing.T) {
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
		r, err := metax.ParseTable([]byte(c.title + oneCard))
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

func TestTopologyNamesAreCardNumbers(t *testing.T) {
	for name, want := range map[string]string{"GPU0": "0", "GPU12": "12", "mlx5_0": "mlx5_0", "NIC0": "NIC0"} {
		if id := metax.Vendor().Resolve(name, nil); id != want {
			t.Errorf("%s means %q, want %q", name, id, want)
		}
	}
}
