package load

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prompts is a source of numbered prompts.
type prompts struct {
	mu    sync.Mutex
	given int
	told  int             // by Count
	at    []time.Duration // of a replay, which ends after them
	fail  error           // instead of the prompt after
	after int
	pause time.Duration // before each
	// records are in the file, which is begun again at its end; 0 for no end.
	records int
	quick   int // so many come first, without a pause
	// guessed is from which prompt on MaxTokens is estimated, never when 0.
	guessed int
}

func (p *prompts) Next(ctx context.Context) (dataset.Prompt, error) {
	if p.pause > 0 && p.count() >= p.quick {
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
			return dataset.Prompt{}, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.given
	switch {
	case p.fail != nil && n == p.after:
		return dataset.Prompt{}, p.fail
	case p.at != nil && n == len(p.at):
		return dataset.Prompt{}, io.EOF
	}
	p.given++
	prompt := dataset.Prompt{Text: "?", ExpectedTokens: n + 1, Estimated: p.guessed > 0 && n >= p.guessed}
	if p.at != nil {
		prompt.At = p.at[n]
	}
	return prompt, nil
}

func (p *prompts) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.given
}

func (p *prompts) Count() runlog.DatasetCount {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.given - p.told
	c := runlog.DatasetCount{Prompts: n, Estimated: n, EstimatedWhy: "no tokens"}
	if p.records > 0 && n > 0 && p.told > 0 && p.told%p.records == 0 {
		c.Passes = 1
	}
	p.told = p.given
	return c
}
func (p *prompts) Close() error { return nil }

// endpoint answers after some time, and notes how many requests it has at once.
type endpoint struct {
	takes func(seq int) time.Duration
	fails func(seq int) openai.Reason // "" for success
	from  *prompts                    // to see how many were read ahead

	mu    sync.Mutex
	now   int
	most  int
	ahead int
}

func (e *endpoint) send(ctx context.Context, j Job) *openai.Trace {
	e.mu.Lock()
	e.now++
	e.most = max(e.most, e.now)
	if e.from != nil {
		e.ahead = max(e.ahead, e.from.count()-j.Seq)
	}
	e.mu.Unlock()
	t := &openai.Trace{Started: time.Now()}
	select {
	case <-time.After(e.takes(j.Seq)):
		if e.fails != nil {
			if r := e.fails(j.Seq); r != "" {
				t.Failure = &openai.Failure{Reason: r}
			}
		}
	case <-ctx.Done():
		t.Failure = &openai.Failure{Reason: openai.ReasonCanceled, Detail: context.Cause(ctx).Error()}
	}
	t.End = time.Since(t.Started)
	e.mu.Lock()
	e.now--
	e.mu.Unlock()
	return t
}

func always(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

// result is what a step left behind.
type result struct {
	end      runlog.StepEnd
	err      error
	requests []*runlog.Request // by Seq
	meter    Meter
}

// do runs a step and checks what holds for every step.
func do(ctx context.Context, t *testing.T, step runlog.Step, source dataset.Source, e *endpoint) *result {
	t.Helper()
	var r result
	runner := Runner{
		Send:  e.send,
		Done:  func(q *runlog.Request) error { r.requests = append(r.requests, q); return nil },
		Meter: &r.meter,
	}
	r.end, r.err = runner.Run(ctx, Plan{Step: step, Seed: 1}, source)
	slices.SortFunc(r.requests, func(a, b *runlog.Request) int { return cmp.Compare(a.Seq, b.Seq) })
	if r.end.Attempted != len(r.requests) {
		t.Errorf("%d requests were attempted, Done was called for %d", r.end.Attempted, len(r.requests))
	}
	for seq, q := range r.requests {
		if q.Seq != seq {
			t.Fatalf("request %d follows %d: one is missing or came twice", q.Seq, seq-1)
		}
		if q.ExpectedTokens != seq+1 && !q.Never {
			t.Fatalf("request %d was sent with prompt %d", seq, q.ExpectedTokens-1)
		}
	}
	if n := r.meter.InFlight.Load() + r.meter.Queued.Load(); n != 0 {
		t.Errorf("the meter shows %d requests queued or in flight after the end", n)
	}
	if got := r.meter.Succeeded.Load() + r.meter.Failed.Load() + r.meter.Canceled.Load(); got != int64(r.end.Attempted) {
		t.Errorf("the meter shows %d requests over, %d were attempted", got, r.end.Attempted)
	}
	return &r
}

// starts are the instants of sending since the first, in order.
func (r *result) starts() []time.Duration {
	var starts []time.Duration
	for _, q := range r.requests {
		if !q.Never {
			starts = append(starts, q.Trace.Started.Sub(r.requests[0].Trace.Planned))
		}
	}
	return starts
}

// outcome is a StepEnd without what other tests look at.
func (r *result) outcome() runlog.StepEnd {
	e := r.end
	e.Ended, e.Dataset = time.Time{}, runlog.DatasetCount{}
	return e
}
