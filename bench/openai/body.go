package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/gunzip"
)

const (
	// bufferSize is that of the transport's own buffer: more would hardly be
	// filled, and there is one for each of thousands of streams.
	bufferSize = 4 << 10
	// drainTime and drainSize bound how long a finished response is read on
	// for its end, so that its connection can serve the next request.
	drainTime = 100 * time.Millisecond
	drainSize = 64 << 10
)

// bodyState is the part of an exchange that reads the stream. It is guarded by
// the exchange's mutex.
type bodyState struct {
	stream  *stream
	buf     *[bufferSize]byte
	reading bool // a read into buf is under way, and buf is zero from fed on
	fed     int  // bytes of buf that the stream has
	chunks  int  // of the stream, when lastText was set
	// lastText is when text came last, by this program's clock.
	lastText time.Duration
	settled  bool          // the stream said itself that it is over
	end      time.Duration // when it did
	idle     *time.Timer
	drain    *time.Timer
}

// readStream reads a response into s until either is over, and returns the
// failure if the stream did not end as it should.
func (x *exchange) readStream(body io.Reader, s *stream, decoded bool) *Failure {
	x.mu.Lock()
	x.body.stream, x.body.buf = s, x.client.buffer()
	x.mu.Unlock()
	for {
		x.beginRead(!decoded)
		n, err := body.Read(x.body.buf[:])
		over := x.endRead(n)
		if over && err == nil && s.failure == nil && x.client.keepAlive {
			_, _ = io.CopyN(io.Discard, body, drainSize)
		}
		if over {
			return x.streamFailure(s)
		}
		if err != nil {
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
// body's Read has put into buf so far is given to the stream: it ends where the zeros
// begin, as no JSON text holds a zero byte. It reports whether nobody wants more.
func (x *exchange) beforeRead() (abort bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := &x.body
	if !b.reading {
		return false
	}
	fresh := b.buf[b.fed:]
	if n := bytes.IndexByte(fresh, 0); n >= 0 {
		fresh = fresh[:n]
	}
	if len(fresh) > 0 {
		b.fed += len(fresh)
		x.feed(fresh)
	}
	// After a proper end the connection's own reader comes by here too, and
	// must be let through if the connection is to be kept.
	return b.stream.over && (b.stream.failure != nil || !x.client.keepAlive)
}

// feed hands bytes to the stream and looks after the timers.
func (x *exchange) feed(p []byte) {
	b := &x.body
	if b.stream.over {
		return
	}
	b.stream.feed(p, x.last)
	if n := len(b.stream.chunks); n > b.chunks {
		b.chunks, b.lastText = n, time.Since(x.started)
		if b.idle == nil && x.idle > 0 {
			b.idle = time.AfterFunc(x.idle, x.checkIdle)
		}
	}
	if !b.stream.over {
		return
	}
	b.settled, b.end = true, time.Since(x.started)
	if b.stream.failure == nil && x.client.keepAlive {
		b.drain = time.AfterFunc(x.client.drainTime, func() { x.cancel(errOver) })
	}
}

// checkIdle ends the request when no text came for too long. It is armed
// again rather than moved with every chunk.
func (x *exchange) checkIdle() {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := &x.body
	if b.stream == nil || b.stream.over {
		return
	}
	left := x.idle - (time.Since(x.started) - b.lastText)
	if left > 0 {
		b.idle.Reset(left)
		return
	}
	x.cancel(errStalled)
}

// endOfBody says how a stream ended that did not say so itself.
func (x *exchange) endOfBody(s *stream, err error) *Failure {
	clean := errors.Is(err, io.EOF)
	if !clean {
		if f := x.expired(); f != nil {
			return f
		}
	}
	x.mu.Lock()
	switch {
	case clean:
		s.close(true)
	case isTLSError(err):
		s.fail(&Failure{Reason: ReasonTLS, Detail: err.Error()})
	case isCut(err):
		s.close(false)
	default:
		s.fail(protocolFailure("%v", err))
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

// release stops the timers and gives the buffer back.
func (b *bodyState) release(c *Client) {
	for _, t := range []*time.Timer{b.idle, b.drain} {
		if t != nil {
			t.Stop()
		}
	}
	if b.buf != nil {
		c.buffers.Put(b.buf)
	}
	b.reading, b.buf = false, nil
}

// decodedBody is the body without its content encoding. A gzip body is decoded
// although it was not asked for: some gateways send it anyway.
func decodedBody(resp *http.Response) (_ io.Reader, decoded bool, _ error) {
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return resp.Body, false, nil
	case "gzip", "x-gzip":
		body, err := gunzip.NewReader(resp.Body)
		return body, true, err
	default:
		return nil, false, errors.New("content encoding is neither gzip nor identity")
	}
}
