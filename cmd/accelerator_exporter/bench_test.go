package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

// cpuTime is the processor time of this process so far, user and system.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScrape is one scrape of 16 cards, the NUMA nodes and 4 targets that
// have been probed, over HTTP, compressed, as Prometheus asks for it. CPU is that
// of the whole process, the client's part of it included.
func BenchmarkScrape(b *testing.B) {
	var probes strings.Builder
	probes.WriteString("probes:\n")
	url := server(b)
	for i := range 4 {
		fmt.Fprintf(&probes, "  - {name: target-%d, url: %q, interval: 300ms, max_tokens: 16}\n", i, url)
	}
	load := fakesmi.Load{Busy: 0.5, PID: 1, Process: "python"}
	var metax, ascend bytes.Buffer
	if err := fakesmi.MetaXLayouts()[4].Print(&metax, fakesmi.MetaXMachine("2.2.9", load), time.Now()); err != nil {
		b.Fatal(err)
	}
	if err := fakesmi.AscendLayouts()[3].Print(&ascend, fakesmi.AscendMachine("23.0.7", 1, load)); err != nil {
		b.Fatal(err)
	}
	tool := func(name, text string) string {
		return writeFile(b, name, "#!/bin/sh\nexec cat "+writeFile(b, "table", text, 0o644)+"\n", 0o755)
	}
	p := start(b, "--collector.metax.command="+tool("mx-smi", metax.String()), "--collector.ascend.command="+tool("npu-smi", ascend.String()),
		"--collector.interval=1h", "--collector.timeout=10s", "--config.file="+writeFile(b, "probes.yml", probes.String(), 0o644))
	waitFor(b, "cards and probes are there", func() bool {
		_, body := p.get(b, "/metrics")
		return strings.Contains(body, `accelerator_power_watts{device="7",vendor="ascend"}`) &&
			strings.Contains(body, `accelerator_power_watts{device="7",vendor="metax"}`) &&
			strings.Count(body, "accelerator_probe_success{") == 4
	})
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, p.url+"/metrics", nil)
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			b.Fatal(err)
		}
		response.Body.Close()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/1e3, "cpu-ms/op")
}
