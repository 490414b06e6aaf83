package openai

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// growFiles makes the kernel's table of open files large enough for a burst of connections. To grow it meanwhile, at
// each power of two, would stop a processor of this program for up to 80 ms.
var growFiles = sync.OnceFunc(func() {
	const files = 16 << 10
	var limit unix.Rlimit
	file, err := os.Open(os.DevNull)
	if err != nil || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	defer file.Close()
	if high, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, int(min(files, limit.Cur))-1); err == nil {
		_ = unix.Close(high)
	}
})

// wantStamps asks the kernel to stamp what a new socket receives, and to tell at each read whether there is more.
// One that refuses costs only the stamps, and a needless read each time.
func wantStamps(_, _ string, rc syscall.RawConn) error {
	_ = rc.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
			unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
		_ = unix.SetsockoptInt(int(fd), unix.SOL_TCP, unix.TCP_INQ, 1)
	})
	return nil
}

// resetTime is how long a reset that came together with data may go unseen: nothing tells of it but a read.
const resetTime = time.Second

// receiver reads a TCP connection together with the kernel's stamp.
type receiver struct {
	tcp     *net.TCPConn
	mu      sync.Mutex // one read, or the end
	next    func() (struct{}, bool)
	stop    func()
	ended   atomic.Bool
	watched bool // a deadline for seeing a reset is set

	// What one read needs and gives, see receive.
	msg   unix.Msghdr
	iov   unix.Iovec
	oob   [128]byte
	n     int
	stamp int64
	err   error
}

// newReceiver returns nil for a connection that is not TCP.
func newReceiver(nc net.Conn) *receiver {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	r := &receiver{tcp: tcp}
	r.msg.Iov, r.msg.Control = &r.iov, &r.oob[0]
	r.msg.SetIovlen(1)
	// One call of raw.Read for many reads: each call begins with an attempt, in vain where the read before took all.
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		receive := func(fd uintptr) bool { return r.receive(fd, yield) }
		for errors.Is(raw.Read(receive), os.ErrDeadlineExceeded) && !r.ended.Load() {
			r.watch(time.Time{})
		}
	})
	return r
}

// read is like net.Conn's, with the Unix nanoseconds at which the kernel received the last
// of the bytes, 0 if it does not say.
func (r *receiver) read(p []byte) (n int, stamp int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.iov.Base = unsafe.SliceData(p)
	r.iov.SetLen(len(p))
	_, ok := r.next()
	r.iov.Base = nil
	switch {
	case !ok:
		return 0, 0, net.ErrClosed
	case r.err != nil:
		return 0, 0, os.NewSyscallError("recvmsg", r.err)
	case r.n == 0:
		return 0, 0, io.EOF
	}
	return r.n, r.stamp, nil
}

// watch sets or takes away the deadline for seeing a reset. One that end has set stays in force.
func (r *receiver) watch(until time.Time) {
	_ = r.tcp.SetReadDeadline(until)
	if r.watched = !until.IsZero(); r.ended.Load() {
		_ = r.tcp.SetReadDeadline(time.Unix(1, 0))
	}
}

// end ends the reading, a read that waits too. It comes before the connection is closed, which waits for that.
func (r *receiver) end() {
	r.ended.Store(true)
	_ = r.tcp.SetReadDeadline(time.Unix(1, 0))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
}

// receive yields each read, until there is nothing left but to wait, or nobody asks any more: then it returns true.
// [unix.Recvmsg] would allocate for an address that a connection does not have.
func (r *receiver) receive(fd uintptr, yield func(struct{}) bool) bool {
	for {
		r.msg.SetControllen(len(r.oob))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.msg)), 0) // it does not block
		if errno == unix.EAGAIN {
			return false
		}
		r.n, r.stamp, r.err = int(n), 0, nil
		more := true
		if errno != 0 {
			r.n, r.err = 0, errno
		} else {
			r.stamp, more = control(r.oob[:r.msg.Controllen])
		}
		if !yield(struct{}{}) {
			return true
		}
		if !more {
			if !r.watched {
				r.watch(time.Now().Add(resetTime))
			}
			return false
		}
	}
}

// control reads the control messages of a read: the kernel's receive stamp in Unix nanoseconds, 0 if there is none, and
// whether there is more to read, or the end, as far as is known.
func control(oob []byte) (stamp int64, more bool) {
	more = true
	for len(oob) > 0 {
		hdr, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		switch {
		case err != nil:
			return stamp, more
		case hdr.Level == unix.SOL_SOCKET && hdr.Type == unix.SO_TIMESTAMPING && len(data) >= 16: // the first of three timespecs
			stamp = int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
		case hdr.Level == unix.SOL_TCP && hdr.Type == unix.TCP_CM_INQ && len(data) >= 4:
			more = binary.NativeEndian.Uint32(data) > 0
		}
		oob = rest
	}
	return stamp, more
}
