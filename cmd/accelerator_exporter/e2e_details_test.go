//go:build e2e

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// present fails unless a sample, also one of 0, matches every pattern.
func present(metrics string, patterns ...string) error {
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)^` + p + ` `).MatchString(metrics) {
			return fmt.Errorf("no sample for %s", p)
		}
	}
	return nil
}

// ascendDetails are of a kind each, and of none that ecc tells.
func ascendDetails() []string {
	const card = `device="[0-7]",`
	return []string{
		`accelerator_clock_hertz\{clock="core",` + card + `vendor="ascend"\}`,
		`accelerator_engine_utilization_ratio\{` + card + `engine="aicore",vendor="ascend"\}`,
		`accelerator_link_packets_total\{` + card + `direction="receive",link="1",vendor="ascend"\}`,
		`accelerator_network_up\{` + card + `port="",udie="",vendor="ascend"\}`,
		`accelerator_network_bytes_total\{` + card + `direction="receive",vendor="ascend"\}`,
		`accelerator_optical_power_watts\{` + card + `direction="receive",lane="0",vendor="ascend"\}`,
	}
}

// details are what operators look at beside the table, of every tool.
func (h *host) details(t *testing.T) {
	const card = `device="[0-7]",`
	eventually(t, "details of both vendors", func() error {
		metrics, _ := h.get(t, "/metrics", "")
		return present(metrics, append(ascendDetails(),
			`accelerator_ecc_errors_total\{`+card+`memory="hbm",type="correctable",vendor="ascend"\}`,
			`accelerator_clock_hertz\{clock="core",`+card+`vendor="metax"\}`,
			`accelerator_ecc_errors_total\{`+card+`memory="dram",type="correctable",vendor="metax"\}`,
			`accelerator_pcie_link_width\{`+card+`vendor="metax"\}`,
			`accelerator_ras_errors_total\{`+card+`type="correctable",vendor="metax"\}`,
			`accelerator_collector_command_success\{collector="ascend",command="hccn_stat"\}`)...)
	})
	metrics, _ := h.get(t, "/metrics", "")
	for _, vendor := range []string{"metax", "ascend"} {
		if want := fmt.Sprintf("accelerator_parse_warnings_total{collector=%q} 0\n", vendor); !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
}

// detailHangs starts an exporter of a host on which one command hangs: it alone is missing.
func (h *host) detailHangs(t *testing.T) {
	h.setFault(t, "npu-smi", "ecc hang")
	defer h.setFault(t, "npu-smi", "")
	const name = "accelerator_exporter-ecc"
	if err := os.Symlink("accelerator_exporter", h.path(name)); err != nil {
		t.Fatal(err)
	}
	other := host{dir: h.dir}
	other.process, other.exporter = other.start(t, regexp.MustCompile(`Listening on.* address=(\S+)`), name, other.collecting()...)
	eventually(t, "every other detail", func() error {
		metrics, _ := other.get(t, "/metrics", "")
		if strings.Contains(metrics, `accelerator_ecc_errors_total{device="0",memory="hbm"`) {
			t.Fatal("ecc is told")
		}
		return present(metrics, append(ascendDetails(), `accelerator_power_watts\{device="0",vendor="ascend"\}`)...)
	})
	metrics, _ := other.get(t, "/metrics", "")
	for _, want := range []string{`accelerator_collector_command_success{collector="ascend",command="ecc"} 0`, `accelerator_collector_success{collector="ascend"} 1`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if err := other.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := other.process.Wait(); err != nil {
		t.Errorf("exit status: %v", err)
	}
}
