package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestNewStep: a step's figures are the same from its records as from its log.
func TestNewStep(t *testing.T) {
	const log = "testdata/sweep.jsonl"
	r, err := Read(Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	in, err := runlog.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	kept := &memlog{run: in.Run()}
	for rec, err := in.Next(); err == nil; rec, err = in.Next() {
		kept.records = append(kept.records, rec)
	}
	logs := kept.stepLogs()
	for i, want := range r.Steps {
		if diff := cmp.Diff(want, NewStep(Options{}, logs[i])); diff != "" {
			t.Errorf("step %d (-read +made):\n%s", i, diff)
		}
	}
}

// A clock that was set during the run takes no memory for the years between.
func TestClockSetDuringTheRun(t *testing.T) {
	early := answered(0, 10, 4, time.Second, 2*time.Second)
	early.Trace.Started = time.Unix(1, 0)
	late := answered(0, 10, 4, time.Second, 2*time.Second)
	l := newMemlog("h").step(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1}, []runlog.Request{early, late}, false)
	s := stepOf(t, Options{}, l)
	if s.Whole.OutputTokens != 8 || s.Whole.PeakOutputThroughput != 2 {
		t.Errorf("%d output tokens, at most %v in a second; want 8 and 2", s.Whole.OutputTokens, s.Whole.PeakOutputThroughput)
	}
}
