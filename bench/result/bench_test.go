package result

import (
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// endless makes the records of a long run as they are asked for: a million answers
// of a closed loop of 200 users, 283 chunks each.
type endless struct {
	requests, n int
	chunks      []openai.Chunk
}

func (e *endless) Run() runlog.Run { return newMemlog("a").run }
func (e *endless) Damaged() int    { return 0 }
func (e *endless) Close() error    { return nil }

func (e *endless) Position() runlog.Position { return runlog.Position{} }

func (e *endless) Next() (runlog.Record, error) {
	const users, takes = 200, 6 * time.Second
	e.n++
	switch i := e.n - 2; {
	case i == -1:
		return runlog.Record{Step: new(closed(users, e.requests))}, nil
	case i == e.requests:
		return runlog.Record{RunEnd: &runlog.RunEnd{}}, nil
	case i > e.requests:
		return runlog.Record{}, io.EOF
	default:
		r := answered(takes*time.Duration(i)/users, 500, len(e.chunks), time.Second)
		step := takes / time.Duration(len(e.chunks)+1)
		for k := range e.chunks {
			// Gaps of many lengths, or all samples were in one bucket.
			e.chunks[k].At = step*time.Duration(k+1) + time.Duration((i*31+k*17)%1000)*time.Microsecond
		}
		r.Trace.Chunks, r.Trace.End = e.chunks, takes
		return runlog.Record{Request: &r}, nil
	}
}

// BenchmarkMillionRequests reports a million requests at 283 chunks, nothing of
// it on disk, and tells the most memory that was held.
func BenchmarkMillionRequests(b *testing.B) {
	const requests, chunks = 1_000_000, 283
	log := source{name: "a", open: func(runlog.Position) (records, error) {
		return &endless{requests: requests, chunks: make([]openai.Chunk, chunks)}, nil
	}}
	runtime.GC()
	debug.FreeOSMemory()
	for b.Loop() {
		r, err := reportFrom(Options{}, log)
		if err != nil {
			b.Fatal(err)
		}
		if n := r.Steps[0].Whole.Of(ITL).Count; n != requests*(chunks-1) {
			b.Fatalf("%d gaps", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); m != nil {
			kb, _ := strconv.Atoi(string(m[1]))
			b.ReportMetric(float64(kb)/1024, "peak-RSS-MiB")
		}
	}
}
