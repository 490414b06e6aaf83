package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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

// BenchmarkProbe is the CPU of this process for one probe of 64 tokens: of a server that answers before the next one is due,
// and of one that takes longer, whose page of metrics is read for each probe that is skipped.
func BenchmarkProbe(b *testing.B) {
	programs := b.TempDir()
	if out, err := exec.Command("go", "build", "-o", programs+"/", "../fakehost").CombinedOutput(); err != nil {
		b.Fatalf("building fakehost: %v\n%s", err, out)
	}
	for name, speed := range map[string]string{"answers": "100", "waits": "25"} {
		b.Run(name, func(b *testing.B) {
			var log logBuffer
			server := exec.Command(programs+"/fakehost", "vllm", "--listen-address=127.0.0.1:0", "--speed="+speed)
			server.Env, server.Stderr = append(os.Environ(), "FAKEHOST_STATE="+b.TempDir()), &log
			if err := server.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
			address := regexp.MustCompile(`http://127[0-9.:]+`)
			waitFor(b, "the server serves", func() bool { return address.MatchString(log.String()) })
			p := start(b, "--no-collector.metax", "--no-collector.ascend", "--no-collector.numa", "--probe.interval=100ms", "--probe.target="+address.FindString(log.String()))
			probes := func() (n int) {
				_, body := p.get(b, "/metrics")
				m := regexp.MustCompile(`(?m)^accelerator_probe_requests_total\{model="qwen2.5".* (\d+)$`).FindStringSubmatch(body)
				if m != nil {
					n, _ = strconv.Atoi(m[1])
				}
				return n
			}
			waitFor(b, "a probe", func() bool { return probes() > 0 })
			first, before := probes(), cpuTime(b)
			time.Sleep(10 * time.Second)
			used := cpuTime(b) - before
			b.ReportMetric(float64(used.Microseconds())/float64(probes()-first), "cpu-µs/probe")
			b.ReportMetric(0, "ns/op")
		})
	}
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
				strings.Contains(body, `accelerator_link_errors_total{device="7"`))
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

// sixteenCards are the flags for the 8 cards of each vendor that fakehost stands in for, and 4 targets.
func sixteenCards(b *testing.B) []string {
	var probes strings.Builder
	probes.WriteString("probes:\n")
	url := server(b)
	for i := range 4 {
		fmt.Fprintf(&probes, "  - {name: target-%d, url: %q, interval: 300ms, max_tokens: 16}\n", i, url)
	}
	dir := b.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+"/", "../fakehost").CombinedOutput(); err != nil {
		b.Fatalf("building fakehost: %v\n%s", err, out)
	}
	args := []string{
		"--collector.interval=1h", "--collector.timeout=10s", "--collector.environment=FAKEHOST_STATE",
		"--config.file=" + writeFile(b, "probes.yml", probes.String(), 0o644),
	}
	for tool, flag := range map[string]string{"mx-smi": "metax.command", "npu-smi": "ascend.command", "hccn_tool": "ascend.hccn-command"} {
		if err := os.Symlink("fakehost", filepath.Join(dir, tool)); err != nil {
			b.Fatal(err)
		}
		args = append(args, "--collector."+flag+"="+filepath.Join(dir, tool))
	}
	b.Setenv("FAKEHOST_STATE", b.TempDir())
	return args
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
