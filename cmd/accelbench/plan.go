package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	defaultRequests = 1000
	rampUpPerUser   = 20 * time.Millisecond
	maxSteps        = 10_000
)

// steps are the sweep that the flags ask for, repeated as often as they say.
func (l *loadFlags) steps(maxTokens int, replay, vllm bool) ([]runlog.Step, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	levels, err := l.levels(replay, vllm)
	if err != nil {
		return nil, err
	}
	if len(levels)*l.repeat > maxSteps {
		return nil, fmt.Errorf("%d steps are more than %d", len(levels)*l.repeat, maxSteps)
	}
	steps := make([]runlog.Step, 0, len(levels)*l.repeat)
	for repeat := range l.repeat {
		for _, s := range levels {
			s.Index, s.Repeat = len(steps), repeat
			s.Requests, s.Duration = l.requests, time.Duration(l.duration)
			unlimited := s.Requests == 0 && s.Duration == 0 && !replay
			if unlimited || s.Requests == 0 && s.Arrival == runlog.ArrivalBurst {
				s.Requests = defaultRequests
			}
			if s.RampUp, err = l.rampUpOf(s); err != nil {
				return nil, err
			}
			s.Timeout = time.Duration(l.timeout)
			s.MaxFailureRatio, s.MaxTokens, s.Warmups = l.maxFailureRatio, maxTokens, l.warmups
			if err := checkFiles(connections(s)); err != nil {
				return nil, err
			}
			steps = append(steps, s)
		}
	}
	return steps, nil
}

func (l *loadFlags) check() error {
	switch {
	case l.requests < 1 && len(l.counts.given()) > 0:
		return errors.New("--requests must be at least 1")
	case l.maxConcurrency < 0:
		return errors.New("--max-concurrency must not be negative")
	case l.warmups < 0:
		return errors.New("--warmup-requests must not be negative")
	case l.repeat < 1 || l.repeat > maxSteps:
		return fmt.Errorf("--repeat must be from 1 to %d", maxSteps)
	case !(l.maxFailureRatio >= 0 && l.maxFailureRatio <= 1):
		return errors.New("--max-failure-ratio must be between 0 and 1")
	}
	return l.checkRise()
}

// checkRise is about flags that only together make a rising rate.
func (l *loadFlags) checkRise() error {
	rise := runlog.Rise{Shape: runlog.RiseShape(l.rise), From: l.riseFrom, To: l.riseTo}
	switch {
	case l.rise == "" && (l.riseFromSet || l.riseToSet):
		return errors.New("--ramp-up-start-rps and --ramp-up-end-rps need --ramp-up-strategy")
	case l.rise == "":
		return nil
	case !l.riseFromSet || !l.riseToSet:
		return errors.New("--ramp-up-strategy needs --ramp-up-start-rps and --ramp-up-end-rps")
	case len(l.rates) > 0 || len(l.concurrency) > 0:
		return errors.New("--ramp-up-strategy sets the rate: give neither --request-rate nor --concurrency (--max-concurrency bounds it)")
	case l.rampUpSet:
		return errors.New("--ramp-up-strategy raises the rate over all requests, --ramp-up over a time: give one of them")
	case !(rise.From >= 0) || !(rise.To > 0) || rise.From > rise.To || math.IsInf(rise.To, 0):
		return errors.New("--ramp-up-start-rps must be at least 0 and at most --ramp-up-end-rps")
	case rise.Shape == runlog.RiseExponential && rise.From == 0:
		return errors.New("--ramp-up-start-rps must be above 0 for --ramp-up-strategy exponential")
	case l.requests == 0 && l.duration > 0:
		return errors.New("--ramp-up-strategy needs a number of --requests: its rate is reached at the last of them")
	}
	return nil
}

// levels are the loads of a sweep: users, rates, the instants of a replay, or,
// on a vLLM command line that says neither, everything at once.
func (l *loadFlags) levels(replay, vllm bool) ([]runlog.Step, error) {
	users := []int(l.concurrency)
	switch {
	case len(users) > 0 && len(l.rates) > 0:
		return nil, errors.New("--concurrency is a closed loop and --request-rate an open one: give one of them (--max-concurrency bounds an open loop)")
	case len(users) > 0 && l.maxConcurrency > 0:
		return nil, errors.New("--concurrency and --max-concurrency contradict each other")
	case replay && (len(users) > 0 || len(l.rates) > 0 || l.rise != ""):
		return nil, errors.New("a replay has its own times: give neither --concurrency nor --request-rate nor --ramp-up-strategy")
	case replay:
		return []runlog.Step{{Arrival: runlog.ArrivalReplay, MaxConcurrency: l.maxConcurrency}}, nil
	case len(l.rates) > 0 || l.rise != "":
		return l.open()
	case len(users) > 0:
	case l.maxConcurrency > 0:
		users = []int{l.maxConcurrency} // all at once behind a bound is a closed loop
	case vllm:
		return []runlog.Step{{Arrival: runlog.ArrivalBurst}}, nil
	default:
		users = []int{1}
	}
	steps := make([]runlog.Step, len(users))
	for i, n := range users {
		steps[i] = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: n}
	}
	return steps, nil
}

// open are the levels of an open loop.
func (l *loadFlags) open() ([]runlog.Step, error) {
	shape, err := strconv.ParseFloat(l.burstiness, 64)
	if err != nil || !(shape > 0) {
		return nil, fmt.Errorf("--burstiness %q is no number above 0, nor inf", l.burstiness)
	}
	paced := runlog.Step{MaxConcurrency: l.maxConcurrency, Arrival: runlog.ArrivalGamma, Burstiness: shape}
	switch {
	case math.IsInf(shape, 1):
		paced.Arrival, paced.Burstiness = runlog.ArrivalConstant, 0
	case shape == 1:
		paced.Arrival = runlog.ArrivalPoisson
	}
	if l.rise != "" {
		paced.Rise = runlog.Rise{Shape: runlog.RiseShape(l.rise), From: l.riseFrom, To: l.riseTo}
		return []runlog.Step{paced}, nil
	}
	steps := make([]runlog.Step, 0, len(l.rates))
	for _, rate := range l.rates {
		s := paced
		s.Rate = rate
		switch {
		case math.IsInf(rate, 1) && l.maxConcurrency > 0:
			s = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: l.maxConcurrency}
		case math.IsInf(rate, 1):
			s = runlog.Step{Arrival: runlog.ArrivalBurst}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// rampUpOf spreads the first requests of a closed loop by default, so that not
// all of them wait for one another's prefill.
func (l *loadFlags) rampUpOf(s runlog.Step) (time.Duration, error) {
	switch {
	case s.Arrival == runlog.ArrivalClosed && !l.rampUpSet:
		return time.Duration(s.Concurrency) * rampUpPerUser, nil
	case l.rampUp > 0 && (s.Arrival == runlog.ArrivalBurst || s.Arrival == runlog.ArrivalReplay):
		return 0, errors.New("--ramp-up is for users and for rates: there is none when all is sent at once, or in a replay")
	}
	return time.Duration(l.rampUp), nil
}

// connections is how many a step may need at once, as far as it is known.
func connections(s runlog.Step) int {
	n := max(s.Concurrency, s.MaxConcurrency)
	if s.Arrival == runlog.ArrivalBurst && n == 0 {
		n = s.Requests
	}
	if s.Requests > 0 {
		n = min(n, s.Requests)
	}
	return n
}
