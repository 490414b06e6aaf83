package result

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestAsRun: a report that is made again has the run's objectives and percentiles,
// unless others are given.
func TestAsRun(t *testing.T) {
	requests := []runlog.Request{answered(0, 1, 5, time.Second, 2*time.Second, 5*time.Second)}
	log := func(name string, had *runlog.Objectives, ps ...float64) *memlog {
		l := newMemlog(name).step(closed(1, 1), requests, false).over()
		l.run.Objectives, l.run.Percentiles = had, ps
		return l
	}
	second, two := &runlog.Objectives{TTFT: time.Second}, &runlog.Objectives{TTFT: 2 * time.Second}
	type outcome struct {
		Objectives Objectives
		Differ     bool
		Chosen     []float64
		Good       bool // any was counted
	}
	for name, tt := range map[string]struct {
		opts Options
		logs []*memlog
		want outcome
	}{
		"as the run": {
			Options{AsRun: true},
			[]*memlog{log("a", second, 99.9, 75)},
			outcome{Objectives: Objectives{TTFT: time.Second}, Chosen: []float64{99.9, 75}, Good: true},
		},
		"given ones come first": {
			Options{AsRun: true, Goodput: Objectives{E2E: time.Minute}, Chosen: []float64{90}},
			[]*memlog{log("a", second, 99.9)},
			outcome{Objectives: Objectives{E2E: time.Minute}, Chosen: []float64{90}, Good: true},
		},
		"an old log": {
			Options{AsRun: true},
			[]*memlog{log("a", nil)},
			outcome{Chosen: []float64{99}},
		},
		"not asked for": {
			Options{},
			[]*memlog{log("a", second, 99.9)},
			outcome{Chosen: []float64{99}},
		},
		"machines that agree": {
			Options{AsRun: true},
			[]*memlog{log("a", second), log("b", &runlog.Objectives{TTFT: time.Second})},
			outcome{Objectives: Objectives{TTFT: time.Second}, Chosen: []float64{99}, Good: true},
		},
		"machines that do not": {
			Options{AsRun: true},
			[]*memlog{log("a", second), log("b", two)},
			outcome{Differ: true, Chosen: []float64{99}},
		},
		"one of which had none": {
			Options{AsRun: true},
			[]*memlog{log("a", nil), log("b", two)},
			outcome{Differ: true, Chosen: []float64{99}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := reportOf(t, tt.opts, tt.logs...)
			if err != nil {
				t.Fatal(err)
			}
			_, good := r.Steps[0].Whole.GoodRatio()
			if diff := cmp.Diff(tt.want, outcome{r.Objectives, r.ObjectivesDiffer, r.Chosen, good}); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if told := strings.Contains(strings.Join(r.Notes(), " "), "different objectives"); told != tt.want.Differ {
				t.Errorf("notes: %q", r.Notes())
			}
			for _, p := range tt.want.Chosen {
				if _, ok := r.Steps[0].Whole.Of(TTFT).At(p); !ok {
					t.Errorf("p%v was asked for and is not there", p)
				}
			}
		})
	}
}
