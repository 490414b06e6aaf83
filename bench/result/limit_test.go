package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestHeld: the figures of a window that have limits.
func TestHeld(t *testing.T) {
	limits := []runlog.Limit{{Name: "ttft", Percentile: 50, Limit: 0.1}, {Name: "tpot", Percentile: 90, Limit: 0.1}, {Name: runlog.LimitFailures, Limit: 0.01}}
	f := Figures{
		Account:       Account{Attempted: 20, Succeeded: 19, Failed: map[openai.Reason]int{"timeout": 1}},
		Distributions: Distributions{TTFT: {Count: 20, Percentiles: []Percentile{{50, 0.104}}}},
	}
	want := []Held{{Limit: limits[0], Value: 0.104, Known: true}, {Limit: limits[1]}, {Limit: limits[2], Value: 0.05, Known: true}}
	if diff := cmp.Diff(want, held(limits, &f)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}
