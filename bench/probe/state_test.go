package probe

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// What a target's state is after each event: + a success, - a failure, and looks at counters which have moved (m), stand
// still (s) or have begun anew (r). States by their first letters.
func TestVerdict(t *testing.T) {
	for name, tt := range map[string]struct {
		healthyAfter int
		events, want string
	}{
		"well":                            {1, "+-+--+", "oooooo"},
		"failing, and well again":         {1, "+---+", "ooofo"},
		"never well":                      {1, "---+", "uufo"},
		"two successes end it":            {2, "+---+-++", "oooffffo"},
		"two are not needed at first":     {2, "+", "o"},
		"a queue":                         {1, "+mmm+", "oobbo"},
		"a queue before any success":      {1, "mmm+", "uuuo"},
		"a server that restarts":          {1, "+mr", "oob"},
		"stands still":                    {1, "+mss+", "oosso"},
		"stands still before any success": {1, "mss", "uss"},
		"stalled until two successes":     {2, "+ms++", "oosso"},
		"stalled again between them":      {2, "+ms+ms+", "oosssss"},
		"one look is none":                {1, "+m+s+", "ooooo"},
		"a failure between two looks":     {1, "+m-s", "oooo"},
		"moves again":                     {1, "+msm", "oosb"},
		"a queue is no failure":           {1, "+--mmmm-", "oooobbbf"},
		"nor a success":                   {1, "+---mm+", "ooofffo"},
		"stalled, then gone":              {1, "+ms-", "oosf"},
		"failing, then stalled":           {1, "---ms", "uuffs"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict{unhealthyAfter: 3, healthyAfter: tt.healthyAfter, state: StateUnknown}
			count, got := 100.0, ""
			for i, event := range tt.events {
				at := time.Unix(int64(i), 0)
				switch event {
				case '+':
					v.succeeded(at)
				case '-':
					v.failed(at)
				case 'm':
					count++
				case 'r':
					count = 0
				}
				if event != '+' && event != '-' {
					v.looked(look{at: at, tokens: map[string]float64{"a": count, "b": 1}})
				}
				got += string(v.state[0])
			}
			equal(t, fmt.Sprintf("states after %s", tt.events), tt.want, got)
		})
	}
}

// All engines of a page count together, and what a broken page says is left out.
func TestReadLook(t *testing.T) {
	for page, want := range map[string]look{
		"vllm:generation_tokens_total{engine=\"0\",model_name=\"a } b\"} 1.5e+06\nvllm:generation_tokens_total{engine=\"1\"} 4\nvllm:num_requests_running 214\nvllm:num_requests_waiting{engine=\"0\"} 3\n": {tokens: map[string]float64{"vllm:generation_tokens_total": 1500004}, running: 214, waiting: 3},
		"sglang:realtime_tokens_total{mode=\"decode\"} 7 1700000000\nsglang:num_queue_reqs 2\nsglang:num_running_reqs 1\n":                                                                                  {tokens: map[string]float64{"sglang:realtime_tokens_total": 7}, running: 1, waiting: 2},
		"# vllm:prompt_tokens_total 5\nvllm:prompt_tokens_total\nvllm:prompt_tokens_total{\nvllm:prompt_tokens_total{} x\n{} 1\nvllm:prompt_tokens_total NaN\n<html>\n\n":                                   {tokens: map[string]float64{}},
	} {
		got := look{tokens: map[string]float64{}}
		_ = fakeClient{page: func() string { return page }}.Metrics(t.Context(), got.addLine)
		equal(t, page, want, got, cmp.AllowUnexported(look{}))
	}
}

// What a target's state is in each interval of a server that answers one probe and lets the others wait. Its page is that of
// an engine that makes a token a second, of one that stands still, or of none.
func TestStateOfAServerThatLetsProbesWait(t *testing.T) {
	const interval, queue, hang = 30 * time.Second, "vllm:generation_tokens_total %d\n", "vllm:generation_tokens_total 9\n# %d\n"
	for name, tt := range map[string]struct {
		timeout    time.Duration
		page, want string        // of %d seconds; the first letters of the states, between two planned instants
		slow       time.Duration // of the page
		text       bool          // begins at once
	}{
		"a queue":            {timeout: 120 * time.Second, page: queue, want: "ooobbbbbb"},
		"an engine hangs":    {timeout: 120 * time.Second, page: hang, want: "ooossssss"}, // two intervals after the first that waits
		"no page":            {timeout: 100 * time.Second, want: "oooooooooooof"},
		"no counters":        {timeout: 100 * time.Second, page: "up %d\n", want: "oooooooooooof"},
		"a queue, short":     {timeout: 20 * time.Second, page: queue, want: "oobbb"},
		"a hang, short":      {timeout: 20 * time.Second, page: hang, want: "oosss"},
		"no page, short":     {timeout: 20 * time.Second, want: "ooof"},
		"a hang, in between": {timeout: 40 * time.Second, page: hang, want: "oooss"}, // looks ten seconds apart are one
		"a slow page":        {timeout: 10 * time.Second, page: queue, slow: 8 * time.Second, want: "oobbb"},
		"a long answer":      {timeout: 100 * time.Second, page: hang, text: true, want: "oooooooo"}, // which shows that it works
	} {
		inBubble(t, name, func(t *testing.T) {
			target := makeTarget(t, func(s *Spec) { s.Interval, s.Timeout = model.Duration(interval), model.Duration(tt.timeout) })
			start, requests := time.Now(), 0
			c := fakeClient{stream: func(ctx context.Context, r openai.Request) *openai.Trace {
				if requests++; requests == 1 {
					return goodTrace(r)
				}
				if tt.text {
					r.FirstText()
				}
				select {
				case <-time.After(r.Timeout):
					if tt.text {
						return goodTrace(r)
					}
					return failedTrace(r, openai.ReasonTimeoutFirstToken)
				case <-ctx.Done():
					return failedTrace(r, openai.ReasonCanceled)
				}
			}}
			if tt.page != "" {
				c.page = func() string {
					time.Sleep(tt.slow)
					return fmt.Sprintf(tt.page, int(time.Since(start).Seconds()))
				}
			}
			p, l := fakeLoop(target, c)
			stop := running(t, p)
			time.Sleep(l.offset() + interval*3/4)
			got := ""
			for range tt.want {
				got += string(p.Statuses()[0].State[0])
				time.Sleep(interval)
			}
			stop()
			equal(t, "states", tt.want, got)
		})
	}
}

// inBubble runs a subtest on synctest's clock.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
