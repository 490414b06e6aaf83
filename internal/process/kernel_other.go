//go:build unix && !linux

package process

import (
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Without a Linux /proc nobody finds what a program left behind.
func adoptOrphans()                    {}
func hasChildren() bool                { return false }
func sinceBoot() (time.Duration, bool) { return 0, false }
