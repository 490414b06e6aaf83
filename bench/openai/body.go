package openai

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

const (
	// bufferSize is that of the transport's own buffer: more would hardly be filled.
	bufferSize = 4 << 10
	// drainTime and drainSize bound how long a finished response is read on for its
	// end, so that its connection can serve the next request.
	drainTime = 100 * time.Millisecond
	drainSize = 64 << 10
)

// arrival says when the bytes of a body up to end were there.
type arrival struct {
	end int
	at  instant
}

// readStream reads a response's body into s, and returns the failure if the stream did not
// end as it should.
func (x *exchange) readStream(body io.Reader, s *stream) *Failure {
	x.body = body
	events := newEventReader(x)
	for {
		data, err := events.next()
		s.at = x.arrived(events.end)
		if err != nil {
			return x.endOfStream(s, data, err)
		}
		chunks := len(s.trace.Chunks)
		if failure := s.event(data); failure != nil || s.trace.Done {
			return x.shown(failure)
		}
		if len(s.trace.Chunks) > chunks && x.idle > 0 {
			x.resetIdle()
		}
	}
}

// Read reads the body. The transport may read the connection several times for that, and
// wait in between: beforeRead sees what has come so far.
func (x *exchange) Read(p []byte) (int, error) {
	if x.size > maxBody {
		return 0, protocolFailure("a body of more than %d bytes", maxBody)
	}
	p = p[:min(len(p), bufferSize)]
	clear(p)
	x.mu.Lock()
	x.buf = p
	x.mu.Unlock()
	n, err := x.body.Read(p)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.buf = nil
	x.size += n
	x.arrivals = append(x.arrivals, arrival{x.size, x.last})
	return n, err
}

// beforeRead is called when the connection is about to wait for more bytes. What the
// body's Read has put into buf so far ends where the zeros begin, as no JSON text holds a
// zero byte.
func (x *exchange) beforeRead() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := bytes.IndexByte(x.buf, 0); n > 0 {
		x.arrivals = append(x.arrivals, arrival{x.size + n, x.last})
	}
}

// arrived is the instant at which the body's bytes up to end were there.
func (x *exchange) arrived(end int) instant {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := 0
	for i < len(x.arrivals)-1 && x.arrivals[i].end < end {
		i++
	}
	x.arrivals = slices.Delete(x.arrivals, 0, i)
	return x.arrivals[0].at
}

// resetIdle starts the idle timeout anew.
func (x *exchange) resetIdle() {
	if x.idleTimer == nil {
		x.idleTimer = time.AfterFunc(x.idle, func() { x.cancel(errStalled) })
		return
	}
	x.idleTimer.Reset(x.idle)
}

// endOfStream says how a stream ended that did not say so itself: with what error, and with
// which data of an event that has begun.
func (x *exchange) endOfStream(s *stream, data []byte, err error) *Failure {
	clean := errors.Is(err, io.EOF)
	if f := x.expired(); f != nil && !clean {
		return f
	}
	if len(data) > 0 && (isDone(data) || gjson.ValidBytes(data)) {
		if failure := s.event(data); failure != nil || s.trace.Done {
			return x.shown(failure)
		}
		data = nil
	}
	if clean && len(data) == 0 {
		return x.shown(s.checkEnd())
	}
	if failure, ok := errors.AsType[*Failure](err); ok {
		return x.shown(failure)
	}
	if reason := errorReason(err, ReasonTruncated); reason != ReasonTruncated {
		return x.failure(reason, err.Error())
	}
	return x.failure(ReasonTruncated, "the stream was cut")
}

// drain reads a finished response to its end, so that its connection can be kept.
func (x *exchange) drain(body io.Reader) {
	stop := time.AfterFunc(drainTime, func() { x.cancel(errOver) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, body, drainSize)
}

// decodedBody is the body without its content encoding. A gzip body is decoded although
// it was not asked for: some gateways send it anyway.
func decodedBody(resp *http.Response) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(resp.Body)
	default:
		return nil, fmt.Errorf("content encoding is %.20q, neither gzip nor identity", encoding)
	}
}
