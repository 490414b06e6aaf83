//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

func (h *host) promtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("no promtool on the PATH; Debian has it in the package prometheus")
	}
	metrics, _ := h.get(t, "/metrics", "")
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(metrics)
	out, err := check.CombinedOutput()
	// Speeds of links are told in bits, as everybody who buys one counts them.
	complaints := regexp.MustCompile(`(?m)^accelerator_(link|network)_speed_bits_per_second use base unit "bytes" instead of "bits"\n`).ReplaceAll(out, nil)
	if len(complaints) > 0 || err != nil && len(out) == 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, complaints)
	}
}

func (h *host) protobuf(t *testing.T) {
	body, header := h.get(t, "/metrics", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	decoder := expfmt.NewDecoder(strings.NewReader(body), expfmt.ResponseFormat(header))
	native := 0
	for {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(family.GetName(), "accelerator_probe_") || family.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetHistogram().GetSchema() > 0 && len(m.GetHistogram().GetPositiveSpan()) > 0 && len(m.GetHistogram().GetBucket()) > 0 {
				native++
			}
		}
	}
	if native == 0 {
		t.Error("no histogram has both native and classic buckets")
	}
}

// figure is one of the program's own.
func (h *host) figure(t *testing.T, name string) float64 {
	t.Helper()
	metrics, _ := h.get(t, "/metrics", "")
	return figureIn(t, metrics, name)
}

func figureIn(t *testing.T, metrics, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(metrics)
	if m == nil {
		t.Fatalf("no %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// manyScrapes looks at the figures of an exporter of its own before and after. Its page is that of one vendor: what a scrape
// might leave behind does not depend on the number of series.
func (h *host) manyScrapes(t *testing.T) {
	other := host{dir: h.dir}
	_, other.exporter = h.start(t, regexp.MustCompile(`Listening on.* address=(\S+)`), "accelerator_exporter",
		"--web.listen-address=127.0.0.1:0", "--collector.environment=FAKEHOST_STATE", "--collector.hygon.command="+h.path("hy-smi"), "--collector.interval=1s",
		"--probe.target=http://"+h.vllm, "--probe.interval=1s")
	scrapes := func(n int) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range n / 4 {
					other.get(t, "/metrics", "")
				}
			})
		}
		wg.Wait()
	}
	scrapes(200)
	goroutines, files, memory := other.figure(t, "go_goroutines"), other.figure(t, "process_open_fds"), other.figure(t, "process_resident_memory_bytes")
	scrapes(10000)
	const slack = 20 // a tool may run and a probe be in flight at either moment, with a few goroutines and files each
	if now := other.figure(t, "go_goroutines"); now > goroutines+slack {
		t.Errorf("%v goroutines before, %v after", goroutines, now)
	}
	if now := other.figure(t, "process_open_fds"); now > files+slack {
		t.Errorf("%v open files before, %v after", files, now)
	}
	if now := other.figure(t, "process_resident_memory_bytes"); now > memory+(32<<20) {
		t.Errorf("%v bytes resident before, %v after", memory, now)
	}
}

// logReaderGone is accelerator_exporter 2>&1 | head -1.
func (h *host) logReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(h.path("accelerator_exporter"), "--web.listen-address=127.0.0.1:0", "--no-collector.metax", "--no-collector.ascend")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var address string
	for scanner := bufio.NewScanner(r); address == "" && scanner.Scan(); {
		if m := regexp.MustCompile(`Listening on.* address=(\S+)`).FindStringSubmatch(scanner.Text()); m != nil {
			address = m[1]
		}
	}
	r.Close()
	other := host{dir: h.dir, exporter: address}
	const reloaded = "accelerator_exporter_config_last_reload_success_timestamp_seconds"
	for range 2 { // the second is taken after the first was logged
		before := other.figure(t, reloaded)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a reload", func() error {
			if other.figure(t, reloaded) == before {
				return errors.New("not yet")
			}
			return nil
		})
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit status: %v", err)
	}
}

func (h *host) terminate(t *testing.T) {
	h.replaceTool(t, "mx-smi", "trap '' TERM; sleep 600; sleep 600")
	var before []byte
	eventually(t, "it hangs in a tool", func() error {
		tool, _ := exec.Command("pgrep", "-f", h.path("mx-smi")).Output()
		if bytes.Count(tool, []byte("\n")) < 2 || !bytes.Equal(tool, before) { // the exporter itself has the path on its command line
			before = tool
			return fmt.Errorf("processes %q", tool)
		}
		return nil
	})
	start := time.Now()
	if err := h.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- h.process.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("exit status: %v", err)
		}
		t.Logf("stopped after %s", time.Since(start))
	case <-time.After(5 * time.Second):
		t.Error("still running 5 s after SIGTERM")
	}
	eventually(t, "no tool is left", func() error {
		out, _ := exec.Command("pgrep", "-f", h.path("mx-smi")).Output()
		if len(bytes.TrimSpace(out)) > 0 {
			return fmt.Errorf("left behind: %s", out)
		}
		return nil
	})
}
