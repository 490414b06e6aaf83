package fakevllm

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"time"
	"unicode/utf8"
)

// wire writes server-sent events, in the shape that a fault gives them.
type wire struct {
	fault Fault
	pause func(time.Duration) bool // false when nobody waits any more
	out   io.Writer
	zip   *gzip.Writer
	rc    *http.ResponseController
	buf   []byte
	held  int
	err   error // the first failed write
}

const (
	mergedEvents = 10                   // events of one write under FaultMerged
	splitPause   = 2 * time.Millisecond // keeps two writes from being read as one
)

// newWire sends the header of an event stream.
func newWire(w http.ResponseWriter, fault Fault, pause func(time.Duration) bool) *wire {
	o := &wire{fault: fault, pause: pause, out: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if fault == FaultGzip {
		w.Header().Set("Content-Encoding", "gzip")
		o.zip = gzip.NewWriter(w)
		o.out = o.zip
	}
	w.WriteHeader(http.StatusOK)
	o.err = o.rc.Flush()
	return o
}

// event adds one event.
func (o *wire) event(data []byte) {
	end := "\n\n"
	if o.fault == FaultCRLF {
		end = "\r\n\r\n"
	}
	o.buf = append(append(append(o.buf, "data: "...), data...), end...)
	o.held++
	if o.fault == FaultSplit {
		o.flush()
	}
}

// raw adds bytes that are no event.
func (o *wire) raw(text string) { o.buf = append(o.buf, text...) }

// send writes what has been added, under FaultMerged only when it is enough.
func (o *wire) send() {
	if o.fault != FaultMerged || o.held >= mergedEvents {
		o.flush()
	}
}

func (o *wire) flush() {
	rest := o.buf
	if at := insideRune(rest); o.fault == FaultSplit && at > 0 {
		o.write(rest[:at])
		if o.err != nil || !o.pause(splitPause) {
			return
		}
		rest = rest[at:]
	}
	o.write(rest)
	o.buf, o.held = o.buf[:0], 0
}

func (o *wire) write(b []byte) {
	if o.err != nil || len(b) == 0 {
		return
	}
	if _, o.err = o.out.Write(b); o.err == nil && o.zip != nil {
		o.err = o.zip.Flush()
	}
	if o.err == nil {
		o.err = o.rc.Flush()
	}
}

// finish writes what is left.
func (o *wire) finish() {
	o.flush()
	if o.zip != nil && o.err == nil {
		o.err = o.zip.Close()
	}
}

// insideRune returns an offset within the first character of several bytes, or
// the middle.
func insideRune(b []byte) int {
	for i, c := range b {
		if c >= utf8.RuneSelf && i+1 < len(b) {
			return i + 1
		}
	}
	return len(b) / 2
}

// reset takes the connection from the HTTP server and resets it.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the next best
	}
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn() // TLS: no goodbye
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // what is left is a plain close
	}
	_ = conn.Close()
}
