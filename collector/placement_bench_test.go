package collector

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// busyServers is for a measurement of the largest machines; 64 of them have more threads
// than many a kernel gives numbers to beside its other work.
var busyServers = flag.Int("servers", 4, "processes with 500 threads in BenchmarkPlacement")

const (
	busyThreads = 500
	asServer    = "COLLECTOR_TEST_SERVER"
)

// TestServer is no test but the process of BenchmarkPlacement: it has many threads until
// its input ends.
func TestServer(t *testing.T) {
	if os.Getenv(asServer) == "" {
		t.Skip("only for BenchmarkPlacement")
	}
	var threads sync.WaitGroup
	for range busyThreads {
		threads.Add(1)
		go func() {
			runtime.LockOSThread() // which keeps the thread, too, while this goroutine waits
			threads.Done()
			select {}
		}()
	}
	threads.Wait()
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// BenchmarkPlacement is one look at a large server's processes, in one goroutine that
// reads files only: its time is the CPU's.
func BenchmarkPlacement(b *testing.B) {
	var table []model.Process
	for i := range *busyServers {
		cmd := exec.Command(os.Args[0], "-test.run=^TestServer$")
		cmd.Env = append(os.Environ(), asServer+"=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
			b.Fatal("a server does not start: ", err)
		}
		if st, ok := process.FS("/proc").Stat(cmd.Process.Pid); !ok || st.Threads < busyThreads {
			b.Fatalf("a server has %d threads", st.Threads)
		}
		table = append(table, model.Process{Device: strconv.Itoa(i % 8), PID: strconv.Itoa(cmd.Process.Pid)})
	}
	node := 0
	var s model.Snapshot
	for i := range 8 {
		s.Devices = append(s.Devices, model.Device{ID: strconv.Itoa(i), NUMANode: &node})
	}
	s.Processes = table
	p := &places{procfs: process.FS("/proc"), sysfs: "/sys"}
	for b.Loop() {
		p.look(table).tell(&s)
	}
	if *s.Unplaced > 0 || len(s.Placements) != *busyServers {
		b.Fatalf("%d processes are placed, %d not", len(s.Placements), *s.Unplaced)
	}
}
