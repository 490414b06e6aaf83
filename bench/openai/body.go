package openai

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// bufferSize is that of the transport's own buffer: more would hardly be filled.
	bufferSize = 4 << 10
	// drainTime and drainSize bound how long a finished response is read on for its
	// end, so that its connection can serve the next request.
	drainTime = 100 * time.Millisecond
	drainSize = 64 << 10
)

// body is the part of an exchange that reads the stream. It is guarded by the
// exchange's mutex.
type body struct {
	stream  *stream
	buf     []byte
	reading bool // a read into buf is under way, and buf is zero from fed on
	fed     int  // bytes of buf that the stream has
	settled bool // the stream said itself that it is over
	idle    *time.Timer
	drain   *time.Timer
}

// readStream reads a response into s until either is over, and returns the failure if
// the stream did not end as it should.
func (x *exchange) readStream(from io.Reader, s *stream, decoded bool) *Failure {
	x.mu.Lock()
	x.body.stream, x.body.buf = s, make([]byte, bufferSize)
	x.mu.Unlock()
	for {
		x.beginRead(!decoded)
		n, err := from.Read(x.body.buf)
		over := x.endRead(n)
		switch {
		case over && err == nil && s.failure == nil && x.client.keepAlive:
			_, _ = io.CopyN(io.Discard, from, drainSize)
			return nil
		case over:
			return x.streamFailure(s)
		case err != nil:
			return x.endOfBody(s, err)
		}
	}
}

// beginRead lets beforeRead look into the buffer of a read, if it is watched.
func (x *exchange) beginRead(watched bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.body.reading, x.body.fed = watched, 0
}

// endRead gives the stream what a read brought and beforeRead has not given it.
func (x *exchange) endRead(n int) (over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := &x.body
	b.reading = false
	if n > b.fed {
		x.feed(b.buf[b.fed:n])
	}
	clear(b.buf[:max(n, b.fed)])
	return b.stream.over
}

// beforeRead is called when the connection is about to wait for more bytes. What the
// body's Read has put into buf so far is given to the stream, with the instant at which
// that arrived: it ends where the zeros begin, as no JSON text holds a zero byte.
func (x *exchange) beforeRead() {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := &x.body
	if !b.reading {
		return
	}
	fresh := b.buf[b.fed:]
	if n := bytes.IndexByte(fresh, 0); n >= 0 {
		fresh = fresh[:n]
	}
	b.fed += len(fresh)
	x.feed(fresh)
}

// feed hands bytes to the stream and looks after the timers.
func (x *exchange) feed(p []byte) {
	b := &x.body
	if b.stream.over || len(p) == 0 {
		return
	}
	chunks := len(b.stream.trace.Chunks)
	b.stream.feed(p, x.last)
	if len(b.stream.trace.Chunks) > chunks && x.idle > 0 {
		if b.idle == nil {
			b.idle = time.AfterFunc(x.idle, func() { x.cancel(errStalled) })
		} else {
			b.idle.Reset(x.idle)
		}
	}
	if !b.stream.over {
		return
	}
	b.settled, x.trace.End = true, time.Since(x.started)
	if b.stream.failure == nil && x.client.keepAlive {
		b.drain = time.AfterFunc(drainTime, func() { x.cancel(errOver) })
	} else {
		x.cancel(errOver) // a read that waits for more must not
	}
}

// endOfBody says how a stream ended that did not say so itself.
func (x *exchange) endOfBody(s *stream, err error) *Failure {
	clean := errors.Is(err, io.EOF)
	if f := x.expired(); f != nil && !clean {
		return f
	}
	x.mu.Lock()
	switch {
	case clean:
		s.close(true)
	case isTLSError(err):
		s.fail(ReasonTLS, err.Error())
	case isCut(err):
		s.close(false)
	default:
		s.fail(ReasonProtocol, err.Error())
	}
	x.mu.Unlock()
	return x.streamFailure(s)
}

// streamFailure is the stream's failure, fit to be shown, or nil.
func (x *exchange) streamFailure(s *stream) *Failure {
	if s.failure == nil {
		return nil
	}
	return x.failure(s.failure.Reason, s.failure.Detail)
}

// decodedBody is the body without its content encoding. A gzip body is decoded although
// it was not asked for: some gateways send it anyway.
func decodedBody(resp *http.Response) (_ io.Reader, decoded bool, _ error) {
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return resp.Body, false, nil
	case "gzip", "x-gzip":
		body, err := gzip.NewReader(io.LimitReader(resp.Body, maxBody))
		return body, true, err
	default:
		return nil, false, fmt.Errorf("content encoding is %.20q, neither gzip nor identity", encoding)
	}
}
