//go:build e2e

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector"
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
	eventually(t, "details of all vendors", func() error {
		metrics, _ := h.get(t, "/metrics", "")
		return present(metrics, append(ascendDetails(),
			`accelerator_ecc_errors_total\{`+card+`memory="hbm",type="correctable",vendor="ascend"\}`,
			`accelerator_clock_hertz\{clock="core",`+card+`vendor="metax"\}`,
			`accelerator_ecc_errors_total\{`+card+`memory="dram",type="correctable",vendor="metax"\}`,
			`accelerator_pcie_link_width\{`+card+`vendor="metax"\}`,
			`accelerator_ras_errors_total\{`+card+`type="correctable",vendor="metax"\}`,
			`accelerator_clock_hertz\{clock="core",`+card+`vendor="nvidia"\}`,
			`accelerator_temperature_celsius\{`+card+`sensor="[a-z]+",vendor="hygon"\}`,
			`accelerator_temperature_celsius\{`+card+`sensor="hbm",vendor="iluvatar"\}`,
			`accelerator_pcie_link_width\{`+card+`vendor="kunlunxin"\}`,
			`accelerator_clock_hertz\{clock="core",`+card+`vendor="moorethreads"\}`,
			`accelerator_pcie_link_width\{`+card+`vendor="enflame"\}`,
			`accelerator_collector_command_success\{collector="ascend",command="hccn_stat"\}`)...)
	})
	metrics, _ := h.get(t, "/metrics", "")
	for _, v := range collector.Vendors() {
		if want := fmt.Sprintf("accelerator_parse_warnings_total{collector=%q} 0\n", v.Name); !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
}
