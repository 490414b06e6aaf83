package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	defaultRequests = 1000
	rampUpPerUser   = 20 * time.Millisecond
	maxSteps        = 10_000
)

// check says what is wrong with a load, be it a flag's value or flags that do not go
// together.
func (l *loadFlags) check(replay bool) error {
	closed, open := len(l.users) > 0, len(l.rates) > 0
	paced := slices.ContainsFunc(l.rates, func(rate float64) bool { return !math.IsInf(rate, 1) })
	burst := open && l.maxConcurrency == 0 && slices.ContainsFunc(l.rates, func(rate float64) bool { return math.IsInf(rate, 1) })
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{l.requests < 1 && l.requestsSet, "--requests must be at least 1"},
		{l.maxConcurrency < 0, "--max-concurrency must not be negative"},
		{l.warmups < 0, "--warmup-requests must not be negative"},
		{l.repeat < 1 || l.repeat > maxSteps, fmt.Sprintf("--repeat must be from 1 to %d", maxSteps)},
		{!(l.maxFailures >= 0 && l.maxFailures <= 1), "--max-failure-ratio must be between 0 and 1"},

		{closed && open, "--concurrency is a closed loop and --request-rate an open one: give one of them (--max-concurrency bounds an open loop)"},
		{closed && l.maxConcurrency > 0, "--concurrency and --max-concurrency contradict each other"},
		{replay && (closed || paced), "a replay has its own times: give neither --concurrency nor --request-rate"},
		{
			l.rampUp > 0 && (burst || replay),
			"--ramp-up is for users and for rates: there is none when all is sent at once, or in a replay",
		},
		{replay && l.selfTimedSet && !l.selfTimed, "--no-self-timed is refused: " + selfTimedAlways},
		{!replay && l.selfTimed, "--self-timed is refused: " + selfTimedAlways},
	} {
		if rule.broken {
			return errors.New(rule.text)
		}
	}
	return nil
}

const selfTimedAlways = "a replay keeps the times of its trace, and nothing else has any"

// unused are the flags of a load that change nothing in it.
func (l *loadFlags) unused(first runlog.Step) []string {
	var told []string
	if l.selfTimedSet {
		told = append(told, fmt.Sprintf("--%sself-timed is accepted, and without effect: %s", map[bool]string{false: "no-"}[l.selfTimed], selfTimedAlways))
	}
	if l.burstinessSet && first.Rate == 0 {
		told = append(told, "--burstiness is without effect without a --request-rate")
	}
	return told
}

// steps are the sweep that the flags ask for, repeated as often as they say. A replay
// has its own times, also where the rate is infinite, which says no other.
func (l *loadFlags) steps(maxTokens int, replay bool) ([]runlog.Step, error) {
	if err := l.check(replay); err != nil {
		return nil, err
	}
	levels := l.levels(replay)
	if len(levels)*l.repeat > maxSteps {
		return nil, fmt.Errorf("%d steps are more than %d", len(levels)*l.repeat, maxSteps)
	}
	steps := make([]runlog.Step, 0, len(levels)*l.repeat)
	for repeat := range l.repeat {
		for _, s := range levels {
			s.Index, s.Repeat = len(steps), repeat
			s.Requests, s.Duration = l.requests, l.duration
			unlimited := s.Requests == 0 && s.Duration == 0 && !replay
			if unlimited || s.Requests == 0 && s.Arrival == runlog.ArrivalBurst {
				s.Requests = defaultRequests
			}
			s.RampUp = l.rampUp
			if s.Arrival == runlog.ArrivalClosed && !l.rampUpSet { // so that not all wait for one another's prefill
				s.RampUp = time.Duration(s.Concurrency) * rampUpPerUser
			}
			s.Timeout, s.MaxFailureRatio, s.MaxTokens, s.Warmups = l.timeout, l.maxFailures, maxTokens, l.warmups
			if err := checkFiles(connections(s)); err != nil {
				return nil, err
			}
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// levels are the loads of a sweep: the instants of a replay, rates or users.
func (l *loadFlags) levels(replay bool) []runlog.Step {
	if replay {
		return []runlog.Step{{Arrival: runlog.ArrivalReplay, MaxConcurrency: l.maxConcurrency}}
	}
	var steps []runlog.Step
	for _, rate := range l.rates {
		s := l.paced()
		s.Rate = rate
		switch {
		case math.IsInf(rate, 1) && l.maxConcurrency > 0: // all at once behind a bound is a closed loop
			s = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: l.maxConcurrency}
		case math.IsInf(rate, 1):
			s = runlog.Step{Arrival: runlog.ArrivalBurst}
		}
		steps = append(steps, s)
	}
	if len(steps) > 0 {
		return steps
	}
	users := l.users
	if len(users) == 0 {
		users = []int{max(l.maxConcurrency, 1)}
	}
	for _, n := range users {
		steps = append(steps, runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: n})
	}
	return steps
}

// paced is a step of an open loop, without its rate.
func (l *loadFlags) paced() runlog.Step {
	s := runlog.Step{MaxConcurrency: l.maxConcurrency, Arrival: runlog.ArrivalGamma, Burstiness: l.burstiness}
	switch {
	case math.IsInf(l.burstiness, 1):
		s.Arrival, s.Burstiness = runlog.ArrivalConstant, 0
	case l.burstiness == 1:
		s.Arrival = runlog.ArrivalPoisson
	}
	return s
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

// checkFiles says when a step needs more connections than this process may have
// files: its requests would fail, and the server be blamed.
func checkFiles(connections int) error {
	const others = 40 // files beside connections, those of maxScrapers among them
	if need, limit := connections+others, process.MaxFiles(); need > limit {
		return fmt.Errorf("%d requests in flight need more files than the %d this process may open: ulimit -n %d", connections, limit, need)
	}
	return nil
}
