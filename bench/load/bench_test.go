package load

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// BenchmarkLateness tells how late requests are sent that were planned. The aim
// is a p99 of at most 1 ms at 1,000 requests a second.
func BenchmarkLateness(b *testing.B) {
	for _, rate := range []float64{10, 100, 1000, 10000} {
		for _, kind := range []runlog.Arrival{runlog.ArrivalConstant, runlog.ArrivalPoisson} {
			b.Run(fmt.Sprintf("%s/rate=%g", kind, rate), func(b *testing.B) {
				step := runlog.Step{Arrival: kind, Rate: rate, Duration: 2 * time.Second}
				var late []float64
				for b.Loop() {
					late = append(late, lateness(b, step)...)
				}
				slices.Sort(late)
				at := func(p float64) float64 { return late[int(p*float64(len(late)-1))] }
				b.ReportMetric(at(0.5), "p50-µs")
				b.ReportMetric(at(0.99), "p99-µs")
				b.ReportMetric(at(1), "max-µs")
			})
		}
	}
}

// lateness runs a step against nothing, and gives the microseconds from planned
// to sent of each request.
func lateness(b *testing.B, step runlog.Step) []float64 {
	var late []float64
	runner := Runner{
		Send: func(context.Context, Job) *openai.Trace {
			t := &openai.Trace{Started: time.Now()}
			time.Sleep(50 * time.Millisecond)
			return t
		},
		Done: func(q *runlog.Request) error {
			late = append(late, float64(q.Trace.Started.Sub(q.Trace.Planned).Nanoseconds())/1e3)
			return nil
		},
	}
	if _, err := runner.Run(b.Context(), Plan{Step: step}, &prompts{}); err != nil {
		b.Fatal(err)
	}
	return late
}

// BenchmarkQueue tells what a request costs that waits for its turn.
func BenchmarkQueue(b *testing.B) {
	const n = 1_000_000
	var peak uint64
	runner := Runner{
		Send: func(_ context.Context, j Job) *openai.Trace {
			if j.Seq%10_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
			return &openai.Trace{Started: time.Now()}
		},
		Done: func(*runlog.Request) error { return nil },
	}
	step := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: n, MaxConcurrency: 100}
	for b.Loop() {
		if _, err := runner.Run(b.Context(), Plan{Step: step}, &prompts{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/request")
	b.ReportMetric(float64(peak)/1e6, "peak-MB")
}
