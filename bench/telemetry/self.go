package telemetry

import (
	"runtime/debug"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

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
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err == nil {
		cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
		series = append(series, runlog.Series{Name: "process_cpu_seconds_total", Value: cpu.Seconds()})
	}
	if self, err := procfs.Self(); err == nil {
		if stat, err := self.Stat(); err == nil {
			series = append(series, runlog.Series{Name: "process_resident_memory_bytes", Value: float64(stat.ResidentMemory())})
		}
	}
	return series
}
