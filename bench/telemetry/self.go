package telemetry

import (
	"bytes"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// selfSeries are the values of this process, under the names that Go programs
// export them by. What this system does not tell is left out.
func selfSeries() []runlog.Series {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	series := []runlog.Series{
		{Name: "go_gc_duration_seconds_count", Value: float64(gc.NumGC)},
		{Name: "go_gc_duration_seconds_sum", Value: gc.PauseTotal.Seconds()},
	}
	if cpu, ok := cpuTime(); ok {
		series = append(series, runlog.Series{Name: "process_cpu_seconds_total", Value: cpu.Seconds()})
	}
	if rss, ok := residentBytes(); ok {
		series = append(series, runlog.Series{Name: "process_resident_memory_bytes", Value: rss})
	}
	return series
}

// residentBytes is the second field of /proc/self/statm, in bytes.
func residentBytes() (float64, bool) {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 256))
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err == nil
}
