package load

import (
	"errors"
	"fmt"
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// check refuses a step that cannot be run as asked.
func check(s runlog.Step) error {
	switch {
	case s.Requests < 0, s.Duration < 0, s.RampUp < 0, s.MaxConcurrency < 0:
		return errors.New("a number of requests, a duration, a ramp-up or a bound on concurrency is negative")
	case !(s.MaxFailureRatio >= 0 && s.MaxFailureRatio <= 1):
		return fmt.Errorf("a failure ratio of %g is not between 0 and 1", s.MaxFailureRatio)
	}
	switch s.Arrival {
	case runlog.ArrivalClosed:
		if s.Concurrency < 1 {
			return fmt.Errorf("a closed loop of %d users sends nothing: ask for at least 1", s.Concurrency)
		}
	case runlog.ArrivalBurst:
		if s.Requests == 0 {
			return errors.New("a burst needs a number of requests")
		}
		return checkNoRamp(s)
	case runlog.ArrivalReplay:
		return checkNoRamp(s)
	case runlog.ArrivalConstant, runlog.ArrivalPoisson:
		return checkRate(s.Rate)
	case runlog.ArrivalGamma:
		if !(s.Burstiness > 0) || math.IsInf(s.Burstiness, 0) {
			return fmt.Errorf("a burstiness of %g is not above 0", s.Burstiness)
		}
		return checkRate(s.Rate)
	default:
		return fmt.Errorf("unknown arrival %q", s.Arrival)
	}
	return nil
}

func checkRate(rate float64) error {
	if !(rate > 0) || math.IsInf(rate, 0) {
		return fmt.Errorf("a rate of %g requests a second is not above 0", rate)
	}
	return nil
}

func checkNoRamp(s runlog.Step) error {
	if s.RampUp > 0 {
		return fmt.Errorf("arrivals of the kind %q have no ramp-up: their instants are given", s.Arrival)
	}
	return nil
}
