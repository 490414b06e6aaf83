package sweep

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Steps that are chosen as the run goes see the log of those before, and a step with
// too many failures is no reason to stop.
func TestNextStepFromTheLog(t *testing.T) {
	cfg := plan(t, endpoint(t, nil)+"/fault/http_500")
	cfg.Unchecked, cfg.Run.Model = true, "qwen2.5"
	template := cfg.Steps[0]
	template.MaxFailureRatio = 0.1
	cfg.Steps = nil
	var seen [][]string
	cfg.Next = func(folder string) (runlog.Step, bool, error) {
		run, order, _ := kinds(t, folder)
		if len(run.Steps) > 0 {
			t.Errorf("planned %q", run.Steps)
		}
		seen = append(seen, order)
		s := template
		s.Index = len(seen) - 1
		return s, s.Index < 2, nil
	}
	result, err := Run(t.Context(), cfg)
	if err != nil || result.Stop != runlog.StopFailureRatio {
		t.Errorf("stop %q, %v", result.Stop, err)
	}
	step := []string{"step", "request", "step end"}
	if diff := cmp.Diff([][]string{nil, step, slices.Concat(step, step)}, seen); diff != "" {
		t.Errorf("logs when the next step was chosen (-want +got):\n%s", diff)
	}
}

// What cannot choose a step ends the run, with what was measured kept, and the log's end:
// nothing killed the run.
func TestNextStepFails(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	first, broken := cfg.Steps[0], errors.New("no idea")
	cfg.Steps = nil
	n := 0
	cfg.Next = func(string) (runlog.Step, bool, error) {
		if n++; n > 1 {
			return runlog.Step{}, false, broken
		}
		return first, true, nil
	}
	result, err := Run(t.Context(), cfg)
	if !errors.Is(err, broken) || result.Attempted != first.Requests {
		t.Errorf("%d attempted, %v", result.Attempted, err)
	}
	_, order, requests := kinds(t, result.Folder)
	if want := []string{"step", "request", "step end", "run end, requests"}; len(requests) != first.Requests || !slices.Equal(order, want) {
		t.Errorf("%d requests were kept, in %q", len(requests), order)
	}
}
