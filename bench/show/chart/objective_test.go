package chart_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/resulttest"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show/chart"
)

// goalLine is what only the lines of objectives have: their dashes.
const goalLine = "stroke-dasharray:8,3,1.5,3"

// TestObjectives: whoever set an objective sees in each picture which load meets it.
func TestObjectives(t *testing.T) {
	r := resulttest.Sweep()
	r.Objectives = result.Objectives{TTFT: 5 * time.Second, TPOT: 250 * time.Millisecond, ITL: 10 * time.Second}
	type shown struct {
		legend string
		lines  int // one in the legend and one in the panel, or none
	}
	var got []shown
	panels := chart.Latency(r).Panels
	for _, p := range panels {
		drawing := svg(t, p)
		s := shown{lines: strings.Count(drawing, goalLine)}
		for _, text := range texts(t, drawing) {
			if strings.HasPrefix(text, "objective") {
				s.legend = text
			}
		}
		got = append(got, s)
	}
	want := []shown{
		{"objective 5s", 2},
		{"objective 250ms", 2},
		{"objective 10s for a request's mean (off the scale)", 0}, // the gaps are some 100 ms
		{},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); diff != "" {
		t.Errorf("objectives (-want +got):\n%s", diff)
	}
	if d := description(t, panels[1]); !strings.HasSuffix(d, "; objective 250ms.") {
		t.Errorf("who cannot see the picture is not told: %s", d)
	}
	if s := svg(t, chart.Latency(resulttest.Sweep()).Panels[0]); strings.Contains(s, "objective") {
		t.Error("an objective that nobody set")
	}
}

// TestObjectiveAboveAllValues: the axis reaches up to it.
func TestObjectiveAboveAllValues(t *testing.T) {
	r := resulttest.Sweep()
	r.Objectives.TPOT = 400 * time.Millisecond // the largest p99 is some 280
	shown := texts(t, svg(t, chart.Latency(r).Panels[1]))
	if !slices.Contains(shown, "400") || !slices.Contains(shown, "objective 400ms") {
		t.Errorf("%q", shown)
	}
}

// TestObjectiveOfOnePercentile: its line is explained also where there is one series.
func TestObjectiveOfOnePercentile(t *testing.T) {
	r := resulttest.Sweep()
	r.Objectives.TTFT = 5 * time.Second
	for i := range r.Steps {
		resulttest.Change(r.Steps[i].Steady, result.TTFT, func(d *result.Distribution) { d.Percentiles = d.Percentiles[:1] })
	}
	if shown := texts(t, svg(t, chart.Latency(r).Panels[0])); !slices.Contains(shown, "objective 5s") {
		t.Errorf("%q", shown)
	}
}

// TestChosenPercentileIsDrawn in the place of p99.
func TestChosenPercentileIsDrawn(t *testing.T) {
	r := resulttest.Sweep()
	r.Chosen = []float64{99.9, 75}
	for i := range r.Steps {
		resulttest.Change(r.Steps[i].Steady, result.TTFT, func(d *result.Distribution) {
			d.Percentiles = append(d.Percentiles, result.Percentile{P: 99.9, Value: 2 * d.Max})
		})
	}
	d := description(t, chart.Latency(r).Panels[0])
	if !strings.Contains(d, "p99.9 ") || !strings.Contains(d, "p90 ") || strings.Contains(d, "p99 ") {
		t.Error(d)
	}
}
