package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fineTimer is a timer of the kernel's, timerfd_create(2). Go waits for it as for
// a socket, so that it holds up no other goroutine.
type fineTimer struct{ file *os.File }

// newFineTimer makes one that is as coarse as Go's timers when the kernel has
// none left.
func newFineTimer() fineTimer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fineTimer{}
	}
	return fineTimer{os.NewFile(uintptr(fd), "timerfd")}
}

// sleep takes d, or a little less.
func (t fineTimer) sleep(d time.Duration) {
	if t.file == nil || !t.expire(d) {
		time.Sleep(d)
	}
}

// expire waits for the timer, set to d, and reports whether it has expired.
func (t fineTimer) expire(d time.Duration) bool {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return false
	}
	set := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.TimerfdSettime(int(fd), 0, &set, nil) }); err != nil || failed != nil {
		return false
	}
	var expirations [8]byte
	_, err = t.file.Read(expirations[:])
	return err == nil
}

func (t fineTimer) close() {
	if t.file != nil {
		t.file.Close()
	}
}
