package result

import (
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

// BenchmarkRead reports 100,000 requests of 200 users at 283 chunks, and tells the most
// memory that was held.
func BenchmarkRead(b *testing.B) {
	const requests, chunks = 100_000, 283
	folder := longLog(b, requests, chunks)
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew
	for b.Loop() {
		r, err := Read(Options{}, folder)
		noError(b, err)
		if n := r.Steps[0].Whole.Of(ITL).Count; n != requests*(chunks-1) {
			b.Fatalf("%d gaps", n)
		}
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); m != nil {
			kb, _ := strconv.Atoi(string(m[1]))
			b.ReportMetric(float64(kb)/1024, "peak-RSS-MiB")
		}
	}
}

// longLog keeps a closed loop of 200 users on disk, whose answers take 6 s.
func longLog(b *testing.B, requests, chunks int) (folder string) {
	const users, takes = 200, 6 * time.Second
	folder = b.TempDir()
	w, err := runlog.Create(folder+"/run", newMemlog("a").run)
	noError(b, err)
	write := func(r runlog.Record) {
		noError(b, w.Write(r))
	}
	write(runlog.Record{Step: new(closed(users, requests))})
	gap := takes / time.Duration(chunks+1)
	for i := range requests {
		r := answered(takes*time.Duration(i)/users, 500, chunks, time.Second)
		r.Trace.Chunks, r.Trace.End = make([]openai.Chunk, chunks), takes
		r.Trace.Lag = openai.Lag{Reads: chunks, Sum: 2_000_000, Max: 59_999, Last: 20_000}
		for k := range r.Trace.Chunks { // gaps of many lengths, or all samples were in one bucket
			r.Trace.Chunks[k].At = gap*time.Duration(k+1) + time.Duration((i*31+k*7919)%5_000_000)
		}
		write(runlog.Record{Request: &r})
	}
	write(runlog.Record{RunEnd: &runlog.RunEnd{}})
	noError(b, w.Close())
	return folder
}
