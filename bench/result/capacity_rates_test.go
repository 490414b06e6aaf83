package result

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestCapacityOfRates: a rate that the server does not keep up with is missed, although no
// figure tells, and one good run is not enough where not all was over that arrived.
func TestCapacityOfRates(t *testing.T) {
	type run func(i int) time.Duration // request i of one a second takes so long
	pilesUp := func(i int) time.Duration { return 2*time.Second + time.Duration(i)*500*time.Millisecond }
	keepsUp := func(int) time.Duration { return 2 * time.Second }
	lucky := func(i int) time.Duration { // so few take ever longer that it may be chance
		if i%4 != 0 {
			return 2 * time.Second
		}
		return time.Duration(2+i) * time.Second
	}
	oneLate := func(i int) time.Duration {
		if i != 58 {
			return 2 * time.Second
		}
		return 20 * time.Second
	}
	for name, c := range map[string]struct {
		runs    []run
		want    capacity.Verdict // Void where another run is wanted
		changed bool
	}{
		"piles up":              {runs: []run{pilesUp}, want: capacity.Missed},
		"piles up, lucky":       {runs: []run{pilesUp, lucky}, want: capacity.Missed},
		"piles up, then not":    {runs: []run{pilesUp, keepsUp}, want: capacity.Met, changed: true},
		"lucky":                 {runs: []run{lucky}},
		"lucky, piles up":       {runs: []run{lucky, pilesUp}, want: capacity.Missed},
		"lucky twice, piles up": {runs: []run{lucky, lucky, pilesUp}, want: capacity.Missed},
		"lucky twice":           {runs: []run{lucky, lucky}, want: capacity.Met},
		"keeps up":              {runs: []run{keepsUp}, want: capacity.Met},
		"one that takes longer": {runs: []run{oneLate}, want: capacity.Met},
	} {
		t.Run(name, func(t *testing.T) {
			log := searchLog()
			log.run.Capacity.Variable, log.run.Capacity.To = runlog.VariableRequestRate, 1
			log.run.Capacity.Objectives = []runlog.Limit{{Name: "ttft", Percentile: 90, Limit: 100}}
			for i, takes := range c.runs {
				s := runlog.Step{Index: i, Repeat: i, Started: noon, Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 60}
				var requests []runlog.Request
				for k := range s.Requests {
					requests = append(requests, answered(time.Duration(k)*time.Second, 10, 3, time.Second, takes(k)))
				}
				log.begin(s, requests)
				log.end(s, requests, runlog.StopRequests)
			}
			r, err := reportOf(Options{}, log.over())
			if err != nil {
				t.Fatal(err)
			}
			a := r.Capacity
			if l := a.Answer.Levels[0]; l.Settled != (c.want != capacity.Void) || l.Settled && l.Verdict != c.want || (a.Changed > 0) != c.changed {
				t.Errorf("%+v, changed at %v; trials %+v", l, a.Changed, a.Trials)
			}
			if a.FailedAt > 0 && a.Binding != BindingBacklog {
				t.Errorf("binding %q", a.Binding)
			}
		})
	}
}

// TestCapacityOfRatesThatWereNotSent: a rate that the load generator did not send says
// nothing of the server, however good the figures are.
func TestCapacityOfRatesThatWereNotSent(t *testing.T) {
	for late, want := range map[time.Duration]string{
		0:                    "",
		time.Millisecond:     "",
		6 * time.Millisecond: "the load generator was the limit: only 9.43 requests a second were sent where 10.0 were asked for",
	} {
		log := searchLog()
		log.run.Capacity.Variable, log.run.Capacity.From, log.run.Capacity.To = runlog.VariableRequestRate, 10, 10
		log.run.Capacity.Objectives[0].Limit = 100
		s := runlog.Step{Started: noon, Arrival: runlog.ArrivalConstant, Rate: 10}
		for range 3 {
			var requests []runlog.Request
			for i := range 400 { // each later than the one before
				due := time.Duration(i) * 100 * time.Millisecond
				q := answered(due+time.Duration(i)*late, 10, 3, 25*time.Second, 26*time.Second)
				q.Trace.Planned = at(due)
				requests = append(requests, q)
			}
			log.begin(s, requests)
			log.end(s, requests, runlog.StopRequests)
			s.Index, s.Repeat = s.Index+1, s.Repeat+1
		}
		r, err := reportOf(Options{}, log.over())
		if err != nil {
			t.Fatal(err)
		}
		c := r.Capacity
		if got := c.Levels[0].Why; got != want || (c.Value == 10) != (want == "") || (c.VoidAt == 10) != (want != "") {
			t.Errorf("each %s later: carries %v, not judged %v, as %q, want %q", late, c.Value, c.VoidAt, got, want)
		}
	}
}
