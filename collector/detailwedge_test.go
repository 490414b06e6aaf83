package collector

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// detailWedges are the ways a call about one card goes wrong, as shell scripts. %s is the
// file of a whole answer.
func detailWedges() map[string]string {
	return map[string]string{
		"hangs":  "trap '' TERM; setsid sleep 600 >/dev/null 2>&1 </dev/null & head -c 100 %s; sleep 600; sleep 600",
		"slow":   "sleep 2; cat %s",
		"floods": "exec yes 'a row without end'",
		"exits":  "head -c 10 %s",
	}
}

// deepTools are npu-smi and hccn_tool as shell scripts that answer from files, but wedge
// about the NPU 3. Each notes a call that is made while another is under way.
func deepTools(t *testing.T, dir, wedge string) (npuSMI, hccn string) {
	t.Helper()
	write := func(name, text string, mode os.FileMode) string {
		return processtest.WriteFile(t, filepath.Join(dir, name), text, mode)
	}
	write("table", string(modeltest.Read(t, "ascend/testdata/info-layout-910b-23.0.txt")), 0o600)
	watch := "NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)\n"
	for npu := range 8 {
		watch += fmt.Sprintf("%-12d0           204.0       55          58\n", npu)
		write(fmt.Sprint("ecc", npu), fmt.Sprintf(`	NPU ID                                   : %d
	Chip Count                               : 1

	HBM Single Bit Error Count               : 12
	HBM Double Bit Error Count               : 0
	Chip ID                                  : 0
`, npu), 0o600)
		write(fmt.Sprint("link", npu), "link status: UP\n", 0o600)
		write(fmt.Sprint("stat", npu), "packet statistics:\nmac_rx_total_pkt_num:3600\nmac_tx_total_pkt_num:3600\n", 0o600)
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
	shared := sharedRunner()
	for name, wedge := range detailWedges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			npuSMI, hccn := deepTools(t, dir, wedge)
			const timeout = 3 * time.Second // a well call is never late, however busy the machine
			c := New(Options{
				Vendors:  []VendorOptions{{Vendor: vendorNamed("ascend"), Command: npuSMI, Network: hccn}},
				Interval: time.Second, InventoryInterval: time.Hour, Timeout: timeout, Logger: log.NewNopLogger(), NewRunner: shared,
				Detail: DetailLean,
			})
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { c.Run(ctx) })
			t.Cleanup(func() { cancel(); wg.Wait() })

			eventually(t, "the others' details", func() bool {
				const late = timeout + 10*time.Second // a call and its end, on a busy machine; the wedges last ten minutes
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
				if strings.Contains(text, series) != (name == "slow") {
					t.Errorf("there is %s: %t", series, name != "slow")
				}
			}
			for reason, n := range c.Statuses()[0].Failures {
				if n > 0 && reason != failure.Stuck { // a busy machine is slow to kill
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
