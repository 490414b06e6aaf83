package report

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
			r, err := reportOf(tt.opts, tt.logs...)
			if err != nil {
				t.Fatal(err)
			}
			_, good := r.Steps[0].Whole.GoodRatio()
			if diff := cmp.Diff(tt.want, outcome{r.Objectives, r.ObjectivesDiffer, r.Chosen, good}); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if told := strings.Contains(strings.Join(Notes(r), " "), "different objectives"); told != tt.want.Differ {
				t.Errorf("notes: %q", Notes(r))
			}
			for _, p := range tt.want.Chosen {
				if _, ok := r.Steps[0].Whole.TTFT.At(p); !ok {
					t.Errorf("p%v was asked for and is not there", p)
				}
			}
		})
	}
}

// TestTablePercentiles: every table has 50, 90 and the chosen ones, as far as they
// are held.
func TestTablePercentiles(t *testing.T) {
	usual := []float64{50, 66, 75, 80, 90, 95, 98, 99}
	for name, tt := range map[string]struct{ chosen, held, want []float64 }{
		"nothing chosen":   {nil, usual, []float64{50, 90, 99}},
		"others":           {[]float64{99.9, 25}, append(usual, 99.9, 25), []float64{25, 50, 90, 99.9}},
		"chosen already":   {[]float64{90, 50}, usual, []float64{50, 90}},
		"not held":         {[]float64{99.9}, usual, []float64{50, 90}},
		"others are held":  {nil, []float64{25, 50, 75}, []float64{50, 75}},
		"only the median":  {nil, []float64{50}, []float64{50}},
		"nothing is known": {nil, nil, []float64{50, 90, 99}},
	} {
		if diff := cmp.Diff(tt.want, tablePercentiles(tt.chosen, tt.held)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestChosenPercentileInEveryTable looks for p99.9 in each form that a user reads.
func TestChosenPercentileInEveryTable(t *testing.T) {
	var requests []runlog.Request
	for i := range 20 {
		requests = append(requests, answered(time.Duration(i)*500*time.Millisecond, 10, 4, 200*time.Millisecond, time.Second))
	}
	r, err := reportOf(Options{Chosen: []float64{99.9}}, newMemlog("a").step(closed(2, 20), requests, false).over())
	if err != nil {
		t.Fatal(err)
	}
	for name, render := range map[string]struct {
		write func(*strings.Builder) error
		wants []string
	}{
		"table":    {func(b *strings.Builder) error { return Table(b, r) }, []string{"p50", "p90", "p99.9"}},
		"Markdown": {func(b *strings.Builder) error { return Markdown(b, r) }, []string{"TTFT p90 (ms)", "E2E p99.9 (ms)"}},
		"CSV":      {func(b *strings.Builder) error { return CSV(b, r) }, []string{"ttft_p90_ms", "steady_itl_p99.9_ms"}},
		"checks":   {func(b *strings.Builder) error { return WriteChecks(b, &r.Steps[0]) }, []string{"TPOT p50 / p90 / p99.9 (ms)"}},
	} {
		var b strings.Builder
		if err := render.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range render.wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s without %s:\n%s", name, want, b.String())
			}
		}
	}
	for _, g := range append(DistributionGrids(&r.Steps[0]), SweepGrids(r)[1]) {
		if heads := strings.Join(g.Heads[0], " ") + strings.Join(g.Heads[len(g.Heads)-1], " "); !strings.Contains(heads, "p90") || !strings.Contains(heads, "p99.9") {
			t.Errorf("%s has %s", g.Caption, heads)
		}
	}
}
