package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

// TestBadDay holds the log of a day on which things fail one after the other, each at least twice as long as a poll takes
// to come round. Whoever reads it would notice a line at every poll, a failure that is not said, and one that is not said
// to be over.
func TestBadDay(t *testing.T) {
	log := new(logBuffer)
	simulate(t, 20*time.Minute, nil, log, func(s *simulation) {
		day := []struct {
			hour int
			what string
			do   func()
		}{
			{1, "npu-smi info hangs", func() { s.set("ascend table", hang) }},
			{3, "it answers again", func() { s.set("ascend table", "") }},
			{4, "a MetaX card falls off the bus", func() { s.order("mx-smi.fault", "card_lost") }},
			{6, "it is back", func() { s.order("mx-smi.fault", "") }},
			{7, "hy-smi does not know --showtemp any more", func() { s.set("hygon temp", refusal) }},
			{9, "it does again", func() { s.set("hygon temp", "") }},
			{10, "a row of nvidia-smi is torn", func() { s.set("nvidia table", torn) }},
			{11, "it is whole", func() { s.set("nvidia table", "") }},
			{12, "it is torn again", func() { s.set("nvidia table", torn) }},
			{13, "it is whole", func() { s.set("nvidia table", "") }},
			{14, "the kubelet is gone", func() { _ = os.Rename(s.kubelet, s.kubelet+".away") }},
			{16, "it is back", func() { _ = os.Rename(s.kubelet+".away", s.kubelet) }},
			{17, "the model server is gone", func() { s.down.Store(true) }},
			{18, "it is back", func() { s.down.Store(false) }},
			{19, "a child of hccn_tool outlives SIGKILL", func() { s.set("hccn_tool", stuck) }},
			{20, "it has ended", func() { s.set("hccn_tool", "") }},
			{21, "an NPU is unhealthy", func() { s.order("npu-smi.card", "3 unhealthy") }},
			{23, "it is healthy", func() { s.order("npu-smi.card", "") }},
			{24, "the day ends", func() {}},
		}
		for _, event := range day {
			time.Sleep(time.Until(s.start.Add(time.Duration(event.hour)*time.Hour + time.Minute)))
			synctest.Wait()
			fmt.Fprintf(log, "# %02d:00 %s\n", event.hour, event.what)
			event.do()
		}
	})
	got := regexp.MustCompile(`ts=\S+ caller=\S+ | version=.*| request_id=\S+|[^ "\\]+/kubelet-\d+`).ReplaceAllString(log.String(), "")
	expositiontest.Golden(t, "testdata/badday.golden", got, *update)
}
