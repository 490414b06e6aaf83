package command

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"
)

// capture reads one stream of a child from a pipe, up to a limit.
type capture struct {
	name  string
	limit int
	pipe  *os.File
	flood chan<- struct{}
	ask   func(out []byte) bool // whether this is enough, asked until it is; nil for never
	done  chan struct{}

	// Valid when done is closed.
	buf    []byte
	over   bool // more than limit was printed
	enough bool // ask said so
}

// newCapture starts reading and returns the end that the child writes to.
func newCapture(name string, limit int, flood chan<- struct{}, ask func([]byte) bool) (*capture, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	c := &capture{
		name: name, limit: limit, pipe: r, flood: flood, ask: ask,
		done: make(chan struct{}), buf: make([]byte, 0, 4096),
	}
	go c.read()
	return c, w, nil
}

func (c *capture) read() {
	defer close(c.done)
	for len(c.buf) <= c.limit {
		n, err := c.pipe.Read(c.space())
		c.buf = c.buf[:len(c.buf)+n]
		if n > 0 && !c.enough && c.ask != nil {
			c.enough = c.ask(c.buf)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.readRest()
			break
		}
		if err != nil {
			break
		}
	}
	if len(c.buf) > c.limit {
		c.buf, c.over = c.buf[:c.limit], true
		select {
		case c.flood <- struct{}{}:
		default:
		}
	}
}

// space returns room for the next bytes, which ends one byte over the limit so
// that too much is told from just enough.
func (c *capture) space() []byte {
	c.buf = slices.Grow(c.buf, 1)
	return c.buf[len(c.buf):min(cap(c.buf), c.limit+1)]
}

// readRest takes what lies in the pipe without waiting for more: on a loaded
// machine the deadline may pass before this goroutine got to read at all.
func (c *capture) readRest() {
	if c.pipe.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := c.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		for len(c.buf) <= c.limit {
			n, err := syscall.Read(int(fd), c.space())
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil || n == 0 {
				break // nothing there now, or its end
			}
			c.buf = c.buf[:len(c.buf)+n]
		}
		return true
	})
}

// finish lets the reading go on for d at most, and closes the pipe.
func (c *capture) finish(d time.Duration) {
	if err := c.pipe.SetReadDeadline(time.Now().Add(d)); err == nil {
		<-c.done
	}
	c.pipe.Close()
	<-c.done
}
