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
		return checkRate(s)
	case runlog.ArrivalGamma:
		if !(s.Burstiness > 0) || math.IsInf(s.Burstiness, 0) {
			return fmt.Errorf("a burstiness of %g is not above 0", s.Burstiness)
		}
		return checkRate(s)
	default:
		return fmt.Errorf("unknown arrival %q", s.Arrival)
	}
	return nil
}

func checkRate(s runlog.Step) error {
	if s.Rise != (runlog.Rise{}) {
		return checkRise(s)
	}
	if !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return fmt.Errorf("a rate of %g requests a second is not above 0", s.Rate)
	}
	return nil
}

func checkRise(s runlog.Step) error {
	r := s.Rise
	switch {
	case r.Shape != runlog.RiseLinear && r.Shape != runlog.RiseExponential:
		return fmt.Errorf("unknown shape %q of a rising rate", r.Shape)
	case !(r.From >= 0) || !(r.To > 0) || r.From > r.To || math.IsInf(r.To, 0):
		return fmt.Errorf("a rate cannot rise from %g to %g requests a second", r.From, r.To)
	case r.Shape == runlog.RiseExponential && r.From == 0:
		return errors.New("a rate cannot rise from 0 exponentially: it would stay 0")
	case s.Requests == 0:
		return errors.New("a rising rate needs a number of requests, at whose last it is reached")
	case s.Rate > 0 || s.RampUp > 0:
		return errors.New("a rising rate has neither another rate nor a ramp-up")
	}
	return nil
}

func checkNoRamp(s runlog.Step) error {
	if s.RampUp > 0 {
		return fmt.Errorf("arrivals of the kind %q have no ramp-up: their instants are given", s.Arrival)
	}
	return nil
}
