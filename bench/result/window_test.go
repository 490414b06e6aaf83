package result

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// everySecond are n requests, one a second, each of which takes so long.
func everySecond(n int, takes time.Duration) []runlog.Request {
	var all []runlog.Request
	for i := range n {
		all = append(all, answered(time.Duration(i)*time.Second, 1, 2, takes/2, takes))
	}
	return all
}

func TestSteadyWindow(t *testing.T) {
	open := func(a runlog.Arrival, ramp time.Duration) runlog.Step {
		return runlog.Step{Started: noon, Arrival: a, Rate: 1, RampUp: ramp}
	}
	refused := everySecond(20, 3*time.Second)
	for i := range refused[:5] {
		refused[i] = failed(time.Duration(i)*time.Second, time.Millisecond, openai.ReasonConnect)
	}
	for name, tt := range map[string]struct {
		step     runlog.Step
		requests []runlog.Request
		from, to time.Duration
		why      string
	}{
		"closed loop, full at its third request": {closed(3, 20), everySecond(20, 2500*time.Millisecond), 2 * time.Second, 19 * time.Second, ""},
		// One that is over when the next is sent makes room for it.
		"closed loop, never full":  {step: closed(3, 20), requests: everySecond(20, 2*time.Second), why: "never more than 2 of 3 requests were in flight at once"},
		"closed loop, too short":   {step: closed(3, 11), requests: everySecond(11, 2500*time.Millisecond), why: "only 9 requests in steady state, 10 needed: raise --num-prompts"},
		"closed loop, many users":  {step: closed(12, 20), requests: everySecond(20, 11500*time.Millisecond), why: "only 9 requests in steady state, 12 needed: raise --num-prompts"},
		"closed loop, one user":    {closed(1, 20), everySecond(20, time.Second), 0, 19 * time.Second, ""},
		"full at the last request": {step: closed(5, 5), requests: everySecond(5, time.Minute), why: "only 1 requests in steady state, 10 needed: raise --num-prompts"},
		"open loop":                {open(runlog.ArrivalPoisson, 0), everySecond(20, 3*time.Second), 3 * time.Second, 19 * time.Second, ""},
		"open loop with a ramp":    {open(runlog.ArrivalConstant, 8*time.Second), everySecond(30, 3*time.Second), 11 * time.Second, 29 * time.Second, ""},
		"refused at its start":     {open(runlog.ArrivalGamma, 0), refused, 7500 * time.Millisecond, 19 * time.Second, ""},
		"nothing but failures":     {step: open(runlog.ArrivalPoisson, 0), requests: refused[:5], why: "no request succeeded"},
		"burst":                    {step: open(runlog.ArrivalBurst, 0), requests: everySecond(20, time.Minute), why: "all requests were sent at once"},
		"nothing sent":             {step: closed(3, 20), why: "no request was sent"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, newMemlog("a").step(tt.step, tt.requests, false).ended())
			if s.NotSteady != tt.why || (s.Steady == nil) != (tt.why != "") {
				t.Fatalf("not steady %q, want %q", s.NotSteady, tt.why)
			}
			if s.Steady == nil {
				return
			}
			equal(t, "steady window", Window{at(tt.from), at(tt.to)}, s.Steady.Window)
		})
	}
}

// TestSteadyWindowOfMachines ends when the first machine has no more to send: the
// load is no longer what it was.
func TestSteadyWindowOfMachines(t *testing.T) {
	few, many := newMemlog("a").step(closed(1, 15), everySecond(15, time.Second), false), newMemlog("b").step(closed(1, 30), everySecond(30, time.Second), false)
	s := stepOf(t, Options{}, few.ended(), many.ended())
	if s.Steady == nil || s.Steady.Window != (Window{noon, at(14 * time.Second)}) || s.Concurrency != 2 {
		t.Errorf("steady %+v (%s), want until 14 s; concurrency %d, want 2", s.Steady, s.NotSteady, s.Concurrency)
	}
}
