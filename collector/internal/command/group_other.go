//go:build unix && !linux

package command

import "syscall"

// process is never made where there is no Linux /proc to find one in.
type process struct{}

// awaitExit cannot wait without reaping here.
func awaitExit(int) bool { return false }

func group(int) []process { return nil }

func strays(int) []process { return nil }

func (process) alive() bool { return false }

func (process) signal(syscall.Signal) {}
