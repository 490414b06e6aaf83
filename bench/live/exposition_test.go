package live

import (
	"flag"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const exposition = "testdata/metrics.golden"

// TestExposition is a run of two steps, one of a closed loop and one of an open one.
func TestExposition(t *testing.T) {
	m := NewMetrics()
	m.RunStarted(runlog.Run{URL: "http://127.0.0.1:8000/v1", Model: "qwen2.5"})
	for _, s := range []runlog.Step{
		{Arrival: runlog.ArrivalClosed, Concurrency: 8, Duration: time.Minute},
		{Arrival: runlog.ArrivalGamma, Rate: 4, Burstiness: 1, MaxConcurrency: 16, Duration: time.Minute},
	} {
		meter := new(load.Meter)
		m.StepStarted(s, meter)
		meter.InFlight.Store(6)
		meter.Queued.Store(2)
		m.RequestDone(done(nil))
		m.RequestDone(done(&openai.Failure{Reason: openai.ReasonTruncated}))
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	expositiontest.Compare(t, exposition, expositiontest.Gather(t, registry), *update)
}

func TestExpositionIsComplete(t *testing.T) {
	all := func(string) bool { return false }
	if n := expositiontest.Complete(t, exposition, NewMetrics(), all); n < 14 {
		t.Errorf("only %d metrics are described", n)
	}
}
