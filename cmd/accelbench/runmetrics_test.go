package main

import (
	"bytes"
	"flag"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

// The rate is from the first request sent, however long prompts were made before.
func TestLine(t *testing.T) {
	var out bytes.Buffer
	l := &progressLine{out: &out}
	meter := new(load.Meter)
	l.RunStarted(runlog.Run{Dataset: "multi_turn"})
	l.StepStarted(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8, Requests: 28801}, meter)
	meter.FirstSent.Store(time.Now().Add(-20 * time.Hour).UnixNano())
	meter.Succeeded.Add(8 * 3600)
	meter.Failed.Add(1)
	meter.Queued.Add(7)
	l.StepEnded(runlog.StepEnd{})
	if diff := cmp.Diff("8 conversations: 28801 requests, 72000s, 0.4/s, 1 failed, 0 in flight, 7 queued\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// twoChunks is a request of two chunks that is over, or failed.
func twoChunks(f *openai.Failure) *runlog.Request {
	t := openai.Trace{RequestID: "id", Usage: &openai.Usage{PromptTokens: 7, CompletionTokens: 2}, Failure: f}
	t.Chunks = []openai.Chunk{{At: 100 * time.Millisecond}, {At: 150 * time.Millisecond}}
	t.Lag = openai.Lag{Reads: 1, Last: time.Microsecond}
	return &runlog.Request{Trace: t}
}

func TestPhases(t *testing.T) {
	closed, open := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8}, runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 4}
	var m load.Meter
	got := []string{stepPhase(closed, &m), stepPhase(open, &m)}
	m.Succeeded.Add(1)
	got = append(got, stepPhase(closed, &m), stepPhase(open, &m))
	m.Reached.Store(time.Now().UnixNano())
	got = append(got, stepPhase(closed, &m))
	m.SendingEnded.Store(true)
	got = append(got, stepPhase(closed, &m))
	if diff := cmp.Diff([]string{"ramp", "ramp", "ramp", "steady", "steady", "drain"}, got); diff != "" {
		t.Error(diff)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

const exposition = "testdata/metrics.golden"

// TestExposition is a run of two steps, one of a closed loop and one of an open one. Each has
// a request that succeeds, one that fails and one that is never sent.
func TestExposition(t *testing.T) {
	m := newRunMetrics()
	m.RunStarted(runlog.Run{URL: "http://127.0.0.1:8000/v1", Model: "qwen2.5"})
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("%d series before the first step", n)
	}
	for _, s := range []runlog.Step{
		{Arrival: runlog.ArrivalClosed, Concurrency: 8, Duration: time.Minute},
		{Arrival: runlog.ArrivalGamma, Rate: 4, Burstiness: 1, MaxConcurrency: 16, Duration: time.Minute},
	} {
		meter := new(load.Meter)
		m.StepStarted(s, meter)
		meter.InFlight.Store(6)
		meter.Queued.Store(2)
		m.RequestDone(twoChunks(nil))
		m.RequestDone(twoChunks(&openai.Failure{Reason: openai.ReasonTruncated}))
		m.RequestDone(&runlog.Request{Never: true, Trace: openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonCanceled}}})
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	expositiontest.Compare(t, exposition, expositiontest.Gather(t, registry), *update)
}

func TestExpositionIsComplete(t *testing.T) {
	all := func(string) bool { return false }
	if n := expositiontest.Complete(t, exposition, newRunMetrics(), all); n < 12 {
		t.Errorf("only %d metrics are described", n)
	}
}
