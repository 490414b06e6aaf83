package result

import (
	"testing"

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
