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

// readStream reads a response's body into s, and returns the failure if the stream did not
// end as it should.
func (x *exchange) readStream(body io.Reader, s *stream) *Failure {
	idle := time.AfterFunc(math.MaxInt64, func() { x.cancel(errStalled) }) // set by the first text
	defer idle.Stop()
	events := newEventReader(body)
	for {
		event, err := events.next()
		// The event ends in the latest bytes: the reader asks for more when it has given out
		// what is whole.
		x.mu.Lock()
		s.at = max(s.at, x.last)
		x.mu.Unlock()
		if err != nil {
			return x.endOfStream(s, event, err)
		}
		chunks := len(s.trace.Chunks)
		if failure := s.add(event); failure != nil || s.trace.Done {
			return failure
		}
		if len(s.trace.Chunks) > chunks && x.idle > 0 {
			idle.Reset(x.idle)
		}
	}
}

// endOfStream says how a stream ended that did not say so itself: with what error, and with
// which event that has begun.
func (x *exchange) endOfStream(s *stream, event sseEvent, err error) *Failure {
	clean := errors.Is(err, io.EOF)
	if f := x.expired(); f != nil && !clean {
		return f
	}
	if event.isError || string(event.data) == endMark || gjson.ValidBytes(event.data) { // but for its blank line it is whole
		if failure := s.add(event); failure != nil || s.trace.Done {
			return failure
		}
		event.data = nil
	}
	failure, ok := errors.AsType[*Failure](err)
	switch {
	case clean && len(event.data) == 0:
		return s.end()
	case clean:
		return newFailure(ReasonTruncated, "the stream ended inside an event")
	case ok:
		return failure
	}
	return newFailure(errorReason(err, ReasonTruncated), "%v", err)
}

// decodedBody is the body unzipped: some gateways zip it although that was not asked for.
func decodedBody(resp *http.Response) io.Reader {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp.Body
	}
	zipped, err := gzip.NewReader(resp.Body)
	if err != nil {
		return unreadable{err}
	}
	return zipped
}

// unreadable is a body that cannot be read.
type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }
