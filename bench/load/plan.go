package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// process is an arrival process: what a step of it must have, and how the seconds
// between its requests are drawn, nil where their instants are given.
type process struct {
	check func(runlog.Step) error
	gaps  func(runlog.Step, rand.Source) func() float64
}

// processes has a line for each. Gamma gaps have the burstiness for their shape and the
// mean 1/rate, as in vLLM's benchmarks/serve.py, but are not stretched to a given sum:
// that would make the process another.
func processes() map[runlog.Arrival]process {
	return map[runlog.Arrival]process{
		runlog.ArrivalClosed:   {check: checkUsers},
		runlog.ArrivalReplay:   {check: checkNoRamp},
		runlog.ArrivalBurst:    {check: checkBurst, gaps: func(runlog.Step, rand.Source) func() float64 { return func() float64 { return 0 } }},
		runlog.ArrivalConstant: {check: checkRate, gaps: func(s runlog.Step, _ rand.Source) func() float64 { return func() float64 { return 1 / s.Rate } }},
		runlog.ArrivalPoisson: {check: checkRate, gaps: func(s runlog.Step, source rand.Source) func() float64 {
			return distuv.Exponential{Rate: s.Rate, Src: source}.Rand
		}},
		runlog.ArrivalGamma: {check: checkGamma, gaps: func(s runlog.Step, source rand.Source) func() float64 {
			return distuv.Gamma{Alpha: s.Burstiness, Beta: s.Rate * s.Burstiness, Src: source}.Rand
		}},
	}
}

// check refuses a step that cannot be run as asked.
func check(s runlog.Step) error {
	p, known := processes()[s.Arrival]
	switch {
	case s.Requests < 0, s.Duration < 0, s.RampUp < 0, s.MaxConcurrency < 0:
		return errors.New("a number of requests, a duration, a ramp-up or a bound on concurrency is negative")
	case !(s.MaxFailureRatio >= 0 && s.MaxFailureRatio <= 1):
		return fmt.Errorf("a failure ratio of %g is not between 0 and 1", s.MaxFailureRatio)
	case !known:
		return fmt.Errorf("unknown arrival %q", s.Arrival)
	}
	return p.check(s)
}

func checkUsers(s runlog.Step) error {
	if s.Concurrency < 1 {
		return fmt.Errorf("a closed loop of %d users sends nothing: ask for at least 1", s.Concurrency)
	}
	return nil
}

func checkBurst(s runlog.Step) error {
	if s.Requests == 0 {
		return errors.New("a burst needs a number of requests")
	}
	return checkNoRamp(s)
}

func checkGamma(s runlog.Step) error {
	if !(s.Burstiness > 0) || math.IsInf(s.Burstiness, 0) {
		return fmt.Errorf("a burstiness of %g is not above 0", s.Burstiness)
	}
	return checkRate(s)
}

func checkRate(s runlog.Step) error {
	if !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return fmt.Errorf("a rate of %g requests a second is not above 0", s.Rate)
	}
	return nil
}

func checkNoRamp(s runlog.Step) error {
	if s.RampUp > 0 {
		return fmt.Errorf("arrivals of the kind %q have no ramp-up: their instants are given", s.Arrival)
	}
	return nil
}
