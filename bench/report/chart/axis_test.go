package chart

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Steps whose rates rise differently are no repeats of each other.
func TestRisingRatesAreLevelsOfTheirOwn(t *testing.T) {
	rising := func(to float64) report.Step {
		return report.Step{Step: runlog.Step{Arrival: runlog.ArrivalPoisson, Rise: runlog.Rise{Shape: runlog.RiseLinear, From: 1, To: to}}}
	}
	if a := newLoadAxis([]report.Step{rising(4), rising(8), rising(4)}); len(a.levels) != 2 {
		t.Errorf("%d levels, want 2", len(a.levels))
	}
}
