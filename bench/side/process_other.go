//go:build unix && !linux

package side

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit reaps our child, and says how it ended, nothing for status 0.
func awaitExit(pid int) string {
	proc, err := os.FindProcess(pid)
	if err != nil {
		return "its end could not be seen: " + err.Error()
	}
	state, err := proc.Wait()
	switch {
	case err != nil:
		return "its end could not be seen: " + err.Error()
	case state.Success():
		return ""
	}
	return state.String()
}

// adopt and reapAdopted have nothing to do: daemons are not found here.
func adopt()          {}
func reapAdopted(int) {}

// family counts what is left of the leader's group, as far as a signal that does
// nothing tells. Other groups are not looked for.
func family(leader int) (members int, strays []stray) {
	if syscall.Kill(-leader, 0) == nil {
		return 1, nil
	}
	return 0, nil
}

type stray struct{}

func (stray) alive() bool           { return false }
func (stray) signal(syscall.Signal) {}
