package collector

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// detailWedges are the ways a call about one card goes wrong, as shell scripts. %s is the
// file of a whole answer.
func detailWedges() map[string]string {
	return map[string]string{
		"hangs":                 "sleep 600",
		"hangs with a child":    "sleep 600 & sleep 601 & wait",
		"leaves a daemon":       "setsid sleep 600 >/dev/null 2>&1 </dev/null & sleep 601",
		"ignores SIGTERM":       "trap '' TERM; sleep 600; sleep 600",
		"endless output":        "exec yes 'a row without end'",
		"endless errors":        "exec yes 'a row without end' >&2",
		"half, then hangs":      "head -c 100 %s; sleep 600",
		"half, exit 0":          "head -c 10 %s",
		"refused":               "echo 'This device does not support querying ecc.'",
		"busy":                  "echo 'dcmi: -8020' >&2; exit 3",
		"dies by a signal":      "kill -SEGV $$",
		"slower than it may":    "sleep 60; cat %s",
		"another card's answer": "grep -q 'NPU ID' %s && sed '/NPU ID/s/3/1/' %s",
	}
}

// deepTools are npu-smi and hccn_tool as shell scripts that answer from files, but wedge
// about the NPU 3. Each notes a call that is made while another is under way.
func deepTools(t *testing.T, dir, wedge string) (npuSMI, hccn string) {
	t.Helper()
	layout, err := fakesmi.AscendLayoutNamed("910b-23.0")
	if err != nil {
		t.Fatal(err)
	}
	load := fakesmi.Load{Busy: 0.6, PID: 42, Process: "python3"}
	machine := layout.Machine(load)
	life := &fakesmi.Life{}
	life.Live(fakesmi.Moment{At: time.Unix(1e9, 0)}, nil, machine.Devices)
	chips := layout.AscendCards(machine, nil, life)
	write := func(name, text string, mode os.FileMode) string {
		return processtest.WriteFile(t, filepath.Join(dir, name), text, mode)
	}
	var table bytes.Buffer
	if err := layout.Print(&table, layout.Reduce(machine)); err != nil {
		t.Fatal(err)
	}
	write("table", table.String(), 0o600)
	watch := layout.WatchHeader("")
	for i := range chips {
		c := &chips[i]
		watch += layout.WatchLine("", c)
		write("ecc"+c.NPU, layout.Query(fakesmi.AscendQuery{Type: "ecc", NPU: c.NPU}, chips).Text, 0o600)
		for _, of := range []string{"link", "stat"} {
			write(of+c.NPU, layout.Network(fakesmi.NetworkQuery{Command: of, Device: c.Device}, chips, time.Unix(1e9, 0)).Text, 0o600)
		}
	}
	write("watch", watch, 0o600)
	script := strings.NewReplacer("DIR", dir, "WEDGE", strings.ReplaceAll(wedge, "%s", dir+"/ecc3"), "LINK", strings.ReplaceAll(wedge, "%s", dir+"/link3"))
	npuSMI = write("npu-smi", script.Replace(`#!/bin/sh
exec 9>DIR/npu-smi.lock
flock -n 9 || echo "$*" >>DIR/together
case "$*" in
info) cat DIR/table ;;
'info watch') cat DIR/watch; exec sleep 600 ;;
'info -t ecc -i 3') WEDGE ;;
'info -t ecc -i '*) cat DIR/ecc$5 ;;
*) echo 'does not support'; exit 1 ;;
esac
`), 0o755)
	hccn = write("hccn_tool", script.Replace(`#!/bin/sh
exec 9>DIR/hccn_tool.lock
flock -n 9 || echo "$*" >>DIR/together
case "$*" in
'-i 3 -link -g') LINK ;;
*) cat DIR/${3#-}$2 ;;
esac
`), 0o755)
	return npuSMI, hccn
}

// With a card whose calls go wrong: the table is never late by more than one call, each
// other card's details are there, none of the sick card's are made up, no tool runs twice
// at once, and no process is left.
func TestWedgedDetails(t *testing.T) {
	shared := process.NewSubreaper()
	for name, wedge := range detailWedges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			npuSMI, hccn := deepTools(t, dir, wedge)
			const timeout = 3 * time.Second // a well call is never late, however busy the machine
			c := New(Options{
				Vendors:  []VendorOptions{{Name: "ascend", Command: npuSMI, Network: hccn}},
				Interval: 200 * time.Millisecond, InventoryInterval: time.Hour, Timeout: timeout, Logger: log.NewNopLogger(), Subreaper: shared,
				Detail: DetailLean, DetailShare: 1,
			})
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { c.Run(ctx) })
			t.Cleanup(func() { cancel(); wg.Wait() })

			eventually(t, "the others' details", func() bool {
				const late = timeout + 5*time.Second // a call and its end, on a busy machine; the wedges last ten minutes
				if s := c.Statuses()[0]; !s.LastSuccess.IsZero() && time.Since(s.LastSuccess) > late {
					t.Errorf("the table is %s old", time.Since(s.LastSuccess))
				}
				text := scrape(t, c)
				for _, card := range []string{"0", "1", "2", "4", "5", "6", "7"} {
					for _, series := range []string{
						`ecc_errors_total{device=%q,memory="hbm",type="correctable",vendor="ascend"} `,
						`engine_utilization_ratio{device=%q,engine="aicore",vendor="ascend"} `,
						`network_up{device=%q,port="",udie="",vendor="ascend"} 1`,
						`network_packets_total{device=%q,direction="receive",vendor="ascend"} `,
					} {
						if !strings.Contains(text, "accelerator_"+fmt.Sprintf(series, card)) {
							return false
						}
					}
				}
				// What is well of the sick card comes too, after the wedge.
				return strings.Contains(text, `accelerator_engine_utilization_ratio{device="3",engine="aicore",vendor="ascend"} `) &&
					strings.Contains(text, `accelerator_network_packets_total{device="3",direction="receive",vendor="ascend"} `) &&
					strings.Contains(text, `accelerator_collector_command_success{collector="ascend",command="hccn_link"}`)
			})
			text := scrape(t, c)
			for _, series := range []string{`accelerator_ecc_errors_total{device="3"`, `accelerator_network_up{device="3"`} {
				if strings.Contains(text, series) {
					t.Errorf("there is %s, of which nothing was told", series)
				}
			}
			for reason, n := range c.Statuses()[0].Failures {
				if n > 0 {
					t.Errorf("the table failed as %s", reason)
				}
			}
			cancel()
			wg.Wait()
			if together, err := os.ReadFile(filepath.Join(dir, "together")); err == nil {
				t.Errorf("run while another ran:\n%s", together)
			}
			eventually(t, "no process is left", func() bool { return len(processesNaming(t, dir)) == 0 })
		})
	}
}
