//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit waits for the end of our child and reaps it.
func awaitExit(cmd *exec.Cmd) Exit {
	err := cmd.Wait()
	if cmd.ProcessState == nil {
		return Exit{Code: -1, Err: err}
	}
	exit := Exit{Code: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal, exit.CoreDumped = status.Signal(), status.CoreDump()
	}
	return exit
}

func signalName(sig syscall.Signal) string { return sig.String() }

func (t *Tree) startLeader(path string) (*exec.Cmd, string, error) {
	cmd := t.leader(path)
	return cmd, "", cmd.Start()
}

// There is no Linux /proc to find daemons in, so the tree is its leader's group.
func hasChildren() bool        { return true }
func (t *Tree) survey() bool   { return t.kill(-t.pid, 0) == nil }
func (*Tree) chase()           {}
func (*Tree) reapOrphans()     {}
func adoptOrphans()            {}
func ownCgroup() string        { return "" }
func killCgroup(string) bool   { return false }
func removeCgroup(string) bool { return true }
