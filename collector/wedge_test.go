package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

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
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 60 { // beside polls and inventories
					families, err := c.Gather()
					for _, f := range families { // which another scrape may read too
						_, wrong := expfmt.MetricFamilyToText(io.Discard, f)
						err = errors.Join(err, wrong)
					}
					if err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
	})
}

// What is kept from one scrape to the next is what would be made anew: beside polls, details and inventories, of a tool that
// hangs until its cards are gone and is well again.
func TestKeptFamilies(t *testing.T) {
	answer, calls := machine(t, "mx-smi"), 0
	well := func(ctx context.Context, args []string) (process.Output, error) {
		calls++
		out, err := answer(ctx, args)
		out.Stdout = bytes.ReplaceAll(out.Stdout, []byte("VLLM::EngineCor"), fmt.Appendf(nil, "VLLM::Engine%03d", calls))
		return out, err
	}
	tool := &scripted{answer: well}
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.NUMA, o.Sysfs, o.Procfs = true, processtest.Nodes(t), string(processtest.Host(t, nil))
		c := newScripted(o, VendorOptions{Vendor: vendorNamed("metax"), Command: "mx-smi"}, tool, nil)
		start(t, c)
		isKept, isGone := false, false
		for second := range 400 {
			switch second {
			case 100:
				tool.set(func(context.Context, []string) (process.Output, error) {
					time.Sleep(o.Timeout)
					return process.Output{}, failure.Errorf(failure.Timeout, "no answer")
				})
			case 250:
				tool.set(well)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			before := c.parts
			got := scrape(t, c)
			kept, families := c.parts, c.families
			c.parts = nil
			if diff := cmp.Diff(scrape(t, prometheus.Gatherers{c}), got); diff != "" { // a registry's checks and order
				t.Fatalf("after %d s, made anew (-) and kept (+) differ:\n%s", second, diff)
			}
			c.parts, c.families = kept, families
			isKept = isKept || len(before) > 0 && slices.Equal(before, kept)
			isGone = isGone || second > 100 && !strings.Contains(got, "accelerator_info{")
		}
		if !isKept || !isGone || !strings.Contains(scrape(t, c), "accelerator_info{") {
			t.Errorf("families were kept: %t, cards were gone: %t; or they did not come back", isKept, isGone)
		}
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
