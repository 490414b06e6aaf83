package openai

import (
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

const (
	// drainTime and drainSize bound how long a finished response is read on for its end.
	drainTime = 100 * time.Millisecond
	drainSize = 64 << 10
)

// readStream reads a response's body into s, and returns the failure if the stream did not
// end as it should.
func (x *exchange) readStream(body io.Reader, s *stream) *Failure {
	idle := time.AfterFunc(math.MaxInt64, func() { x.cancel(errStalled) }) // set by the first text
	defer idle.Stop()
	events := newEventReader(body)
	for {
		data, err := events.next()
		s.at = x.arrived()
		if err != nil {
			return x.endOfStream(s, data, err)
		}
		chunks := len(s.trace.Chunks)
		if failure := s.event(data); failure != nil || s.trace.Done {
			return x.redacted(failure)
		}
		if len(s.trace.Chunks) > chunks && x.idle > 0 {
			idle.Reset(x.idle)
		}
	}
}

// endOfStream says how a stream ended that did not say so itself: with what error, and with
// which data of an event that has begun.
func (x *exchange) endOfStream(s *stream, data []byte, err error) *Failure {
	clean := errors.Is(err, io.EOF)
	if f := x.expired(); f != nil && !clean {
		return f
	}
	if len(data) > 0 && (isDone(data) || gjson.ValidBytes(data)) { // but for its blank line it is whole
		if failure := s.event(data); failure != nil || s.trace.Done {
			return x.redacted(failure)
		}
		data = nil
	}
	failure, ok := errors.AsType[*Failure](err)
	switch {
	case clean && len(data) == 0:
		return x.redacted(s.end())
	case clean:
		return x.failure(ReasonTruncated, "the stream ended inside an event")
	case ok:
		return x.redacted(failure)
	}
	return x.failure(errorReason(err, ReasonTruncated), err.Error())
}

// drain reads a finished response to its end, so that its connection can be kept.
func (x *exchange) drain(body io.Reader) {
	stop := time.AfterFunc(drainTime, func() { x.cancel(errOver) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, body, drainSize)
}

// decodedBody is the body unzipped: some gateways zip it although that was not asked for.
func decodedBody(resp *http.Response) (io.Reader, error) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp.Body, nil
	}
	return gzip.NewReader(resp.Body)
}
