//go:build linux

package side

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// isListed is true for a process that is dead and not reaped, too.
func isListed(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A daemon is in a session of its own, and its parent is gone.
func TestStopEndsADaemon(t *testing.T) {
	dir := t.TempDir()
	daemon, leader := filepath.Join(dir, "daemon"), filepath.Join(dir, "leader")
	p, _ := start(t, t.Context(), "daemon", daemon, leader)
	waitFor(leader)
	pid := waitFor(daemon)
	if !lives(pid) {
		t.Fatal("the daemon did not start")
	}
	if err := p.Stop(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if isListed(pid) {
		t.Errorf("process %d, alive %t, is still there", pid, lives(pid))
	}
}

// Two commands at a time: the end of one leaves the other's daemon alone.
func TestStopLeavesTheOtherSideAlone(t *testing.T) {
	subreaper := process.NewSubreaper()
	var both []*Process
	var daemons []int
	for range 2 {
		dir := t.TempDir()
		p, err := Start(t.Context(), subreaper, Side{Name: "a", Argv: program("daemon", filepath.Join(dir, "daemon"), filepath.Join(dir, "leader"))}, filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		waitFor(filepath.Join(dir, "leader"))
		both, daemons = append(both, p), append(daemons, waitFor(filepath.Join(dir, "daemon")))
		for began := time.Now(); time.Since(began) < 20*time.Millisecond; time.Sleep(time.Millisecond) {
			continue // start times are told in clock ticks
		}
	}
	for i, p := range both {
		for _, pid := range daemons[i:] {
			if !lives(pid) {
				t.Errorf("daemon %d ended before its side", pid)
			}
		}
		if err := p.Stop(50 * time.Millisecond); err != nil {
			t.Error(err)
		}
		if isListed(daemons[i]) {
			t.Errorf("daemon %d is still there", daemons[i])
		}
	}
}

// A script that restarts a daemon waits until its number is free.
func TestDeadDaemonIsReaped(t *testing.T) {
	dir := t.TempDir()
	daemon, leader := filepath.Join(dir, "daemon"), filepath.Join(dir, "leader")
	start(t, t.Context(), "daemon", daemon, leader)
	waitFor(leader)
	pid := waitFor(daemon)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Second); isListed(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("process %d is dead and still there", pid)
		}
	}
	if !lives(waitFor(leader)) {
		t.Error("the command itself has ended")
	}
}

// Nobody else's programs are ended, not even our own.
func TestStopEndsNothingElse(t *testing.T) {
	dir := t.TempDir()
	other, leader := filepath.Join(dir, "other"), filepath.Join(dir, "leader")
	p, _ := start(t, t.Context(), "serve", leader)
	waitFor(leader)
	argv := program("stubborn", other)
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(other)
	if err := p.Stop(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	if !lives(cmd.Process.Pid) {
		t.Error("a program that the side did not start was ended")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// A shell that runs the server as its child gets SIGTERM with it. Both may ignore
// it, or the server alone.
func TestStopEndsAWrapperAndItsServer(t *testing.T) {
	for name, trap := range map[string]string{"server ignores": "", "both ignore": `trap "" TERM; `} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script, file := filepath.Join(dir, "start.sh"), filepath.Join(dir, "pid")
			text := "#!/bin/sh\n" + trap + shellquote.Join(program("stubborn", file)...) + "\necho ended\n"
			if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			p, err := Start(t.Context(), process.NewSubreaper(), Side{Name: "a", Argv: []string{script}}, filepath.Join(dir, "log"))
			if err != nil {
				t.Fatal(err)
			}
			server := waitFor(file)
			if server == p.tree.PID() || !lives(server) {
				t.Fatalf("server %d, shell %d", server, p.tree.PID())
			}
			if err := p.Stop(50 * time.Millisecond); err != nil || lives(server) || isListed(p.tree.PID()) {
				t.Errorf("Stop = %v, server lives %t, shell is there %t", err, lives(server), isListed(p.tree.PID()))
			}
		})
	}
}

// A user who does not wait for a server to shut down leaves none behind.
func TestKillWhileStopWaits(t *testing.T) {
	dir := t.TempDir()
	daemon, leader := filepath.Join(dir, "daemon"), filepath.Join(dir, "leader")
	p, _ := start(t, t.Context(), "daemon", daemon, leader)
	waitFor(leader)
	stopped := make(chan error)
	go func() { stopped <- p.Stop(time.Hour) }()
	<-p.Exited() // by SIGTERM; the daemon ignores it
	p.Kill()
	if pid := waitFor(daemon); lives(pid) {
		t.Errorf("process %d still lives", pid)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	p.Kill() // when all is over, there is nothing to do
}
