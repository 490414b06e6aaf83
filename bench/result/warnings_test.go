package result

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestWarnings changes one thing of a run that gives no reason for doubt, and
// holds that the report says so and nothing else.
func TestWarnings(t *testing.T) {
	const n = 400
	type run struct {
		step     runlog.Step
		requests []runlog.Request
		log      *memlog
		stop     runlog.Stop
		count    runlog.DatasetCount
	}
	each := func(change func(i int, t *openai.Trace)) func(*run) {
		return func(r *run) {
			for i := range r.requests {
				change(i, &r.requests[i].Trace)
			}
		}
	}
	// paced sends the requests of an open loop of 10 a second, each later than it was
	// due by a growing wait.
	paced := func(wait time.Duration) func(*run) {
		return func(r *run) {
			r.step = runlog.Step{Started: noon, Arrival: runlog.ArrivalConstant, Rate: 10}
			for i := range r.requests {
				t := &r.requests[i].Trace
				t.Planned = at(time.Duration(i) * 100 * time.Millisecond)
				t.Started = t.Planned.Add(time.Duration(i) * wait)
			}
		}
	}
	delayed := func(r *run) {
		paced(0)(r)
		each(func(_ int, t *openai.Trace) { t.Planned = t.Planned.Add(-4 * time.Millisecond) })(r)
	}
	for name, tt := range map[string]struct {
		opts   Options
		change func(*run)
		want   []string
	}{
		"none": {change: func(*run) {}},
		"failures": {
			change: each(func(i int, t *openai.Trace) {
				if i < 50 {
					t.Failure = &openai.Failure{Reason: openai.ReasonTimeout}
				} else if i < 60 {
					t.Failure = &openai.Failure{Reason: openai.ReasonCanceled}
				}
			}),
			want: []string{"50 of 390 requests failed (timeout 50): those that ended at once are in no latency, so read latencies beside this share."},
		},
		"broken answers": {
			change: each(func(i int, t *openai.Trace) {
				if i%100 == 7 {
					t.Broken, t.RequestID = `'!' makes 64 of 64 characters`, "id"
				}
			}),
			want: []string{`4 of 400 answers (1.0 %) are broken text, as an engine writes that computes wrongly: '!' makes 64 of 64 characters, request id.`},
		},
		"prompts of an earlier run": {
			change: func(r *run) {
				r.log.run.Dataset = "random"
				each(func(_ int, t *openai.Trace) { t.Usage.CachedTokens = new(t.Usage.PromptTokens - 1) })(r)
			},
			want: []string{"The prefix cache served 90 % of the prompts' tokens, and 0 % were possible in this run: it had them from before. Restart the server, or give another --seed."},
		},
		"the client's own failures": {
			change: each(func(i int, t *openai.Trace) {
				if i < 4 {
					t.Failure = &openai.Failure{Reason: openai.ReasonConnect, Local: i < 3, Detail: "too many open files"}
				}
			}),
			want: []string{
				"4 of 400 requests failed (connect 4): those that ended at once are in no latency, so read latencies beside this share.",
				"The load generator was the limit: 3 requests failed for want of file descriptors. Raise ulimit -n.",
			},
		},
		"interrupted": {
			change: func(r *run) { r.stop = runlog.StopInterrupted },
			want:   []string{"The step was stopped after 400 requests (interrupted): it is shorter than was asked for."},
		},
		"never steady": {
			change: func(r *run) { r.step.Concurrency = 5 },
			want: []string{
				"No steady state (never more than 4 of 5 requests were in flight at once): all figures are of the whole step, ramp and drain included.",
			},
		},
		"users that pause": {
			change: each(func(i int, t *openai.Trace) {
				t.Started = t.Started.Add(time.Duration(i/4) * 100 * time.Millisecond)
				t.Planned = t.Started
			}),
			want: []string{"The load was less than the step is named by: 3.6 of 4 requests were in flight on the mean."},
		},
		"a rate that is kept":    {change: paced(time.Microsecond)},
		"a low draw of arrivals": {change: func(r *run) { paced(0)(r); r.step.Rate = 11 }},
		"a client that cannot keep up": {
			change: paced(20 * time.Millisecond),
			want: []string{
				"The load was less than the step is named by: requests of 39.9 s were sent in 47.9 s.",
				"The load generator was the limit: it sent requests 3990.0 ms late on the mean. Give it more cores, or use more machines.",
			},
		},
		"a delay that is no fair part of the gap between requests": {change: delayed},
		"a delay beside an objective of TPOT": {
			change: func(r *run) {
				delayed(r)
				r.log.run.Capacity = &runlog.Capacity{Objectives: []openai.Objective{{Measure: TPOT, Percentile: 90, Limit: 0.05}}}
			},
		},
		"user clock, read late": {
			change: each(func(_ int, t *openai.Trace) { t.Clock, t.Lag = openai.ClockUser, openai.Lag{Reads: 1, Sum: 45123456} }),
			want:   []string{"The load generator was the limit: it read what had arrived 45.1 ms late on the mean, and had no stamps of the kernel to correct that. Give it more cores, or use more machines."},
		},
		"kernel clock, read late": {
			change: each(func(_ int, t *openai.Trace) { t.Lag = openai.Lag{Reads: 2, Sum: 45123456} }),
		},
		"chunks that were read at once": {
			change: each(func(i int, t *openai.Trace) {
				if i%2 == 0 {
					t.Chunks = append(t.Chunks, t.Chunks[1])
					t.Chunks[0].At = t.Chunks[1].At
				}
			}),
			want: []string{"The first text of 200 of 400 answers was read together with later chunks, 3.0 at once on the mean: their TTFT is late, unless the server or a proxy joins chunks."},
		},
		"chunks of several tokens": {
			change: each(func(_ int, t *openai.Trace) { t.Usage.CompletionTokens = 9 }),
			want:   []string{"75.0 % of the output tokens have no chunk of text of their own, as they have no text or came together: ITL is the gap between chunks, so read TPOT or ITL a token for the time of a token."},
		},
		"short answers and the token that ends them": {change: each(func(_ int, t *openai.Trace) { t.Chunks, t.Usage.CompletionTokens = t.Chunks[:1], 2 })},
		"few for the percentile": {
			opts:   Options{Percentiles: []float64{99.9}},
			change: func(*run) {},
			want:   []string{"p99.9 takes 1000 independent requests, and the steady part has 400 (400 requests): run more, or do not quote it."},
		},
		"answers without text": {
			change: each(func(i int, t *openai.Trace) {
				if i < 5 {
					t.Chunks = nil
				}
			}),
			want: []string{"5 of 400 answers had no text: they have no latencies."},
		},
		"sent again": {
			change: each(func(i int, t *openai.Trace) { t.Resent = i < 9 }),
			want:   []string{"9 of 400 requests were sent again, as the server had closed their kept connection: it may have restarted, or close idle connections too early."},
		},
		"nothing succeeded": {
			change: each(func(_ int, t *openai.Trace) {
				t.Chunks, t.Failure = nil, &openai.Failure{Reason: openai.ReasonHTTP4xx}
			}),
			want: []string{"400 of 400 requests failed (http_4xx 400)."},
		},
		"records that were sent again as they are": {
			change: func(r *run) { r.log.run.ReusePrompts, r.count = true, runlog.DatasetCount{Passes: 4} },
			want:   []string{"Prompts were sent up to 5 times so far: the server's prefix cache may have served all but the first."},
		},
		"a trace that was cut": {
			change: func(r *run) { r.count.Cut = true },
			want:   []string{"The trace has more records than the 400 that were sent: give more --num-prompts to send them too."},
		},
		"a percentile that nobody quotes": {opts: Options{Percentiles: []float64{99}}, change: func(r *run) {
			r.requests = r.requests[:340] // enough for p99, not for all that are given
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{step: closed(4, n), log: newMemlog("a"), stop: runlog.StopRequests}
			r.requests = closedLoop(4, n, func(_ int, start time.Duration) runlog.Request {
				return answered(start, 10, 3, 200*time.Millisecond, time.Second)
			})
			tt.change(r)
			r.log.begin(r.step, r.requests)
			r.log.end(r.step, r.requests, r.stop)
			r.log.records[len(r.log.records)-1].StepEnd.Dataset = r.count
			s := stepOf(t, tt.opts, r.log)
			equal(t, "warnings", tt.want, s.Warnings)
		})
	}
}

// What the first failure of each reason said is what an operator needs to mend it.
func TestFailuresAreToldInTheirOwnWords(t *testing.T) {
	requests := everySecond(8, time.Second)
	for i, f := range []*openai.Failure{
		{Reason: openai.ReasonHTTP4xx, Status: 404, Detail: "page not found"},
		{Reason: openai.ReasonHTTP4xx, Status: 400, Detail: "another"},
		{Reason: openai.ReasonTLS, Detail: "certificate has expired"},
		{Reason: openai.ReasonCanceled},
	} {
		requests[i].Trace.Failure = f
	}
	want := map[openai.Reason]string{openai.ReasonHTTP4xx: "status 404: page not found", openai.ReasonTLS: "certificate has expired"}
	equal(t, "first failures", want, stepOf(t, Options{}, newMemlog("a").step(closed(1, 8), requests, false)).FailedAs)
}
