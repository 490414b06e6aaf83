package result

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		killed   bool
	}
	each := func(change func(i int, t *openai.Trace)) func(*run) {
		return func(r *run) {
			for i := range r.requests {
				change(i, &r.requests[i].Trace)
			}
		}
	}
	lag := func(d time.Duration) func(int, *openai.Trace) {
		return func(_ int, t *openai.Trace) { t.Lags = []time.Duration{d} }
	}
	cached := each(func(_ int, t *openai.Trace) { t.Usage.CachedTokens = new(t.Usage.PromptTokens / 2) })
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
	// cut has the first answers end at 16 tokens, the limit of vLLM's completions API.
	cut := func(answers int) func(*run) {
		return func(r *run) {
			r.log.run.API, r.log.run.Dataset = openai.Completions, "lines"
			for i := range r.requests[:answers] {
				t := &r.requests[i].Trace
				t.Finish, t.Usage.CompletionTokens = "length", 16
				t.Chunks = append(t.Chunks, slices.Repeat(t.Chunks[1:], 14)...)
			}
		}
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
			want: []string{"50 of 390 requests failed (12.8 %: timeout 50): latencies are of those that did not, so read them beside this share."},
		},
		"nothing but failures": {
			change: each(func(_ int, t *openai.Trace) {
				t.Failure, t.Chunks, t.Events, t.Lags = &openai.Failure{Reason: openai.ReasonTimeoutFirstToken}, nil, 0, []time.Duration{time.Second}
				t.Started = t.Started.Add(time.Second)
			}),
			want: []string{"400 of 400 requests failed (100.0 %: timeout_first_token 400): there are no latencies, so see what the first failure said."},
		},
		"nothing but failures, late ones": {
			change: each(func(_ int, t *openai.Trace) { t.Failure = &openai.Failure{Reason: openai.ReasonStalled} }),
			want:   []string{"400 of 400 requests failed (100.0 %: stalled 400): latencies are of what was seen before they did, so see what the first failure said."},
		},
		"the client's own failures": {
			change: each(func(i int, t *openai.Trace) {
				if i < 4 {
					t.Failure = &openai.Failure{Reason: openai.ReasonConnect, Local: i < 3, Detail: "too many open files"}
				}
			}),
			want: []string{
				"4 of 400 requests failed (1.00 %: connect 4): latencies are of those that did not, so read them beside this share.",
				"3 of the failures are this machine's, which had no more files or ports for connections: raise ulimit -n, or use more machines.",
			},
		},
		"unreachable": {
			change: func(r *run) { r.stop = runlog.StopUnreachable },
			want:   []string{"The step was stopped after 400 requests because the server could not be reached any more: see why it ended, and run again."},
		},
		"too many failures": {
			change: func(r *run) { r.stop = runlog.StopFailureRatio },
			want:   []string{"The step was stopped after 400 requests because too many failed: mend the server or lower the load."},
		},
		"interrupted": {
			change: func(r *run) { r.stop = runlog.StopInterrupted },
			want:   []string{"The step was interrupted after 400 requests: it is shorter than was asked for."},
		},
		"never steady": {
			change: func(r *run) { r.step.Concurrency = 5 },
			want: []string{
				"The load never was steady, as never more than 4 of 5 requests were in flight at once: all figures are of the whole step, ramp and drain included; answers end sooner than users can send, so use longer answers (--max-tokens) or fewer users.",
				"On average only 4.00 of 5 requests were in flight in the whole step, fewer than the step is named by: read the figures as those of that load.",
			},
		},
		"users that pause": {
			change: each(func(i int, t *openai.Trace) {
				t.Started = t.Started.Add(time.Duration(i/4) * 100 * time.Millisecond)
				t.Planned = t.Started
			}),
			want: []string{"On average only 3.64 of 4 requests were in flight in the steady part, fewer than the step is named by: users waited before they sent, so give the load generator more cores, or prompts that the server need not tokenize."},
		},
		"a rate that is kept":    {change: paced(time.Microsecond)},
		"a low draw of arrivals": {change: func(r *run) { paced(0)(r); r.step.Rate = 11 }},
		"a client that cannot keep up": {
			change: paced(20 * time.Millisecond),
			want: []string{
				"Only 8.33 requests a second were sent where 10.0 were asked for: the load generator was late, so use more cores or machines, or prompts that the server need not tokenize.",
				"Requests were sent 7.9s late (p99), for want of CPU or of prompts (those that the server must tokenize): read latencies from when they were due, or use more cores.",
			},
		},
		"a bound on concurrency": {
			change: func(r *run) {
				paced(20 * time.Millisecond)(r)
				r.step.MaxConcurrency = 9
				for i := range r.requests {
					r.requests[i].Queued = time.Duration(i) * 20 * time.Millisecond
				}
			},
			want: []string{
				"The load never was steady, as the server did not keep up with the rate, so that requests waited ever longer for their turn: all figures are of the whole step, ramp and drain included.",
				"Only 8.33 requests a second were over where 10.0 arrived, so requests wait ever longer for as long as the load lasts: lower the rate or raise the bound, and read latencies from when they were due.",
			},
		},
		"user clock": {
			change: each(func(i int, t *openai.Trace) {
				if i < 8 {
					t.Clock = openai.ClockUser
				}
			}),
			want: []string{"The instants of 2.00 % of the answers are those at which this program read them, not the kernel's: a busy load generator makes latencies longer."},
		},
		"lag that is small beside the gaps": {change: each(lag(40 * time.Millisecond))},
		"lag": {
			change: each(lag(45123456)),
			want:   []string{"This program read what had arrived 45.1ms late (p99), where gaps between chunks are 800ms: use more cores or fewer streams a machine."},
		},
		"small lag beside fast gaps": {change: each(func(_ int, t *openai.Trace) {
			t.Lags, t.Chunks[0].At = []time.Duration{900 * time.Microsecond}, t.Chunks[1].At-10*time.Millisecond
		})},
		"tokens from chunks": {
			change: each(func(i int, t *openai.Trace) {
				if i%2 == 0 {
					t.Usage, t.TokenSource = nil, openai.TokensChunks
				}
			}),
			want: []string{"The server told no usage for 200 of 400 answers, whose tokens are counted as one a chunk: tokens a second and TPOT are off where a chunk has more."},
		},
		"token ids that the model does not have": {
			change: func(r *run) {
				r.log.run.API, r.log.run.Dataset = openai.Completions, "random"
				for i := range r.requests[:50] {
					r.requests[i].Trace.Failure = &openai.Failure{
						Reason: openai.ReasonStreamError, Status: 200, Detail: `{"error":{"message":"Token id 29999 is out of vocabulary","code":400}}`,
					}
				}
			},
			want: []string{
				"50 of 400 requests failed (12.5 %: stream_error 50): latencies are of those that did not, so read them beside this share.",
				"The server refused token ids that the model does not have: leave out --prompt-token-ids.",
			},
		},
		"such an error of a server that was sent text": {
			change: func(r *run) {
				r.log.run.Dataset = "random"
				for i := range r.requests[:50] {
					r.requests[i].Trace.Failure = &openai.Failure{Reason: openai.ReasonStreamError, Status: 200, Detail: "out of vocabulary"}
				}
			},
			want: []string{"50 of 400 requests failed (12.5 %: stream_error 50): latencies are of those that did not, so read them beside this share."},
		},
		"chunks of several tokens": {
			change: each(func(_ int, t *openai.Trace) { t.Usage.CompletionTokens = 8 }),
			want: []string{"A chunk of text stands for 4.00 tokens on the mean (the server's --stream-interval, speculative decoding, characters of several tokens, or chunks joined on the way): " +
				"ITL is the gap between chunks, so read TPOT for the time of a token."},
		},
		"short answers and the token that ends them": {change: each(func(_ int, t *openai.Trace) { t.Chunks, t.Usage.CompletionTokens = t.Chunks[:1], 2 })},
		"answers without text": {
			change: each(func(i int, t *openai.Trace) {
				if i%4 == 0 {
					t.Chunks, t.Usage.CompletionTokens = nil, 2
				}
			}),
			want: []string{"100 answers have no text, though 200 tokens were counted for them: they are special tokens, or half a character where the limit of tokens cut it; " +
				"such answers count as successes and have no latency, so see what the model writes, or ask for more tokens."},
		},
		"no cache hits, and so told": {change: each(func(_ int, t *openai.Trace) { t.Usage.CachedTokens = new(0) })},
		"cache hits":                 {change: cached, want: []string{"50.0 % of the prompt tokens came from the server's prefix cache: TTFT and throughput are better than for new prompts, so send such as it has not seen, or turn the cache off."}},
		"cache hits that were meant": {change: func(r *run) { cached(r); r.log.run.Dataset = "prefix" }},
		"reused prompts":             {change: func(r *run) { cached(r); r.log.run.ReusePrompts = true }},
		"few for the percentile": {
			opts:   Options{Percentiles: []float64{99.9}},
			change: func(*run) {},
			want:   []string{"p99.9 needs 1000 requests and the steady part has 400: run more (--requests, --duration), or do not quote it."},
		},
		"a percentile that nobody quotes": {opts: Options{Percentiles: []float64{66, 99.7}}, change: func(r *run) {
			r.requests = r.requests[:340] // enough for p99.7, which takes 334
		}},
		"a short limit of the server's": {
			change: cut(380),
			want:   []string{"380 of 400 answers stopped at 16 tokens, which is the server's own limit where the data set asks for none: give --max-tokens."},
		},
		"answers that stop by themselves": {change: cut(350)},
		"a limit that was asked for":      {change: func(r *run) { cut(400)(r); r.step.MaxTokens = 16 }},
		"a data set of so long answers":   {change: func(r *run) { cut(400)(r); r.log.run.Dataset = "sharegpt" }},
		"prompts made to a length": {change: func(r *run) {
			cut(400)(r)
			for i := range r.requests {
				r.requests[i].ExpectedTokens = 10
			}
		}},
		"the chat API has no such limit": {change: func(r *run) { cut(400)(r); r.log.run.API = openai.Chat }},
		"killed": {
			change: func(r *run) { r.killed = true },
			want:   []string{"The run on a was killed or still goes on: 400 requests are known, those in flight at the end are not; the last figures lean to the fast requests."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{step: closed(4, n), log: newMemlog("a"), stop: runlog.StopRequests}
			r.requests = closedLoop(4, n, func(_ int, start time.Duration) runlog.Request {
				return answered(start, 10, 3, 200*time.Millisecond, time.Second)
			})
			tt.change(r)
			r.log.begin(r.step, r.requests)
			if !r.killed {
				r.log.end(r.step, r.requests, r.stop)
			}
			s := stepOf(t, tt.opts, r.log)
			if diff := cmp.Diff(tt.want, s.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWarningsOfTheDataset has two machines: what both left out and estimated adds
// up.
func TestWarningsOfTheDataset(t *testing.T) {
	requests := everySecond(120, time.Second)
	one := runlog.DatasetCount{Prompts: 120, Passes: 1, BadLine: 3, TooLong: 2, Skipped: 5, Estimated: 7, FirstBad: []string{"line 7: no question"}}
	var logs []*memlog
	for _, host := range []string{"a", "b"} {
		log := newMemlog(host)
		log.begin(closed(1, 120), requests)
		log.end(closed(1, 120), requests, runlog.StopRequests)
		log.records[len(log.records)-1].StepEnd.Dataset = one
		logs = append(logs, log.over())
	}
	s := stepOf(t, Options{}, logs...)
	want := []string{
		"The clocks of 2 machines are joined: windows, rates and concurrency are only as good as their NTP, so see that it is in step.",
		"The length of the answer was estimated for 14 of 240 prompts: the load is not token for token what the data set tells.",
		"6 records of the data set could not be used, the first: line 7: no question: mend them, or the load is not what was meant.",
	}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	sum := runlog.DatasetCount{
		Prompts: 240, Passes: 2, BadLine: 6, TooLong: 4, Skipped: 10, Estimated: 14, FirstBad: []string{"line 7: no question", "line 7: no question"},
	}
	if diff := cmp.Diff(sum, s.Dataset); diff != "" || !s.DatasetKnown {
		t.Errorf("data set (known: %v; -want +got):\n%s", s.DatasetKnown, diff)
	}
}

func TestWarningOfMachinesApart(t *testing.T) {
	late := everySecond(120, time.Second)
	for i := range late {
		late[i].Trace.Started = late[i].Trace.Started.Add(130 * time.Second)
	}
	a, b := newMemlog("a").step(closed(1, 120), everySecond(120, time.Second), false), newMemlog("b").step(closed(1, 120), late, false)
	s := stepOf(t, Options{}, a, b)
	want := "The machines did not put on this load at the same time: start them together, or read their reports one by one."
	if len(s.Warnings) < 2 || s.Warnings[1] != want {
		t.Errorf("warnings %q, want second %q", s.Warnings, want)
	}
}

// What the first failure of each reason said is what an operator needs to mend it.
func TestFailuresAreToldInTheirOwnWords(t *testing.T) {
	log, step := newMemlog("a"), closed(4, 8)
	requests := closedLoop(4, 8, func(_ int, start time.Duration) runlog.Request {
		return answered(start, 10, 3, 200*time.Millisecond, time.Second)
	})
	for i, f := range []*openai.Failure{
		{Reason: openai.ReasonHTTP4xx, Status: 404, Detail: "page not found"},
		{Reason: openai.ReasonHTTP4xx, Status: 400, Detail: "another"},
		{Reason: openai.ReasonTLS, Detail: "certificate has expired"},
		{Reason: openai.ReasonCanceled},
	} {
		requests[i].Trace.Failure = f
	}
	log.begin(step, requests)
	log.end(step, requests, runlog.StopRequests)
	want := map[openai.Reason]string{openai.ReasonHTTP4xx: "status 404: page not found", openai.ReasonTLS: "certificate has expired"}
	if diff := cmp.Diff(want, stepOf(t, Options{}, log).FailedAs); diff != "" {
		t.Errorf("first failures (-want +got):\n%s", diff)
	}
}
