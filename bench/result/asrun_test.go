package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestAsRun: a report that is made again has the run's objectives and percentiles,
// unless others are given.
func TestAsRun(t *testing.T) {
	log := func(name string, had *runlog.Objectives, ps ...float64) *memlog {
		requests := []runlog.Request{answered(0, 1, 5, time.Second, 2*time.Second, 5*time.Second)}
		l := newMemlog(name).step(closed(1, 1), requests, false).over()
		l.run.Objectives, l.run.Percentiles = had, ps
		return l
	}
	second := &runlog.Objectives{TTFT: time.Second}
	type outcome struct {
		Objectives Objectives
		Chosen     []float64
	}
	for name, tt := range map[string]struct {
		opts Options
		logs []*memlog
		want outcome
	}{
		"as the run": {Options{}, []*memlog{log("a", second, 99.9, 75)}, outcome{Objectives{TTFT: time.Second}, []float64{99.9, 75}}},
		"an old log": {Options{}, []*memlog{log("a", nil)}, outcome{Chosen: []float64{99}}},
		"given ones come first": {
			Options{Goodput: Objectives{E2E: time.Minute}, Chosen: []float64{90}},
			[]*memlog{log("a", second, 99.9)},
			outcome{Objectives{E2E: time.Minute}, []float64{90}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := reportOf(t, tt.opts, tt.logs...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, outcome{r.Objectives, r.Chosen}); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if _, good := r.Steps[0].Whole.GoodRatio(); good != tt.want.Objectives.Any() {
				t.Errorf("good requests are counted: %v", good)
			}
		})
	}
}
