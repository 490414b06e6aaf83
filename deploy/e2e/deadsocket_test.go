//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet/kubelettest"
	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
	"github.com/accelerator-exporter/accelerator_exporter/deploy/kubelet"
)

// deadSocket has an exporter ask at a socket where nobody listens, as often as in a day, and looks at what it holds.
func deadSocket(t *testing.T, p programs) {
	const day = 10_000
	socket := kubelettest.Socket(t)
	kubelet.Listen(t, socket).Close()
	exporter := served(t, start(t, "exporter", nil, p.path("accelerator_exporter"), "--web.listen-address=127.0.0.1:0", "--kubernetes.pod-resources="+socket,
		"--no-collector.metax", "--no-collector.ascend", "--no-collector.numa", "--collector.interval=1ms"))
	after := func(polls float64) (page string) {
		programtest.Eventually(t, 3*time.Minute, fmt.Sprintf("%v polls", polls), func() (err error) {
			if page, err = programtest.Get(t, "http://"+exporter+"/metrics"); err != nil {
				return err
			}
			if times, _ := failed(t, page, "driver"); times < polls {
				err = fmt.Errorf("%v polls", times)
			}
			return err
		})
		return page
	}
	const warm = 1000
	before, now := after(warm), after(warm+day)
	for series, slack := range map[string]float64{"process_open_fds": 4, "go_goroutines": 4, "process_resident_memory_bytes": 16 << 20} {
		if a, b := figure(t, before, series), figure(t, now, series); b > a+slack {
			t.Errorf("%s went from %v to %v in %d polls", series, a, b, day)
		} else {
			t.Logf("%s: %v, then %v", series, a, b)
		}
	}
}
