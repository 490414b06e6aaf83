package openai

import (
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// readStream reads a response's body into s, and returns the failure if the stream did not
// end as it should. Nothing that follows mends an answer that the engine gave up.
func (x *exchange) readStream(body io.Reader, s *stream) *Failure {
	failure := x.readEvents(body, s)
	if slices.Contains(brokenFinishes, s.trace.Finish) && (failure == nil || failure.Reason != ReasonStreamError) {
		return newFailure(ReasonStreamError, "finish_reason %s", s.trace.Finish)
	}
	return failure
}

func (x *exchange) readEvents(body io.Reader, s *stream) *Failure {
	idle := time.AfterFunc(math.MaxInt64, func() { x.cancel(errStalled) }) // set by the first text
	defer idle.Stop()
	events := newEventReader(body)
	for {
		event, err := events.next()
		// The event ends in the latest bytes: the reader asks for more when it has given out
		// what is whole.
		x.mu.Lock()
		s.at = x.last
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
	if event.isError || isDone(event.data) || gjson.ValidBytes(event.data) { // but for its blank line it is whole
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
func decodedBody(resp *http.Response) (io.Reader, error) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp.Body, nil
	}
	return gzip.NewReader(resp.Body)
}
