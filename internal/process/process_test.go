//go:build linux

package process

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// What the kernel says of ourselves.
func TestStat(t *testing.T) {
	st, ok := FS("/proc").Stat(os.Getpid())
	if !ok || st.PPID != os.Getppid() || st.PGRP != syscall.Getpgrp() || st.Starttime == 0 || st.State != "R" && st.State != "S" {
		t.Errorf("%+v, %t", st, ok)
	}
	all, err := FS("/proc").Processes()
	if err != nil || !slices.ContainsFunc(all, func(p procfs.ProcStat) bool { return p.PID == st.PID && p.Starttime == st.Starttime }) {
		t.Errorf("not among %d processes, error %v", len(all), err)
	}
}

// The kernel's ticks and our clock must agree: a process that is taken to begin too late is
// not told where it runs.
func TestBegan(t *testing.T) {
	before := time.Now()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	after := time.Now()
	st, ok := FS("/proc").Stat(cmd.Process.Pid)
	began := Began(st)
	if !ok || began.IsZero() {
		t.Skip("no procfs, or no clock")
	}
	const tick = 10 * time.Millisecond
	if began.Before(before.Add(-2*tick)) || began.After(after) {
		t.Errorf("began at %s, want %s to %s", began, before, after)
	}
}
