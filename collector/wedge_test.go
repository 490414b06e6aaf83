package collector

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// wedges are the ways a vendor's tool goes wrong, as shell scripts. %s is the
// file of a whole table, LENGTH what of it is no table.
func wedges() map[string]struct {
	script string
	reason failure.Reason
} {
	return map[string]struct {
		script string
		reason failure.Reason
	}{
		"hangs":        {"trap '' TERM; sleep 600 & sleep 601 & head -c LENGTH %s; wait; wait; wait", failure.Timeout},
		"floods":       {"exec yes 'a row without end'", failure.OutputTooLarge},
		"exits":        {"exit 3", failure.Exit},
		"half a table": {"head -c LENGTH %s", failure.Parse},
	}
}

// sharedRunner makes the runners of collectors that run at the same time: they share the one who adopts orphans.
func sharedRunner() func(process.Options) Runner {
	subreaper := process.NewSubreaper()
	return func(o process.Options) Runner {
		o.Subreaper = subreaper
		return process.NewRunner(o)
	}
}

// After each wedge: the class is right, the scrape answered at once, the cards
// are gone when stale, no process is left, and the collector recovers by itself.
func TestWedgedTool(t *testing.T) {
	shared := sharedRunner()
	for _, v := range []struct{ vendor, tool, pattern, length string }{
		{"metax", "mx-smi", "''", "900"},
		{"nvidia", "nvidia-smi", "--query-gpu=*temperature.gpu*", "90"}, // a row that is whole is a card
		{"hygon", "hy-smi", "''", "280"},
		{"iluvatar", "ixsmi", "''", "650"},
		{"kunlunxin", "xpu_smi", "''", "700"},
		{"moorethreads", "mthreads-gmi", "''", "500"},
		{"enflame", "efsmi", "-q", "910"}, // inside the first card
	} {
		for name, w := range wedges() {
			t.Run(v.tool+" "+name, func(t *testing.T) {
				t.Parallel()
				testWedge(t, shared, v.vendor, v.tool, v.pattern, strings.ReplaceAll(w.script, "LENGTH", v.length), w.reason)
			})
		}
	}
}

func testWedge(t *testing.T, shared func(process.Options) Runner, vendor, name, pattern, wedge string, reason failure.Reason) {
	t.Helper()
	dir := t.TempDir()
	table := filepath.Join(dir, "table.txt")
	out, _ := machine(t, name)(t.Context(), tableArgs(vendor))
	if err := os.WriteFile(table, out.Stdout, 0o644); err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(dir, name)
	healthy := "cat " + table
	write := func(body string) {
		script := fmt.Sprintf("#!/bin/sh\n# %s\ncase \"$*\" in %s) %s ;; *) exit 1 ;; esac\n", dir, pattern, body)
		processtest.WriteFile(t, tool+".new", script, 0o755)
		if err := os.Rename(tool+".new", tool); err != nil {
			t.Fatal(err)
		}
	}
	write(healthy)
	const timeout = 700 * time.Millisecond
	c := New(Options{
		Vendors:  []VendorOptions{{Vendor: vendorNamed(vendor), Command: tool}},
		Interval: 100 * time.Millisecond, InventoryInterval: time.Hour, Timeout: timeout, Logger: log.NewNopLogger(), NewRunner: shared,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	card := fmt.Sprintf(`accelerator_utilization_ratio{device="0",vendor=%q}`, vendor)
	eventually(t, "the healthy tool's cards appear", func() bool { return strings.Contains(scrape(t, c), card) })

	write(strings.ReplaceAll(wedge, "%s", table))
	failed := fmt.Sprintf("accelerator_collector_failures_total{collector=%q,reason=%q} ", vendor, reason)
	eventually(t, "the failure is counted as "+string(reason), func() bool {
		began := time.Now()
		text := scrape(t, c)
		if took := time.Since(began); took >= timeout {
			t.Errorf("a scrape took %s while the tool hangs, as if it waited for it", took)
		}
		return strings.Contains(text, failed) && !strings.Contains(text, failed+"0\n")
	})
	eventually(t, "the stale cards are gone", func() bool { return !strings.Contains(scrape(t, c), card) })
	for _, r := range failure.Reasons() {
		if n := c.Statuses()[0].Failures[r]; r != reason && n > 0 {
			t.Errorf("counted %d failures as %s, want all as %s", n, r, reason)
		}
	}

	write(healthy)
	eventually(t, "the collector recovers", func() bool { return strings.Contains(scrape(t, c), card) })
	cancel()
	wg.Wait()
	if left := processesNaming(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func vendorNamed(name string) model.Vendor {
	all := Vendors()
	return all[slices.IndexFunc(all, func(v model.Vendor) bool { return v.Name == name })]
}

func tableArgs(vendor string) []string {
	return vendorNamed(vendor).Table.Args(model.Device{})[0]
}

func TestConcurrentScrapes(t *testing.T) {
	simulated(t, func(c *Collector) {
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(c)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 60 { // beside polls and inventories
					if _, err := r.Gather(); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
	})
}

// processesNaming finds the processes whose command line has the folder in it.
func processesNaming(t *testing.T, dir string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			left = append(left, string(line))
		}
	}
	return left
}
