package resulttest

import (
	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Searched is [Sweep] as if its levels had been chosen by a search for the users whose
// TPOT p90 is at most 250 ms: 64 do, 100 miss. Every call makes a new one.
func Searched() *result.Report {
	r := Sweep()
	for i := range r.Steps { // this server rather slows down than fails
		r.Steps[i].Account.Failed, r.Steps[i].Steady.Account.Failed = nil, nil
	}
	limits := []runlog.Limit{
		{Name: string(result.TPOT), Percentile: 90, Limit: 0.25},
		{Name: string(result.TTFT), Percentile: 90, Limit: 5},
		{Name: runlog.LimitFailures, Limit: 0.01},
	}
	r.Runs[0].Capacity = &runlog.Capacity{
		Variable: runlog.VariableConcurrency, From: 8, To: 200, Precision: 0.05, Repeat: 3, Objectives: limits,
	}
	c := &result.Capacity{
		Variable: runlog.VariableConcurrency, Answer: capacity.Answer{Value: 64, FailedAt: 100},
		Binding: string(result.TPOT),
	}
	for _, l := range limits {
		c.Limits = append(c.Limits, result.Limit(l))
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		l := result.CapacityLevel{Level: float64(s.Concurrency), Steps: []int{i}, Verdict: capacity.Met, Shown: i}
		for _, limit := range c.Limits {
			h := result.Held{Limit: limit, Known: true}
			if limit.Percentile > 0 {
				h.Value, _ = s.Steady.Of(result.Key(limit.Name)).At(limit.Percentile)
			}
			if s.Held = append(s.Held, h); h.Missed() {
				l.Verdict = capacity.Missed
			}
		}
		c.Levels = append(c.Levels, l)
	}
	last := &c.Levels[len(c.Levels)-1]
	last.Verdict, last.Why = capacity.Void, "the load generator was the limit: it used 14.2 of its 16 cores"
	r.Capacity = c
	return r
}
