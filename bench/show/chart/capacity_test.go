package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/resulttest"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show/chart"
)

// TestCapacityIsDrawn: whoever searched for the capacity sees its objectives as lines
// and the answer as a mark, in words too.
func TestCapacityIsDrawn(t *testing.T) {
	r := resulttest.Searched()
	panels := chart.Latency(r).Panels
	tpot := panels[1]
	if n := strings.Count(svg(t, tpot), goalLine); n != 2 {
		t.Errorf("%d lines of the objective and its legend", n)
	}
	missing(t, texts(t, svg(t, tpot)), []string{"objective 250ms for p90", "carries 64"})
	if d := description(t, tpot); !strings.HasSuffix(d, "; objective 250ms for p90; carries 64.") {
		t.Error(d)
	}
	missing(t, texts(t, svg(t, panels[3])), []string{"carries 64"})
	missing(t, texts(t, svg(t, chart.Overview(r).Panels[0])), []string{"carries 64"})
	drawn := svg(t, tpot)
	r.Capacity.Value = 32
	if drawn == strings.ReplaceAll(svg(t, chart.Latency(r).Panels[1]), "carries 32", "carries 64") {
		t.Error("the mark does not move with the answer")
	}
	r.Capacity.Value = 0
	if shown := texts(t, svg(t, chart.Latency(r).Panels[1])); slices.ContainsFunc(shown, func(text string) bool { return strings.HasPrefix(text, "carries") }) {
		t.Errorf("an answer where there is none: %q", shown)
	}
}

// TestTwoLimitsOfOneMeasure are two lines.
func TestTwoLimitsOfOneMeasure(t *testing.T) {
	r := resulttest.Searched()
	r.Capacity.Limits = append(r.Capacity.Limits, result.Limit{Name: "tpot", Percentile: 50, Limit: 0.2})
	missing(t, texts(t, svg(t, chart.Latency(r).Panels[1])), []string{"objective 250ms for p90", "objective 200ms for p50"})
}
