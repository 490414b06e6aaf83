package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]Limit{
		"ttft:p90<2s":             {"ttft", 90, 2},
		"tpot:p90<100ms":          {"tpot", 90, 0.1},
		"itl:p99.9 < 80ms":        {"itl", 99.9, 0.08},
		"e2e:p50<=1m":             {"e2el", 50, 60},
		"e2el:p50<30s":            {"e2el", 50, 30},
		"ttft:p99.99<2s":          {"ttft", 99.99, 2},
		"first_answer:p95<3s":     {"first_answer", 95, 3},
		"ttft_from_planned:p9<1s": {"ttft_from_planned", 9, 1},
		"failures<1%":             {runlog.LimitFailures, 0, 0.01},
		"failures < 0.5 %":        {runlog.LimitFailures, 0, 0.005},
	} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "ttft:p90", "ttft:500", "ttfb:p90<2s", "prompt_length:p9<1s", "ttft<2s", "ttft:90<2s", "ttft:p100<2s", "ttft:p99.9999<2s",
		"ttft:p0<2s", "ttft:pNaN<2s", "ttft:p90<2", "ttft:p90<0s", "ttft:p90<-1s",
		"failures<1", "failures<0%", "failures<100%", "failures<NaN%", "failures:p90<1%",
	} {
		if l, err := ParseLimit(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, l)
		}
	}
}

// TestHeld: the figures of a window that have limits, and whether they are missed.
func TestHeld(t *testing.T) {
	limits := []runlog.Limit{{Name: "ttft", Percentile: 50, Limit: 0.1}, {Name: "tpot", Percentile: 90, Limit: 0.1}, {Name: runlog.LimitFailures, Limit: 0.01}}
	f := Figures{
		Account:       Account{Attempted: 20, Succeeded: 19, Failed: map[openai.Reason]int{"timeout": 1}},
		Distributions: Distributions{TTFT: {Count: 20, Percentiles: []Percentile{{50, 0.104}}}},
	}
	want := []Held{{Limit: Limit(limits[0]), Value: 0.104, Known: true}, {Limit: Limit(limits[1])}, {Limit: Limit(limits[2]), Value: 0.05, Known: true}}
	got := held(limits, &f)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if !got[0].Missed() || got[1].Missed() || !got[2].Missed() {
		t.Errorf("missed: %v", got)
	}
}
