package result

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestLogsThatAreNotOneLoad(t *testing.T) {
	requests := everySecond(3, time.Second)
	for name, tt := range map[string]struct {
		change func(r *runlog.Run, s *runlog.Step)
		want   string
	}{
		"same run": {func(r *runlog.Run, _ *runlog.Step) { r.ID = "id of a" }, "the same run was read before: give it once"},
		"model":    {func(r *runlog.Run, _ *runlog.Step) { r.Model = "llama" }, "it is of llama at http://server:8000, API chat, but the log of a is of qwen2.5 at http://server:8000, API chat: give"},
		"API":      {func(r *runlog.Run, _ *runlog.Step) { r.API = openai.Completions }, "it is of qwen2.5 at http://server:8000, API completions, but the log"},
		"server":   {func(r *runlog.Run, _ *runlog.Step) { r.URL = "http://other" }, "it is of qwen2.5 at http://other, API chat"},
		"side":     {func(r *runlog.Run, _ *runlog.Step) { r.Side = "B" }, "API chat, side B, but the log"},
		"users":    {func(_ *runlog.Run, s *runlog.Step) { s.Concurrency = 9 }, "step 0 is 9, and 1 in"},
		"arrival":  {func(_ *runlog.Run, s *runlog.Step) { s.Arrival = runlog.ArrivalBurst }, "step 0 is inf, and 1 in"},
		"repeat":   {func(_ *runlog.Run, s *runlog.Step) { s.Repeat = 1 }, "step 0 is 1 #2, and 1 in"},
		"one load": {func(*runlog.Run, *runlog.Step) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newMemlog("a").step(closed(1, 3), requests, false).ended(), newMemlog("b")
			s := closed(1, 3)
			tt.change(&b.run, &s)
			_, err := reportOf(t, Options{}, a, b.step(s, requests, false).ended())
			switch {
			case tt.want == "":
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("error %v, want %q", err, tt.want)
			case name != "same run" && !strings.HasSuffix(err.Error(), advice):
				t.Errorf("error %v does not say what to do", err)
			}
		})
	}
}

// TestMachineThatDied has its steps in the report as far as it came.
func TestMachineThatDied(t *testing.T) {
	a, b := newMemlog("a"), newMemlog("b")
	for i := range 2 {
		s := closed(1, 3)
		s.Index = i
		a.step(s, everySecond(3, time.Second), false)
		if i == 0 {
			b.step(s, everySecond(2, time.Second), true)
		}
	}
	r, err := reportOf(t, Options{}, a.ended(), b)
	noError(t, err)
	if r.Complete || len(r.Steps) != 2 || r.Steps[0].Machines != 2 || r.Steps[1].Machines != 1 || r.Steps[0].Stop != "" || r.Steps[0].Dataset.Prompts != 0 || r.Steps[1].Stop == "" {
		t.Errorf("complete %v, steps %+v", r.Complete, r.Steps)
	}
}

// TestMachinesAreOneLoad of the sum of their rates, from the first that begins.
func TestMachinesAreOneLoad(t *testing.T) {
	var logs []*memlog
	for i, host := range []string{"a", "b", "c"} {
		start := time.Duration(i) * 500 * time.Millisecond
		log := newMemlog(host)
		log.run.Started = at(start)
		requests := everySecond(3+10*(i%2), 500*time.Millisecond)
		for k := range requests {
			tr := &requests[k].Trace
			tr.Planned, tr.Started = tr.Planned.Add(start), tr.Started.Add(start)
		}
		logs = append(logs, log.step(runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 5, Started: at(start)}, requests, false).ended())
	}
	for _, order := range [][]*memlog{{logs[0], logs[1], logs[2]}, {logs[2], logs[1], logs[0]}} {
		s := stepOf(t, Options{}, order...)
		if s.Label.Short != "3 req/s" || s.Rate != 3 || s.Requests != 15 || !s.Started.Equal(noon) || s.Account.Attempted != 19 {
			t.Errorf("step %q of rate %v, %d requests, %d attempted, from %v", s.Label.Short, s.Rate, s.Requests, s.Account.Attempted, s.Started)
		}
	}
}

// TestOneMachineWasInterrupted says so of the load of all, unless another leads them, which knows how the step stopped.
func TestOneMachineWasInterrupted(t *testing.T) {
	for machines, want := range map[int]runlog.Stop{0: runlog.StopInterrupted, 3: runlog.StopRequests} {
		var logs []*memlog
		for rank, stop := range []runlog.Stop{runlog.StopRequests, runlog.StopInterrupted, runlog.StopDuration} {
			log, requests := newMemlog(fmt.Sprint(rank)), everySecond(3, time.Second)
			log.run.Rank, log.run.Machines = min(rank, machines), machines
			log.begin(closed(1, 3), requests)
			log.end(closed(1, 3), requests, stop)
			logs = slices.Insert(logs, 0, log.ended()) // the leader's lines are the last
		}
		if got := stepOf(t, Options{}, logs...).Stop; got != want {
			t.Errorf("%d machines: stop %q, want %q", machines, got, want)
		}
	}
}

// TestNotRun names what a run that stopped early had planned.
func TestNotRun(t *testing.T) {
	log := newMemlog("a")
	log.run.Steps = []string{"2", "4", "2", "2", "8"}
	for i, users := range []int{2, 4, 2} {
		s := closed(users, 3)
		s.Index = i
		log.step(s, everySecond(3, time.Second), false)
	}
	r, err := reportOf(t, Options{}, log.ended())
	noError(t, err)
	equal(t, "not run", []string{"2", "8"}, r.NotRun)
	if names := r.Steps[0].Label.Short + ", " + r.Steps[1].Label.Short + ", " + r.Steps[2].Label.Short; names != "2, 4, 2" {
		t.Errorf("steps %s", names)
	}
}
