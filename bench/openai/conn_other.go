//go:build !linux

package openai

import (
	"net"
	"syscall"
)

// wantStamps does nothing: receive stamps are read on Linux only.
func wantStamps(_, _ string, _ syscall.RawConn) error { return nil }

// prepareBurst does nothing: what it is for was seen on Linux.
func prepareBurst() {}

// receiver exists on Linux only.
type receiver struct{}

func newReceiver(net.Conn) *receiver { return nil }

func (*receiver) read([]byte) (n int, stamp int64, err error) { panic("no receiver on this system") }
