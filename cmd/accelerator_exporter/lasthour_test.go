package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// The landing page draws the last hour of each target and no more: where a probe failed its line is broken, and idle cards
// beside those that serve it do not count.
func TestLastHour(t *testing.T) {
	var h lastHour
	named := func(name string) probe.Target { return probe.Target{Spec: probe.Spec{Name: name}} }
	serving := map[string]map[servingCard]bool{"chat": {{"metax", "0"}: true, {"metax", "1"}: true}}
	for i := range 130 {
		now := day0.Add(time.Duration(i) * lastHourStep)
		chat := probe.Status{Target: named("chat"), LastSuccess: probe.Outcome{At: now, TTFT: 250 * time.Millisecond}}
		chat.Last = chat.LastSuccess
		if i == 129 {
			chat.LastSuccess.TTFT = 500 * time.Millisecond
		}
		if i == 126 {
			chat.Last.Failure = &openai.Failure{}
		}
		targets := []probe.Status{chat}
		if i < 100 {
			targets = append(targets, probe.Status{Target: named("gone"), LastSuccess: chat.LastSuccess})
		}
		card := func(id string, busy float64) model.Device {
			return model.Device{ID: id, Readings: model.Readings{{Metric: "utilization_ratio", Value: busy}}}
		}
		h.add(now, targets, serving, []collector.Cards{{Vendor: "metax", Snapshot: model.Snapshot{
			Devices: []model.Device{card("0", 0.5), card("1", 1), card("2", 0)},
		}}})
	}
	lines := h.lines("chat")
	for i := range lines {
		points := strings.Count(lines[i].Path, "M") + strings.Count(lines[i].Path, "L")
		if want := 120 - 1 + i; points != want {
			t.Errorf("%s: %d points, want %d", lines[i].Name, points, want)
		}
		lines[i].Path = lines[i].Path[strings.LastIndex(lines[i].Path, "M"):]
	}
	lines[1].Path = lines[1].Path[:strings.Index(lines[1].Path, "L2 ")]
	want := []lineView{
		{"TTFT", "250.00 ms to 500.00 ms", "M117 12.0h.1L118 12.0L119 0.0"},
		{"utilization", "75 % to 75 %", "M0 6.0h.1L1 6.0"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if gone := h.lines("gone"); gone != nil {
		t.Errorf("a target that is no more: %v", gone)
	}
}
