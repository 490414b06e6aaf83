package openai

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prepareBurst readies the kernel for many connections. It makes the table of open files large: to grow it meanwhile, at
// each power of two, would stop a processor of this program for up to 80 ms. And it holds a socket that wants stamps, for
// the kernel begins to stamp some time after the first does, and until then takes the time of the read.
var prepareBurst = sync.OnceFunc(func() {
	const files = 16 << 10
	var limit unix.Rlimit
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	setStamps(uintptr(socket))
	if high, err := unix.FcntlInt(uintptr(socket), unix.F_DUPFD_CLOEXEC, int(min(files, limit.Cur))-1); err == nil {
		_ = unix.Close(high)
	}
})

func setStamps(socket uintptr) {
	_ = unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
		unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
}

// wantStamps asks the kernel to stamp what a new socket receives. One that refuses costs only the stamps.
func wantStamps(_, _ string, rc syscall.RawConn) error {
	_ = rc.Control(setStamps)
	return nil
}

// receiver reads a TCP connection together with the kernel's stamp.
type receiver struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // r.try, bound once so that a read allocates nothing

	// What one read needs and gives, see try.
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
	r := &receiver{raw: raw}
	r.once = r.try
	r.msg.Iov, r.msg.Control = &r.iov, &r.oob[0]
	r.msg.SetIovlen(1)
	return r
}

// read is like net.Conn's, with the Unix nanoseconds at which the kernel received the last
// of the bytes, 0 if it does not say.
func (r *receiver) read(p []byte) (n int, stamp int64, err error) {
	r.iov.Base = unsafe.SliceData(p)
	r.iov.SetLen(len(p))
	err = r.raw.Read(r.once)
	r.iov.Base = nil
	switch {
	case err != nil:
		return 0, 0, err
	case r.err != nil:
		return 0, 0, os.NewSyscallError("recvmsg", r.err)
	case r.n == 0:
		return 0, 0, io.EOF
	}
	return r.n, r.stamp, nil
}

// try makes one attempt, and reports whether there was something to read. [unix.Recvmsg]
// would allocate for an address that a connection does not have.
func (r *receiver) try(fd uintptr) bool {
	r.msg.SetControllen(len(r.oob))
	// Raw: it does not block, so the scheduler need not know.
	n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.msg)), 0)
	switch errno {
	case unix.EAGAIN:
		return false
	case 0:
		r.n, r.stamp, r.err = int(n), softwareStamp(r.oob[:r.msg.Controllen]), nil
	default:
		r.n, r.stamp, r.err = 0, 0, errno
	}
	return true
}

// softwareStamp is the kernel's receive stamp in a read's control message, in Unix nanoseconds,
// 0 if there is none. It is the first of three timespecs.
func softwareStamp(oob []byte) int64 {
	const size = 16
	if len(oob) == 0 {
		return 0
	}
	hdr, data, _, err := unix.ParseOneSocketControlMessage(oob)
	if err != nil || hdr.Level != unix.SOL_SOCKET || hdr.Type != unix.SO_TIMESTAMPING || len(data) != 3*size {
		return 0
	}
	sec, nsec := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	return int64(sec)*1e9 + int64(nsec)
}
