package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// paced is an endpoint whose answers have 283 tokens and take 20 s, and more under load, with what it was asked.
type paced struct {
	Endpoint // nil: nobody has texts counted

	slower   time.Duration // a token, for each request in flight
	mu       sync.Mutex
	prompts  []string
	inFlight int
	most     int
}

func (p *paced) Stream(ctx context.Context, r openai.Request) *openai.Trace {
	p.mu.Lock()
	p.prompts = append(p.prompts, fmt.Sprint(r.Prompt, r.PromptTokens))
	p.inFlight++
	p.most = max(p.most, p.inFlight)
	const tokens = 283
	gap := 70*time.Millisecond + p.slower*time.Duration(p.inFlight)
	p.mu.Unlock()
	t := &openai.Trace{RequestID: openai.NewRequestID(), Planned: r.Planned, Started: time.Now(), Usage: &openai.Usage{PromptTokens: 40, CompletionTokens: tokens}, Done: true, Finish: "stop"}
	select {
	case <-time.After(tokens * gap):
		for n := range tokens {
			t.Chunks = append(t.Chunks, openai.Chunk{At: time.Duration(n+1) * gap})
		}
	case <-ctx.Done():
		t.Failure = &openai.Failure{Reason: openai.ReasonCanceled}
	}
	t.End = time.Since(t.Started)
	p.mu.Lock()
	p.inFlight--
	p.mu.Unlock()
	return t
}

func (p *paced) Models(context.Context) ([]openai.Model, *openai.Failure) {
	return []openai.Model{{ID: "qwen2.5"}}, nil
}

func (p *paced) LastReceived() time.Time { return time.Now() }

// wire is a network to the leader.
type wire struct {
	leader http.Handler
	delay  time.Duration // one way
	isCut  *atomic.Bool
}

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(w.delay)
	for w.isCut.Load() { // what is sent is dropped, and sent again
		if sleepUntil(r.Context(), time.Now().Add(time.Second)); r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
	}
	answer := httptest.NewRecorder()
	w.leader.ServeHTTP(answer, r)
	time.Sleep(w.delay)
	if w.isCut.Load() || r.Context().Err() != nil {
		return nil, errors.New("connection reset by peer")
	}
	return answer.Result(), nil
}

// fleet is a load of several machines.
type fleet struct {
	t        *testing.T
	team     Team // as the leader thinks, its number and identity those of all where there are none
	endpoint *paced
	puts     func(ctx context.Context, cfg Config) (Result, error) // the leader's part, nil for all steps
	seen     watcher                                               // of the leader
	cut      []*atomic.Bool                                        // by rank
	ended    []Result
	errs     []error
	stopped  []time.Duration // when each had ended, since the start
}

var alike = map[string]string{"version": "0.2.0 abc", "--num-prompts": "1"}

// run puts a load on from several machines, whose clocks are off by as many seconds as their rank.
func (f *fleet) run(cfg Config, machines int, beside func(ctx context.Context, cancel []context.CancelFunc)) {
	f.team.JoinTimeout = time.Minute
	if f.team.Machines == 0 {
		f.team.Machines, f.team.Identity = machines, alike
	}
	lead := NewLead(f.team)
	if machines == 1 && f.team.Machines == 1 {
		lead = nil
	}
	if f.endpoint == nil {
		f.endpoint = new(paced)
	}
	if f.puts == nil {
		f.puts = func(ctx context.Context, cfg Config) (Result, error) { return Run(ctx, cfg, &f.seen) }
	}
	f.ended, f.errs, f.stopped = make([]Result, machines), make([]error, machines), make([]time.Duration, machines)
	cancels := make([]context.CancelFunc, machines)
	begin := time.Now()
	var all sync.WaitGroup
	for range machines {
		f.cut = append(f.cut, new(atomic.Bool))
	}
	for rank := range machines {
		ctx, cancel := context.WithCancel(f.t.Context())
		cancels[rank] = cancel
		cfg, dir := cfg, f.t.TempDir()
		cfg.Endpoint, cfg.Folder, cfg.Metrics.Server = f.endpoint, filepath.Join(dir, "run"), "off"
		all.Go(func() {
			if rank == 0 {
				cfg.Lead = lead
				if f.ended[0], f.errs[0] = f.puts(ctx, cfg); f.errs[0] != nil {
					f.cut[machines-1].Store(true) // its port is closed
				}
			} else {
				time.Sleep(time.Duration(rank) * 200 * time.Millisecond) // they come one after the other
				network := wire{lead, 5 * time.Millisecond, f.cut[rank]}
				f.ended[rank], f.errs[rank] = (&Follower{
					Team: Team{Share: Share{rank, f.team.Machines}, Identity: alike, JoinTimeout: time.Minute},
					URL:  "http://leader", Client: &http.Client{Transport: network},
					Clock: func() time.Time { return time.Now().Add(time.Duration(rank) * time.Second) },
				}).Run(ctx, cfg)
			}
			f.stopped[rank] = time.Since(begin)
		})
	}
	if beside != nil {
		all.Go(func() { beside(f.t.Context(), cancels) })
	}
	all.Wait()
	for _, cancel := range cancels {
		cancel()
	}
}

func load500(step runlog.Step) Config {
	step.Timeout = 10 * time.Minute
	return Config{
		Run:     runlog.Run{URL: "http://model:8000", API: openai.Completions, Dataset: "random", Seed: 7},
		Steps:   []runlog.Step{step},
		Dataset: dataset.Config{Kind: dataset.Random, TokenIDs: true, InputLen: 40, OutputLen: 283},
	}
}

// requests are those of all machines in a folder of results, by number.
func requests(t *testing.T, folder string) []*runlog.Request {
	t.Helper()
	_, _, all := kinds(t, folder)
	slices.SortFunc(all, func(a, b *runlog.Request) int { return a.Seq - b.Seq })
	return all
}

// Eight machines 5 ms away, each with a clock of its own, put on the load of one: the same prompts at the same instants
// of one process of arrivals.
func TestManyMachinesAreOneLoad(t *testing.T) {
	for name, step := range map[string]runlog.Step{
		"a rate":      {Arrival: runlog.ArrivalPoisson, Rate: 100, Requests: 3000},
		"bursts":      {Arrival: runlog.ArrivalGamma, Burstiness: 0.5, Rate: 100, Duration: 20 * time.Second},
		"2,000 users": {Arrival: runlog.ArrivalClosed, Concurrency: 2000, Requests: 4000, RampUp: 5 * time.Second},
		"three users": {Arrival: runlog.ArrivalClosed, Concurrency: 3, Requests: 20},
	} {
		inBubble(t, name, func(t *testing.T) {
			one, eight := fleet{t: t}, fleet{t: t}
			one.run(load500(step), 1, nil)
			eight.run(load500(step), 8, nil)
			noError(t, errors.Join(append(one.errs, eight.errs...)...))
			slices.Sort(one.endpoint.prompts)
			slices.Sort(eight.endpoint.prompts)
			if !slices.Equal(one.endpoint.prompts, eight.endpoint.prompts) || one.endpoint.most != eight.endpoint.most {
				t.Errorf("%d prompts, %d in flight; of one machine %d and %d, or others", len(eight.endpoint.prompts), eight.endpoint.most, len(one.endpoint.prompts), one.endpoint.most)
			}
			mine := requests(t, one.ended[0].Folder)
			theirs := requests(t, eight.ended[0].Folder)
			seen := int(eight.seen.meter.Succeeded.Load() + eight.seen.meter.InFlight.Load())
			if len(mine) != len(theirs) || eight.ended[0].Attempted != len(mine) || seen != len(mine) {
				t.Fatalf("%d requests in the logs, %d attempted, %d seen, want %d", len(theirs), eight.ended[0].Attempted, seen, len(mine))
			}
			const apart = 20 * time.Millisecond // of two clocks that are read over 5 ms each way
			for i, q := range theirs {
				due, dueOfOne := q.Trace.Planned.Sub(theirs[0].Trace.Planned), mine[i].Trace.Planned.Sub(mine[0].Trace.Planned)
				isOpen := step.Arrival != runlog.ArrivalClosed
				if late := q.Trace.Started.Sub(q.Trace.Planned); q.Seq != i || late > time.Millisecond || isOpen && (due-dueOfOne).Abs() > apart {
					t.Fatalf("request %d: number %d, due at %s and not %s, late by %s", i, q.Seq, due, dueOfOne, late)
				}
			}
			reportOfOne, errOfOne := result.Read(result.Options{}, one.ended[0].Folder)
			report, err := result.Read(result.Options{}, eight.ended[0].Folder)
			if err = errors.Join(err, errOfOne); err != nil {
				t.Fatal(err)
			}
			a, b := report.Steps[0], reportOfOne.Steps[0]
			if a.Label != b.Label || a.Machines != 8 || a.ClocksWithin <= 0 || a.ClocksWithin > 0.02 || a.Void != nil {
				t.Errorf("step %s of %d machines, clocks within %v s, void %v", a.Label, a.Machines, a.ClocksWithin, a.Void)
			}
			if ks := float64(a.Checks.Arrivals); step.Rate > 0 && (ks < 0.01 || (ks-float64(b.Checks.Arrivals)) > 0.3) {
				t.Errorf("the arrivals are as asked for with p=%v, of one machine %v", ks, b.Checks.Arrivals)
			}
			if ratio := a.Whole.OutputThroughput / b.Whole.OutputThroughput; ratio < 0.99 || ratio > 1.01 {
				t.Errorf("%v tokens/s, of one machine %v", a.Whole.OutputThroughput, b.Whole.OutputThroughput)
			}
			for rank, ended := range eight.ended[1:] {
				if _, err := os.Stat(ended.Folder); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("machine %d keeps its records, which the leader has: %v", rank+1, err)
				}
			}
		})
	}
}

// A search for the capacity over three machines finds what one finds.
func TestCapacityOverMachines(t *testing.T) {
	objective, err := openai.ParseObjective("e2el:p90<40s")
	noError(t, err)
	find := func(machines int) (value float64) {
		synctest.Test(t, func(t *testing.T) {
			search := runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 100, Precision: 0.05, Repeat: 1, Grows: true, Objectives: []openai.Objective{objective}}
			most := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 100, RampUp: 2 * time.Second}
			f := fleet{t: t, endpoint: &paced{slower: time.Millisecond}, puts: func(ctx context.Context, cfg Config) (Result, error) {
				session, err := Open(ctx, cfg)
				if err != nil {
					return Result{}, err
				}
				finder := capacity.Finder{Search: &search, Most: most, Put: session.Step, Progress: func(*result.Step, capacity.Judgement) {}}
				err = finder.Run(ctx)
				ended, closing := session.Close()
				return ended, errors.Join(err, closing)
			}}
			cfg := load500(most)
			cfg.Run.Capacity, cfg.Steps = &search, nil
			f.run(cfg, machines, nil)
			noError(t, errors.Join(f.errs...))
			report, err := result.Read(result.Options{}, f.ended[0].Folder)
			noError(t, err)
			value = float64(capacity.FromReport(report).Value)
		})
		return value
	}
	if one, three := find(1), find(3); one != three || one < 60 || one > 80 {
		t.Errorf("%v users over three machines, %v over one, want about 71", three, one)
	}
}

// What goes wrong with a machine ends the step, with its number, and every request is accounted for or not known.
func TestMachinesThatAreLost(t *testing.T) {
	twoSteps := load500(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 80, Requests: 400})
	twoSteps.Steps = append(twoSteps.Steps, twoSteps.Steps[0])
	twoSteps.Steps[1].Index, twoSteps.Steps[1].Warmups = 1, 80
	type outcome struct {
		Steps   int
		Lost    []int
		Void    bool
		Stop    runlog.Stop
		Sums    bool // the account of the first step adds up
		Unknown bool // requests are
		Kept    bool // the lost machine has its records
		Stopped bool // it stopped within 6 s
	}
	const at = 30 * time.Second // in the first step, which takes 100 s
	cutFor := func(f *fleet, rank int, d time.Duration) {
		time.Sleep(at)
		f.cut[rank].Store(true)
		time.Sleep(d)
		f.cut[rank].Store(false)
	}
	for name, c := range map[string]struct {
		fewer  bool
		beside func(f *fleet, cancel []context.CancelFunc)
		want   outcome
	}{
		"a cut of 3 s":                          {beside: func(f *fleet, _ []context.CancelFunc) { cutFor(f, 3, 3*time.Second) }, want: outcome{Steps: 2, Stop: runlog.StopRequests, Sums: true}},
		"a cut of 60 s":                         {beside: func(f *fleet, _ []context.CancelFunc) { cutFor(f, 3, time.Minute) }, want: outcome{Steps: 1, Lost: []int{3}, Void: true, Stop: runlog.StopVoid, Sums: true, Unknown: true, Kept: true, Stopped: true}},
		"a cut, and the others may go on":       {fewer: true, beside: func(f *fleet, _ []context.CancelFunc) { cutFor(f, 3, time.Minute) }, want: outcome{Steps: 2, Lost: []int{3}, Stop: runlog.StopRequests, Sums: true, Unknown: true, Kept: true, Stopped: true}},
		"a machine that its user has ended":     {beside: func(_ *fleet, cancel []context.CancelFunc) { time.Sleep(at); cancel[3]() }, want: outcome{Steps: 1, Lost: []int{3}, Void: true, Stop: runlog.StopVoid, Sums: true, Kept: true, Stopped: true}},
		"one that leaves in a warm-up":          {beside: func(_ *fleet, cancel []context.CancelFunc) { time.Sleep(110 * time.Second); cancel[3]() }, want: outcome{Steps: 2, Stop: runlog.StopRequests, Sums: true, Kept: true}},
		"one that leaves, and the others go on": {fewer: true, beside: func(_ *fleet, cancel []context.CancelFunc) { time.Sleep(at); cancel[3]() }, want: outcome{Steps: 2, Lost: []int{3}, Stop: runlog.StopRequests, Sums: true, Kept: true, Stopped: true}},
		"one that leaves before the first step": {beside: func(_ *fleet, cancel []context.CancelFunc) { time.Sleep(1800 * time.Millisecond); cancel[3]() }, want: outcome{Steps: 1, Lost: []int{3}, Void: true, Stop: runlog.StopVoid, Sums: true, Kept: true, Stopped: true}},
		"all, as mpirun passes Ctrl-C on": {beside: func(_ *fleet, cancel []context.CancelFunc) {
			time.Sleep(at)
			for _, c := range cancel {
				c()
			}
		}, want: outcome{Steps: 1, Stop: runlog.StopInterrupted, Sums: true, Kept: true, Stopped: true}},
		"a leader that its user has ended": {beside: func(_ *fleet, cancel []context.CancelFunc) { time.Sleep(at); cancel[0]() }, want: outcome{Steps: 1, Stop: runlog.StopInterrupted, Sums: true, Stopped: true}},
	} {
		inBubble(t, name, func(t *testing.T) {
			f := fleet{t: t, team: Team{AllowFewer: c.fewer}}
			f.run(twoSteps, 8, func(_ context.Context, cancel []context.CancelFunc) { c.beside(&f, cancel) })
			r, err := result.Read(result.Options{}, f.ended[0].Folder)
			if err != nil {
				t.Fatal(err, f.errs)
			}
			s := r.Steps[0]
			a := s.Account
			_, gone := os.Stat(f.ended[3].Folder)
			got := outcome{
				Steps: len(r.Steps), Lost: s.Lost, Void: s.Void != nil, Stop: s.Stop, Unknown: a.Unknown > 0, Kept: gone == nil,
				Sums: a.Attempted == a.Succeeded+a.Canceled+a.Failures()+a.Unknown && !strings.Contains(strings.Join(s.Warnings, "\n"), "missing or counted"), Stopped: f.stopped[3] < at+startDelay+lostAfter+4*time.Second,
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%+v %v\n%v", diff, a, f.errs, s.Warnings)
			}
		})
	}
}

// Machines that are not those of the load do not take part.
func TestMachinesThatMayNotJoin(t *testing.T) {
	small := load500(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 4})
	for want, team := range map[string]Team{
		"these machines did not join within 1m0s: [2 3]": {Share: Share{0, 4}, Identity: alike},
		"has another --num-prompts than the leader":      {Share: Share{0, 2}, Identity: map[string]string{"version": "0.2.0 abc", "--num-prompts": "2"}},
	} {
		inBubble(t, want, func(t *testing.T) {
			f := fleet{t: t, team: team}
			f.run(small, 2, nil)
			if got := fmt.Sprint(f.errs); !strings.Contains(got, want) || f.errs[0] == nil {
				t.Errorf("%s, want %q", got, want)
			}
			if len(f.endpoint.prompts) > 0 {
				t.Errorf("%d requests were sent", len(f.endpoint.prompts))
			}
		})
	}
}

// So do not a process with the rank of another, and one from before the leader was started again.
func TestMessagesThatAreRefused(t *testing.T) {
	for want, second := range map[string]message{
		"has joined before: give each machine a --rank of its own": {ID: "b", Share: Share{1, 3}, Identity: alike},
		"is of a load that has ended":                              {ID: "c", Share: Share{2, 3}, Identity: alike, At: 7},
		"of 2 is none of the leader's 3":                           {ID: "c", Share: Share{1, 2}, Identity: alike},
		"has another version than the leader":                      {ID: "c", Share: Share{2, 3}, Identity: map[string]string{"version": "0.2.0 def", "--num-prompts": "1"}},
		"has another file of prompts than the leader":              {ID: "c", Share: Share{2, 3}, Identity: map[string]string{"version": "0.2.0 abc", "--num-prompts": "1", "file of prompts": "1"}},
	} {
		lead := NewLead(Team{Share: Share{0, 3}, Identity: alike})
		_, err := lead.join(message{ID: "a", Share: Share{1, 3}, Identity: alike})
		noError(t, err)
		if _, err = lead.join(second); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A leader that is gone does not leave a load behind that nobody watches.
func TestALeaderThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet{t: t}
		var left int
		f.run(load500(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 80, Requests: 4000}), 8, func(_ context.Context, cancel []context.CancelFunc) {
			time.Sleep(30 * time.Second)
			for _, cut := range f.cut {
				cut.Store(true)
			}
			cancel[0]()
			time.Sleep(lostAfter + time.Second)
			f.endpoint.mu.Lock()
			left = f.endpoint.inFlight
			f.endpoint.mu.Unlock()
		})
		if left > 0 {
			t.Errorf("%d requests are in flight %s after the leader died", left, lostAfter)
		}
		for rank, err := range f.errs[1:] {
			if err == nil || !strings.Contains(err.Error(), "the leader has not answered for 5s") {
				t.Errorf("machine %d: %v", rank+1, err)
			}
			if _, err := os.Stat(f.ended[rank+1].Folder); err != nil {
				t.Errorf("machine %d has lost its records: %v", rank+1, err)
			}
		}
	})
}
