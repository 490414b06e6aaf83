package probe

import (
	"context"
	"encoding/hex"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// sent is a request that reached the endpoint, in intervals after the first one
// that was due.
type sent struct{ Planned, At float64 }

// However long an answer takes, requests go out at the planned instants and never
// two at a time; the planned instants that pass meanwhile are counted.
func TestScheduleDoesNotDrift(t *testing.T) {
	const interval = 10 * time.Second
	for name, tt := range map[string]struct {
		took    time.Duration
		want    []sent
		skipped float64
	}{
		"at once":          {0, []sent{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}, 0},
		"nearly interval":  {9999 * time.Millisecond, []sent{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}, 0},
		"above interval":   {12 * time.Second, []sent{{0, 0}, {2, 2}, {4, 4}}, 3},
		"several of them":  {25 * time.Second, []sent{{0, 0}, {3, 3}}, 4},
		"longer than that": {time.Hour, []sent{{0, 0}}, 5},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := makeTarget(t, func(s *Spec) { s.Interval = model.Duration(interval) })
			var got []sent
			var busy atomic.Int32
			start := time.Now()
			first := start.Add((&loop{target: target}).offset())
			in := func(at time.Time) float64 { return float64(at.Sub(first)) / float64(interval) }
			p, _ := fakeLoop(target, fakeClient{stream: func(ctx context.Context, r openai.Request) *openai.Trace {
				if busy.Add(1) > 1 {
					t.Error("two requests at once")
				}
				defer busy.Add(-1)
				got = append(got, sent{in(r.Planned), in(time.Now())})
				select {
				case <-time.After(tt.took):
					return goodTrace(r)
				case <-ctx.Done():
					return failedTrace(r, openai.ReasonCanceled)
				}
			}})
			stop := running(t, p)
			time.Sleep(time.Until(first.Add(5*interval + interval/2)))
			stop()
			equal(t, "requests", tt.want, got)
			if got := samples(t, p)[`skipped_total{model="m",target="a"}`]; got != tt.skipped {
				t.Errorf("%v skipped, want %v", got, tt.skipped)
			}
		})
	}
}

// What is asked of the client: the planned instant stays what it was although the
// model must be learned first, which takes its time.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := makeTarget(t, func(s *Spec) {
			s.Model, s.API, s.MaxTokens = "", openai.Completions, 7
			s.Timeout, s.IdleTimeout = model.Duration(50*time.Second), model.Duration(5*time.Second)
			s.Prompt = "say something"
		})
		requests := make(chan openai.Request, 1)
		first := time.Now().Add((&loop{target: target}).offset())
		p, _ := fakeLoop(target, fakeClient{
			models: func(context.Context) ([]openai.Model, *openai.Failure) {
				time.Sleep(3 * time.Second)
				return []openai.Model{{ID: "first"}, {ID: "second"}}, nil
			},
			stream: func(_ context.Context, r openai.Request) *openai.Trace {
				if late := time.Since(r.Planned); late != 3*time.Second {
					t.Errorf("sent %v after it was planned", late)
				}
				requests <- r
				return goodTrace(r)
			},
		})
		stop := running(t, p)
		got := <-requests
		stop()
		if b, err := hex.DecodeString(got.RequestID); err != nil || len(b) != 16 {
			t.Errorf("request id %q", got.RequestID)
		}
		want := openai.Request{
			API: openai.Completions, Model: "first", Prompt: got.RequestID + "\nsay something", MaxTokens: 7,
			RequestID: got.RequestID, Planned: first, Timeout: 50 * time.Second, IdleTimeout: 5 * time.Second,
			Traced: true, KeepAnswer: true,
		}
		equal(t, "request", want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(openai.Request{}, "FirstText"))
	})
}

func TestOffset(t *testing.T) {
	offset := func(name string, interval time.Duration) time.Duration {
		return (&loop{target: Target{Spec: Spec{Name: name, Interval: model.Duration(interval)}}}).offset()
	}
	// A restart, or an update of this program, must not move the probes.
	for name, want := range map[string]time.Duration{
		"chat-short":     9_109_148_596,
		"127.0.0.1:8000": 5_346_581_316,
	} {
		if got := offset(name, 30*time.Second); got != want {
			t.Errorf("offset of %s: %d, want %d", name, got, want)
		}
	}
}

// Run returns when the request in flight is over and counted, and cancels it.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 30 * time.Millisecond // from the cancellation to the end
		p, l := fakeLoop(makeTarget(t, nil), fakeClient{stream: func(ctx context.Context, r openai.Request) *openai.Trace {
			<-ctx.Done()
			time.Sleep(slow)
			return failedTrace(r, openai.ReasonCanceled)
		}})
		stop := running(t, p)
		time.Sleep(l.offset() + time.Second)
		asked := time.Now()
		stop()
		if took := time.Since(asked); took != slow {
			t.Errorf("stopped after %v, want %v", took, slow)
		}
		want := map[string]float64{
			`requests_total{model="m",target="a"}`:                   1,
			`failures_total{model="m",reason="canceled",target="a"}`: 1,
		}
		equal(t, "counters", want, only(samples(t, p), "_total"))
	})
}
