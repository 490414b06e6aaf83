package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestNewStep: a step's figures are the same from its records as from its log.
func TestNewStep(t *testing.T) {
	const log = "testdata/sweep.jsonl"
	r, err := Read(Options{AsRun: true}, log)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range stepLogs(t, log) {
		if diff := cmp.Diff(r.Steps[i], NewStep(Options{AsRun: true}, l)); diff != "" {
			t.Errorf("step %d (-read +made):\n%s", i, diff)
		}
	}
}

// stepLogs are the steps of a log.
func stepLogs(t *testing.T, path string) (all []StepLog) {
	t.Helper()
	in, err := runlog.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for {
		rec, err := in.Next()
		if err != nil {
			return all
		}
		if rec.Step != nil {
			all = append(all, StepLog{Run: in.Run(), Step: *rec.Step})
		}
		if len(all) == 0 {
			continue
		}
		last := &all[len(all)-1]
		switch {
		case rec.Request != nil:
			last.Requests = append(last.Requests, *rec.Request)
		case rec.Sample != nil:
			last.Samples = append(last.Samples, *rec.Sample)
		case rec.StepEnd != nil:
			last.End = rec.StepEnd
		}
	}
}
