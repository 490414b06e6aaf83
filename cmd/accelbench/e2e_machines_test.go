//go:build e2e

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machines kills processes of a load of three as a node does that dies, and slows each write of one.
func (b *bench) machines(t *testing.T) {
	t.Run("kill -9 of a follower", func(t *testing.T) {
		three := b.startThree(t, "--duration=10m")
		b.awaitAllRanks(t, three)
		_ = three[2].Process.Kill()
		o := b.finish(t, three[0])
		if o.code != exitFailures || !strings.Contains(o.stdout, "The step is void: machine 2 was lost") || !strings.Contains(o.stdout, "\nThe run ended early: a machine was lost at 24 users.") {
			t.Errorf("exit code %d\n%s\n%s", o.code, o.stdout, o.stderr)
		}
		const since = 40 // its last message 0.25 s ago, 8 users may have sent that many
		if a := o.report.Steps[0].Account; a.Unknown > since || a.Attempted < 60 || a.Attempted != a.Succeeded+a.Canceled+a.Unknown {
			t.Errorf("%+v", a)
		}
	})
	t.Run("kill -9 of the leader", func(t *testing.T) {
		three := b.startThree(t, "--duration=10m")
		b.awaitAllRanks(t, three)
		_ = three[0].Process.Kill()
		died := time.Now()
		codes := []int{ended(three[1]), ended(three[2])}
		const bound = 15 * time.Second // it has been silent for 5 s, and this machine is busy
		if took := time.Since(died); took > bound || codes[0] == 0 || codes[1] == 0 {
			t.Errorf("the followers ended with %v after %s", codes, took)
		}
		for _, follower := range three[1:] {
			text := fmt.Sprint(follower.Stderr)
			if logs, _ := filepath.Glob(filepath.Join(follower.Dir, "results", "*", "traces.jsonl")); len(logs) != 1 || !strings.Contains(text, "leader has not answered") {
				t.Errorf("logs %v\n%s", logs, text)
			}
		}
	})
	t.Run("a slow disk", func(t *testing.T) {
		strace, err := exec.LookPath("strace")
		if err != nil {
			t.Fatal("no strace on the PATH; Debian has it in the package strace")
		}
		three := b.startThree(t, "--num-prompts=120", strace, "--follow-forks", "--seccomp-bpf", "--quiet=all", "--output=/dev/null", "--trace=write", "--inject=write:delay_enter=20000")
		o := b.finish(t, three[0])
		if a := o.report.Steps[0].Account; o.code != 0 || a.Attempted != 120 || a.Succeeded != 120 || ended(three[1]) != 0 || ended(three[2]) != 0 {
			t.Errorf("exit code %d, %+v\n%s\n%s", o.code, a, o.stderr, three[2].Stderr)
		}
	})
}

// startThree starts three machines on one load, the last of them behind the words of a wrapper.
func (b *bench) startThree(t *testing.T, length string, wrapper ...string) (three []*exec.Cmd) {
	t.Helper()
	url, lead := b.server(t, "--speed=50"), freeAddress(t)
	for rank := range 3 {
		cmd := b.command(t, "--backend=openai-chat", "--base-url="+url, "--max-concurrency=24", "--output-len=60", "--quiet", length,
			"--lead="+lead, "--machines=3", fmt.Sprint("--rank=", rank))
		if rank == 2 && wrapper != nil {
			cmd.Path, cmd.Args = wrapper[0], append(wrapper, append([]string{cmd.Path}, cmd.Args[1:]...)...)
		}
		noError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		three = append(three, cmd)
	}
	return three
}

// awaitAllRanks waits until requests of each machine are in the leader's folder.
func (b *bench) awaitAllRanks(t *testing.T, three []*exec.Cmd) {
	t.Helper()
	eventually(t, "requests of three machines", func() error {
		logs, _ := filepath.Glob(filepath.Join(three[0].Dir, "results", "*", "traces.jsonl"))
		if len(logs) != 1 {
			return fmt.Errorf("logs: %v", logs)
		}
		text, err := os.ReadFile(logs[0])
		for _, begin := range []string{`{"request":`, `{"rank":1,"request":`, `{"rank":2,"request":`} {
			if n := bytes.Count(text, []byte(begin)); n < 20 {
				return fmt.Errorf("%d lines with %s", n, begin)
			}
		}
		return err
	})
}

// ended waits for a program and returns its exit code.
func ended(cmd *exec.Cmd) int {
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
