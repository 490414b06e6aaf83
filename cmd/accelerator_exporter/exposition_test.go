package main

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const exposition = "testdata/metrics.golden"

// keptRuntime are those of client_golang's own metrics that the exposition keeps:
// what a dashboard of an exporter shows. The others change with Go's version.
var keptRuntime = []string{
	"go_goroutines", "process_cpu_seconds_total", "process_max_fds", "process_open_fds",
	"process_resident_memory_bytes", "process_start_time_seconds",
}

// TestExposition scrapes the program on a machine that has one of everything.
// Values that differ from run to run are fixed: times are 0.25 s, instants 1.7e9,
// histograms empty, client_golang's own 1.
func TestExposition(t *testing.T) {
	p := start(t, everything(t)...)
	var all map[string]*dto.MetricFamily
	var before string
	waitFor(t, "cards, links and both probes are there, and nothing changes any more", func() bool {
		_, body := p.get(t, "/metrics")
		if !isWhole(body) || !detailsTold(body) {
			return false
		}
		all = steady(expositiontest.Families(t, body))
		text := expositiontest.Text(t, all)
		same := text == before
		before = text
		return same
	})
	addPorts(t, all)
	expositiontest.Compare(t, exposition, all, *update)
}

// isWhole tells whether a scrape has what comes last of each source.
func isWhole(body string) bool {
	for _, last := range []string{
		`accelerator_collector_success{collector="metax"} 1`,
		`accelerator_collector_success{collector="ascend"} 1`,
		`accelerator_collector_success{collector="numa"} 1`,
		`accelerator_collector_success{collector="containers"} 1`,
		`accelerator_process_container_info{container="vllm",container_id="` + containerID + `",namespace="team-a",pid="4242",pod="llm-0",pod_uid="` + podUID + `",vendor="metax"} 1`,
		`accelerator_process_container_info{container="",container_id="` + containerID + `",namespace="",pid="4343",pod="",pod_uid="",vendor="ascend"} 1`,
		`accelerator_collector_success{collector="allocations"} 1`,
		`accelerator_process_node_memory_bytes{node="1",pid="4343",vendor="ascend"} 8.388608e+06`,
		`accelerator_numa_node_conflict{device="1",vendor="metax"} 1`,
		`accelerator_link_info{device="0",link="SIO",peer="1",vendor="ascend"} 1`,
		`accelerator_link_info{device="0",link="PXB",peer="mlx5_0",vendor="metax"} 1`,
		`accelerator_probe_target_device_info{device="0",target="chat-c",vendor="metax"} 1`,
		`accelerator_probe_success{model="qwen2.5",target="chat-c"} 1`,
		`accelerator_probe_in_flight{model="qwen2.5",target="chat-c"} 0`,
		`accelerator_probe_success{model="qwen2.5",target="standby"} 0`,
		`accelerator_probe_in_flight{model="qwen2.5",target="standby"} 0`,
	} {
		if !strings.Contains(body, last+"\n") {
			return false
		}
	}
	return true
}

// TestExpositionIsComplete holds the golden file against all that the program registers.
func TestExpositionIsComplete(t *testing.T) {
	s, err := parseFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDaemon(s, configuration{}, log.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	d.handler() // registers what counts scrapes
	if n := expositiontest.Complete(t, exposition, described{d.registry, d.hardware}, leftOut); n < 60 {
		t.Errorf("only %d metrics are described", n)
	}
}

// described is all that a scrape may give.
type described struct {
	*prometheus.Registry
	hardware *collector.Collector
}

func (d described) Describe(ch chan<- *prometheus.Desc) {
	d.Registry.Describe(ch)
	d.hardware.Describe(ch)
}

func ofRuntime(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_")
}

func leftOut(name string) bool { return ofRuntime(name) && !slices.Contains(keptRuntime, name) }

// steady leaves out and fixes what differs from run to run.
func steady(all map[string]*dto.MetricFamily) map[string]*dto.MetricFamily {
	for name, f := range all {
		if leftOut(name) {
			delete(all, name)
		}
		for _, m := range f.GetMetric() {
			fix(name, m)
		}
	}
	return all
}

// fix puts a fixed value where it differs from run to run.
func fix(name string, m *dto.Metric) {
	const instant, span = 1.7e9, 0.25
	set := func(v float64) {
		switch {
		case m.Gauge != nil:
			m.Gauge.Value = &v
		case m.Counter != nil:
			m.Counter.Value = &v
		}
	}
	switch {
	case m.Histogram != nil:
		expositiontest.Empty(m.Histogram)
	case ofRuntime(name):
		set(1)
	case name == "accelerator_parse_warnings_total" && m.Label[0].GetValue() == "allocations":
		set(0) // the kubelet may answer before the tool has named its cards
	case strings.HasSuffix(name, "_timestamp_seconds"):
		set(instant)
	case name == "accelerator_collector_duration_seconds", name == "accelerator_collector_command_duration_seconds",
		name == "accelerator_probe_phase_seconds":
		set(span)
	case name == "accelerator_exporter_build_info":
		for _, l := range m.Label {
			value := "x"
			l.Value = &value
		}
	}
}
