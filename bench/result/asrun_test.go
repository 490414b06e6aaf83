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
	log := func(name string, had runlog.Objectives, ps ...float64) *memlog {
		requests := []runlog.Request{answered(0, 1, 5, time.Second, 2*time.Second, 5*time.Second)}
		l := newMemlog(name).step(closed(1, 1), requests, false).ended()
		l.run.Objectives, l.run.Percentiles = had, ps
		return l
	}
	second := runlog.Objectives{{Measure: TTFT, Limit: 1}}
	minute := runlog.Objectives{{Measure: E2E, Limit: 60}}
	type outcome struct {
		Objectives  runlog.Objectives
		Percentiles []float64
	}
	for name, tt := range map[string]struct {
		opts Options
		logs []*memlog
		want outcome
	}{
		"as the run": {Options{}, []*memlog{log("a", second, 99.9, 75)}, outcome{second, []float64{99.9, 75}}},
		"an old log": {Options{}, []*memlog{log("a", nil)}, outcome{Percentiles: []float64{99}}},
		"given ones come first": {
			Options{Goodput: minute, Percentiles: []float64{90}},
			[]*memlog{log("a", second, 99.9)},
			outcome{minute, []float64{90}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := reportOf(t, tt.opts, tt.logs...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, outcome{r.Objectives, r.Percentiles}); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if good := r.Steps[0].Whole.GoodRatio(); good.Known() != (len(tt.want.Objectives) > 0) {
				t.Errorf("good requests: %v", good)
			}
		})
	}
}
