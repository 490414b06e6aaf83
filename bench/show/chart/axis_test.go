package chart

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Steps whose rates rise differently are no repeats of each other.
func TestRisingRatesAreLevelsOfTheirOwn(t *testing.T) {
	rising := func(to float64) result.Step {
		return result.Step{Step: runlog.Step{Arrival: runlog.ArrivalPoisson, Rise: runlog.Rise{Shape: runlog.RiseLinear, From: 1, To: to}}}
	}
	if a := newLoadAxis([]result.Step{rising(4), rising(8), rising(4)}); len(a.levels) != 2 {
		t.Errorf("%d levels, want 2", len(a.levels))
	}
}
