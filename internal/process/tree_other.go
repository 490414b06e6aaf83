//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

const hasProc = false

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

// There is no Linux /proc to find daemons in.
func adoptOrphans()        {}
func (*Tree) reapOrphans() {}
func reap(int)             {}
