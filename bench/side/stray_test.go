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
			if server == p.child.PID() || !lives(server) {
				t.Fatalf("server %d, shell %d", server, p.child.PID())
			}
			if err := p.Stop(50 * time.Millisecond); err != nil || lives(server) || isListed(p.child.PID()) {
				t.Errorf("Stop = %v, server lives %t, shell is there %t", err, lives(server), isListed(p.child.PID()))
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
