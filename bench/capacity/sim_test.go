package capacity

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// promptTokens are those of each prompt of the simulated loads: users' questions.
const promptTokens = 235

// batch is the stand-in's model of continuous batching, of Qwen2.5-72B on four cards: answers of
// 283 tokens on the mean that take 20 to 70 s.
type batch struct {
	fakevllm.Config
	answers          int
	waiting, running []*sequence
}

// sequence is a request in the batch.
type sequence struct {
	arrived, first, last time.Duration // since the start
	left, tokens         int
	done                 chan struct{} // nil where nobody waits
}

func newBatch() *batch { return &batch{Config: fakevllm.DefaultConfig()} }

// submit queues a request of a length that walks by the golden ratio through 0.3 to 1.7 times the mean.
func (b *batch) submit(at time.Duration) *sequence {
	b.answers++
	_, u := math.Modf(float64(b.answers) * math.Phi)
	n := max(1, int(math.Round(float64(b.MeanOutputTokens)*(0.3+1.4*u))))
	q := &sequence{arrived: at, left: n, tokens: n}
	b.waiting = append(b.waiting, q)
	return q
}

// begin admits what fits, and returns how long the next step takes, 0 with nothing to do.
func (b *batch) begin() time.Duration {
	prefill := 0
	for len(b.waiting) > 0 && len(b.running) < b.MaxNumSeqs {
		prefill += promptTokens
		b.running, b.waiting = append(b.running, b.waiting[0]), b.waiting[1:]
	}
	if len(b.running) == 0 {
		return 0
	}
	return b.StepBase + time.Duration(len(b.running))*b.StepPerSequence + time.Duration(float64(prefill)/b.PrefillTokensPerSecond*float64(time.Second))
}

// end gives each running request a token, and returns those that have all.
func (b *batch) end(now time.Duration) (ended []*sequence) {
	b.running = slices.DeleteFunc(b.running, func(q *sequence) bool {
		if q.left == q.tokens {
			q.first = now
		}
		q.last = now
		if q.left--; q.left == 0 {
			ended = append(ended, q)
		}
		return q.left == 0
	})
	return ended
}

// truth is what n requests say of a percentile of TTFT or TPOT, in seconds, and their throughput: at a rate, or of
// users where rate is 0. The first tenth fills the batch.
func truth(n, users int, rate float64, measure openai.Measure, p float64) (value, throughput float64) {
	b, r := newBatch(), rand.New(rand.NewPCG(7, 8))
	var now, due time.Duration
	var all []*sequence
	for range users {
		b.submit(0)
	}
	again := 0 // users whose answer has just ended: the next step has begun before they ask again
	for len(all) < n {
		for rate > 0 && due <= now {
			b.submit(due)
			due += time.Duration(r.ExpFloat64() / rate * float64(time.Second))
		}
		length := b.begin()
		for ; again > 0; again-- {
			b.submit(now)
		}
		if length == 0 {
			now = due
			continue
		}
		now += length
		for _, q := range b.end(now) {
			all = append(all, q)
			if rate == 0 {
				again++
			}
		}
	}
	steady := all[n/10:]
	var values []float64
	for _, q := range steady {
		v := (q.first - q.arrived).Seconds()
		if measure == result.TPOT {
			v = (q.last - q.first).Seconds() / float64(max(1, q.tokens-1))
		}
		values = append(values, v)
	}
	slices.Sort(values)
	return values[int(p/100*float64(len(values)-1))], float64(len(steady)) / (steady[len(steady)-1].last - steady[0].last).Seconds()
}

// endpoint is the batch as a load sees it, in virtual time.
type endpoint struct {
	load.Endpoint // nil: nobody has texts counted

	mu    sync.Mutex
	batch *batch
	start time.Time
	kick  chan struct{}
}

func (e *endpoint) run(ctx context.Context) {
	for ctx.Err() == nil {
		e.mu.Lock()
		length := e.batch.begin()
		e.mu.Unlock()
		if length == 0 {
			select {
			case <-e.kick:
			case <-ctx.Done():
			}
			continue
		}
		time.Sleep(length)
		e.mu.Lock()
		for _, q := range e.batch.end(time.Since(e.start)) {
			close(q.done)
		}
		e.mu.Unlock()
	}
}

func (e *endpoint) Stream(_ context.Context, r openai.Request) *openai.Trace {
	started := time.Now()
	e.mu.Lock()
	q := e.batch.submit(started.Sub(e.start))
	q.done = make(chan struct{})
	e.mu.Unlock()
	select {
	case e.kick <- struct{}{}:
	default:
	}
	<-q.done
	t := &openai.Trace{
		Started: started, Planned: r.Planned, Clock: openai.ClockKernel, Events: q.tokens, Reused: true, Status: 200, Done: true, End: time.Since(started),
		Usage: &openai.Usage{PromptTokens: promptTokens, CompletionTokens: q.tokens}, TokenSource: openai.TokensUsage,
		Chunks: []openai.Chunk{{At: q.first - q.arrived}, {At: q.last - q.arrived}},
	}
	return t
}

func (e *endpoint) Models(context.Context) ([]openai.Model, *openai.Failure) {
	return []openai.Model{{ID: "qwen2.5"}}, nil
}

func (e *endpoint) LastReceived() time.Time { return time.Now() }

// found is the answer of a search against the batch, with the defaults of accelbench capacity.
func found(t *testing.T, variable string, from, to float64, objective openai.Objective, seed uint64) (c *Result, requests int, took time.Duration) {
	t.Helper()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := &endpoint{batch: newBatch(), start: time.Now(), kick: make(chan struct{}, 1)}
		var running sync.WaitGroup
		running.Go(func() { e.run(ctx) })
		search := &runlog.Capacity{
			Variable: variable, From: from, To: to, Precision: 0.05, Repeat: 3, Grows: true,
			Objectives: []openai.Objective{objective, {Measure: openai.Failures, Limit: 0.01}},
		}
		cfg := load.Config{
			Endpoint: e, Folder: filepath.Join(folder, "run"), Metrics: load.Metrics{Server: "off"},
			Run:     runlog.Run{URL: "http://server", API: openai.Completions, Seed: seed, Dataset: "random", Capacity: search, Percentiles: []float64{objective.Percentile}},
			Dataset: dataset.Config{Kind: dataset.Random, TokenIDs: true, InputLen: 1, OutputLen: 1},
		}
		session, err := load.Open(ctx, cfg)
		noError(t, err)
		most := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: to}
		if variable == runlog.VariableConcurrency {
			most = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: int(to), RampUp: time.Duration(to) * 20 * time.Millisecond}
		}
		f := Finder{Search: search, Most: most, Put: session.Step, Progress: func(s *result.Step, j Judgement) {
			t.Logf("%s: %d requests, %v: %+v %s", s.Label.Long, s.Account.Attempted, s.Objectives[0].Value, j, s.NotSteady)
		}}
		noError(t, f.Run(ctx))
		ended, err := session.Close()
		noError(t, err)
		requests, took = ended.Attempted, time.Since(e.start)
		cancel()
		running.Wait()
	})
	r, err := result.Read(result.Options{}, filepath.Join(folder, "run"))
	noError(t, err)
	return FromReport(r), requests, took
}

// What a search says of a server whose answers take 20 to 70 s is within 5 % of what 20,000 requests say: they meet the
// objective with 5 % less load, and miss it with 5 % more. It is never more than the server can do at all.
func TestCapacityOfLongAnswers(t *testing.T) {
	_, saturation := truth(20_000, newBatch().MaxNumSeqs, 0, result.TPOT, 90)
	for _, c := range []struct {
		variable string
		measure  openai.Measure
		limit    float64 // of the p90, in seconds
	}{
		{runlog.VariableRequestRate, result.TPOT, 0.1},
		{runlog.VariableRequestRate, result.TPOT, 0.13},
		{runlog.VariableRequestRate, result.TPOT, 0.17},
		{runlog.VariableRequestRate, result.TTFT, 0.5},
		{runlog.VariableConcurrency, result.TPOT, 0.1},
		{runlog.VariableConcurrency, result.TPOT, 0.13},
		{runlog.VariableConcurrency, result.TPOT, 0.17},
		{runlog.VariableConcurrency, result.TTFT, 5},
	} {
		objective := openai.Objective{Measure: c.measure, Percentile: 90, Limit: c.limit}
		t.Run(fmt.Sprintf("%s %s %gs", c.variable, objective.Label(), c.limit), func(t *testing.T) {
			t.Parallel()
			byRate := c.variable == runlog.VariableRequestRate
			from, to := 1.0, 256.0
			if byRate {
				from, to = 0.25, 4
			}
			answer, requests, took := found(t, c.variable, from, to, objective, 1)
			t.Logf("carries %g to %g, missed at %g; %d requests in %s", answer.Value, answer.High, answer.FailedAt, requests, took)
			figure := func(load float64) float64 {
				users, rate := int(load), 0.0
				if byRate {
					users, rate = 0, load
				}
				v, _ := truth(20_000, users, rate, c.measure, 90)
				return v
			}
			less, more := float64(answer.Value)/1.05, float64(answer.Value)/0.95
			if !byRate {
				less, more = math.Floor(less), math.Ceil(more)
			}
			if low, high := figure(less), figure(more); low > c.limit || high < c.limit {
				t.Errorf("carries %v: 20,000 requests say %.4f s at %.4g and %.4f s at %.4g", answer.Value, low, less, high, more)
			}
			if byRate && float64(answer.Value) > saturation {
				t.Errorf("carries %v requests/s, and the server can do %.3f", answer.Value, saturation)
			}
		})
	}
}
