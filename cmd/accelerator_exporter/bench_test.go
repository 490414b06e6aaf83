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
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
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
// have been probed, over HTTP, compressed, as Prometheus asks for it: without and
// with all details. CPU is that of the whole process, the client's part of it
// included.
func BenchmarkScrape(b *testing.B) {
	for _, detail := range []string{"off", "full"} {
		b.Run("detail="+detail, func(b *testing.B) { benchmarkScrape(b, detail) })
	}
}

func benchmarkScrape(b *testing.B, detail string) {
	p := start(b, append(sixteenCards(b), "--collector.detail="+detail)...)
	waitFor(b, "cards and probes are there", func() bool {
		_, body := p.get(b, "/metrics")
		for _, vendor := range []string{"metax", "ascend"} {
			if !strings.Contains(body, `accelerator_power_watts{device="7",vendor="`+vendor+`"}`) {
				return false
			}
		}
		return strings.Count(body, "accelerator_probe_success{") == 4 && (detail == "off" ||
			strings.Contains(body, `accelerator_pci_events_total{device="7"`) &&
				strings.Contains(body, `accelerator_network_speed_bits_per_second{device="7"`) &&
				strings.Contains(body, `accelerator_sio_errors_total{device="7"`))
	})
	_, body := p.get(b, "/metrics")
	series := strings.Count(body, "\n") - strings.Count(body, "\n#")
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		scrapeCompressed(b, p.url+"/metrics")
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/1e3, "cpu-ms/op")
	b.ReportMetric(float64(series), "series")
}

// sixteenCards are the flags for 8 cards of MetaX and 8 dies of an A3, and 4 targets.
func sixteenCards(b *testing.B) []string {
	var probes strings.Builder
	probes.WriteString("probes:\n")
	url := server(b)
	for i := range 4 {
		fmt.Fprintf(&probes, "  - {name: target-%d, url: %q, interval: 300ms, max_tokens: 16}\n", i, url)
	}
	load := fakesmi.Load{Busy: 0.5, PID: 1, Process: "python"}
	metax, ascend := fakesmi.MetaXLayouts()[4], fakesmi.AscendLayouts()[4]
	cards, dies := fakesmi.MetaXMachine("2.2.9", load), fakesmi.AscendMachine("25.2.0", 2, load)
	for i := range dies.Devices { // printed on the first die of a card alone
		dies.Devices[i].Readings.Add(model.Reading{Metric: "power_watts", Value: 200})
	}
	mxsmi := map[string]string{"": printed(b, func(w *bytes.Buffer) error { return metax.Print(w, cards, time.Now()) })}
	npusmi := map[string]string{"info": printed(b, func(w *bytes.Buffer) error { return ascend.Print(w, dies) })}
	deepMetaX(b, mxsmi, metax, cards)
	deepAscend(b, npusmi, ascend, dies)
	return []string{
		"--collector.metax.command=" + tool(b, "mx-smi", mxsmi), "--collector.ascend.command=" + tool(b, "npu-smi", npusmi),
		"--collector.ascend.hccn-command=" + tool(b, "hccn_tool", networkAnswers(ascend, dies)),
		"--collector.interval=1h", "--collector.timeout=10s", "--config.file=" + writeFile(b, "probes.yml", probes.String(), 0o644),
	}
}

func scrapeCompressed(b *testing.B, url string) {
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		b.Fatal(err)
	}
}
