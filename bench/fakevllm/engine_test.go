package fakevllm

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// startEngine runs an engine until the test's end.
func startEngine(t *testing.T, cfg Config) *engine {
	t.Helper()
	e := newEngine(cfg.withDefaults())
	ctx, cancel := context.WithCancel(context.Background())
	go e.Run(ctx)
	t.Cleanup(func() {
		cancel()
		<-e.stopped
	})
	return e
}

// submitNew hands the engine a sequence of its own.
func submitNew(e *engine, prompt, limit int) *sequence {
	q := newSequence(prompt, limit, finishLength)
	e.submit(q)
	return q
}

// await waits for a sequence's last token.
func await(q *sequence) {
	for int(q.made.Load()) < q.limit {
		<-q.wake
	}
}

// figures are what a load generator would print of a closed loop.
type figures struct {
	requestsPerSecond, tokensPerSecond float64
	latency, inBatch                   float64 // mean seconds
}

// closedLoop lets n users ask one request after another for a span of virtual time, after a
// warm-up of a quarter of it.
func closedLoop(t *testing.T, n int, span time.Duration) (f figures) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := startEngine(t, Config{})
		asking, stop := context.WithCancel(t.Context())
		defer stop()
		var users sync.WaitGroup
		for range n {
			users.Go(func() {
				for asking.Err() == nil {
					await(submitNew(e, backgroundPrompt, e.naturalLength()))
				}
			})
		}
		time.Sleep(span / 4)
		latency, requests := sumAndCount(t, e, "vllm:e2e_request_latency_seconds")
		queued, _ := sumAndCount(t, e, "vllm:request_queue_time_seconds")
		tokens := total(t, e, "vllm:generation_tokens_total")
		time.Sleep(span)
		latencyAfter, requestsAfter := sumAndCount(t, e, "vllm:e2e_request_latency_seconds")
		queuedAfter, _ := sumAndCount(t, e, "vllm:request_queue_time_seconds")
		answered := float64(requestsAfter - requests)
		f = figures{
			requestsPerSecond: answered / span.Seconds(),
			tokensPerSecond:   (total(t, e, "vllm:generation_tokens_total") - tokens) / span.Seconds(),
			latency:           (latencyAfter - latency) / answered,
			inBatch:           (latencyAfter - latency - (queuedAfter - queued)) / answered,
		}
		stop()
		users.Wait()
	})
	return f
}

// TestDefaultsReproduceTheMeasurements holds the default model to what the users
// measured of Qwen2.5-72B on four MXC500. At 150 users the published latency is
// the time in the batch: 1.48 req/s × 71 s are 105 requests, not 150.
func TestDefaultsReproduceTheMeasurements(t *testing.T) {
	for _, row := range []struct {
		users                     int
		requests, seconds, tokens float64 // measured
	}{{8, 0.37, 20.94, 109.62}, {150, 1.48, 70.76, 393.34}} {
		f := closedLoop(t, row.users, 10*time.Minute) // of virtual time
		for name, c := range map[string][2]float64{
			"requests per second":  {f.requestsPerSecond, row.requests},
			"tokens per second":    {f.tokensPerSecond, row.tokens},
			"seconds in the batch": {f.inBatch, row.seconds},
		} {
			if off := math.Abs(c[0]/c[1] - 1); off > 0.05 {
				t.Errorf("%d users: %s = %.4g, measured %.4g: %.1f %% off", row.users, name, c[0], c[1], off*100)
			}
		}
	}
	// By the users really alive. The measured points scatter around a line; 64 users is the farthest.
	for users, seconds := range map[int]float64{31: 35.16, 60: 55.09, 85: 61.88, 97: 67.18, 105: 70.76, 108: 73.50} {
		if f := closedLoop(t, users, 10*time.Minute); math.Abs(f.latency/seconds-1) > 0.13 {
			t.Errorf("%d users alive: latency %.1f s, measured %.1f s", users, f.latency, seconds)
		}
	}
}

// plain is an engine whose step is 10 ms + 1 ms per request, and 1 ms per prompt token.
func plain() Config {
	return Config{StepBase: 10 * time.Millisecond, StepPerSequence: time.Millisecond, PrefillTokensPerSecond: 1000}
}

func TestStepTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(*Server)
		first, last time.Duration // of 2 requests with 5 prompt tokens and 3 output tokens
	}{
		"plain":              {func(*Server) {}, 22 * time.Millisecond, 46 * time.Millisecond},
		"speed 10":           {func(s *Server) { s.cfg.Speed = 10 }, 2200 * time.Microsecond, 4600 * time.Microsecond},
		"slow server":        {func(s *Server) { s.SetFault(FaultSlow) }, 440 * time.Millisecond, 920 * time.Millisecond},
		"far from its cards": {func(s *Server) { s.SetPenalty(1.5) }, 33 * time.Millisecond, 69 * time.Millisecond},
		"moved back":         {func(s *Server) { s.SetPenalty(1.5); s.SetPenalty(1) }, 22 * time.Millisecond, 46 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(plain())
				noError(t, err)
				tc.change(s)
				start := time.Now()
				both := []*sequence{submitNew(s.engine, 5, 3), submitNew(s.engine, 5, 3)}
				ctx, cancel := context.WithCancel(t.Context())
				go s.Run(ctx)
				for _, q := range both {
					await(q)
					if first, last := q.first.Sub(start), q.last.Sub(start); first != tc.first || last != tc.last {
						t.Errorf("first token after %v, want %v, last after %v, want %v", first, tc.first, last, tc.last)
					}
				}
				cancel()
			})
		})
	}
}

func TestQueueAboveTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := plain()
		cfg.MaxNumSeqs = 2
		e := startEngine(t, cfg)
		long := submitNew(e, 1, 50)
		short := submitNew(e, 1, 3)
		third := submitNew(e, 1, 1)
		fourth := submitNew(e, 1, 1)
		time.Sleep(time.Millisecond)
		load := e.Load()
		if load.Running != 2 || load.Waiting != 2 {
			t.Errorf("load with 4 requests and 2 places: %+v", load)
		}
		e.cancel(fourth)
		await(third)
		if !third.scheduled.Equal(short.last) {
			t.Errorf("the third request was admitted at %v, a place came free at %v", third.scheduled, short.last)
		}
		await(long)
		synctest.Wait()
		if load := e.Load(); load.Running != 0 || load.Waiting != 0 {
			t.Errorf("load when all is done: %+v", load)
		}
		if n := total(t, e, "vllm:generation_tokens_total"); n != 54 || fourth.made.Load() != 0 {
			t.Errorf("%v tokens were made, want 54, and %d of the request that was cancelled", n, fourth.made.Load())
		}
	})
}

func TestBackgroundUsersSwing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := startEngine(t, Config{BackgroundUsers: 20, BackgroundPeriod: 10 * time.Minute, Speed: 3})
		for i, want := range []int{0, 10, 20, 10, 0, 10, 20} {
			load := e.Load()
			if busy := load.Running + load.Waiting; busy < want-1 || busy > want+3 {
				t.Errorf("after %d quarters: %d requests, want %d", i, busy, want)
			}
			time.Sleep(150 * time.Second)
		}
	})
}
