package sweep

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// A step's records are those of the log, and the next step may be chosen by them.
func TestSession(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	step := cfg.Steps[0]
	cfg.Steps = nil
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		step.Index = n
		kept, err := s.Step(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept.Requests) != 10 || kept.End.Succeeded != 10 || len(kept.Samples) < 2 || kept.Run.Model == "" ||
			kept.Step.Index != n || kept.Step.Started.IsZero() || kept.Requests[9].Step != n {
			t.Errorf("step %d: %+v", n, kept)
		}
	}
	result, err := s.Close()
	if err != nil || result.Attempted != 20 || result.Succeeded != 20 || result.Stop != runlog.StopRequests {
		t.Errorf("%+v %v", result, err)
	}
	if _, order, requests := kinds(t, result.Folder); len(requests) != 20 || order[len(order)-1] != "run end, requests" {
		t.Errorf("log: %d requests, %v", len(requests), order)
	}
}
