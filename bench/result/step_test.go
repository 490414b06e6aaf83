package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestNewReport: a run's figures are the same from its records as from its log.
func TestNewReport(t *testing.T) {
	const log = "testdata/sweep.jsonl"
	want, err := Read(Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	var records []runlog.Record
	if _, err := runlog.Read(log, func(rec runlog.Record) error {
		records = append(records, rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got, err := NewReport(Options{}, records)
	if diff := cmp.Diff(want, got, sameValues); diff != "" || err != nil {
		t.Errorf("%v (-read +made):\n%s", err, diff)
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
