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

// stream turns a response's events into their part of a Trace. It knows no clock and no network.
type stream struct {
	trace      *Trace
	at         time.Duration // when the event in hand arrived; instants never go backwards
	pattern    pattern
	lastTokens int32  // completion tokens with the chunk before, noCount if none
	firstText  func() // see [Request.FirstText]
	keepAnswer bool
	answer     strings.Builder
	reasoning  strings.Builder
}

const endMark = "[DONE]" // data of a stream's last event

// brokenFinishes are finish_reasons of answers that engines gave up.
var brokenFinishes = []string{"abort", "error", "parse_error", "recover_stop"}

// end returns the failure of a stream that has ended. Tokens without text are an answer.
func (s *stream) end() *Failure {
	tokens, _ := OutputTokens(s.trace)
	switch {
	case tokens == 0:
		return newFailure(ReasonEmpty, "the stream ended without any text")
	case !s.trace.Done && s.trace.Finish == "":
		return newFailure(ReasonTruncated, "the stream ended without [DONE] and without a finish_reason")
	}
	return nil
}

// add adds an event. The stream has ended after a failure, and after [DONE].
func (s *stream) add(e sseEvent) *Failure {
	if s.trace.Events == 0 {
		s.trace.FirstEvent = s.at
	}
	s.trace.Events++
	if string(e.data) == endMark {
		s.trace.Done = true
		return s.end()
	}
	ev, ok := s.pattern.parse(e.data)
	// Without text, one between the first text and the finish is a token too, unless a running usage says otherwise.
	isToken := ev.delta && ev.finish == "" && s.trace.Finish == "" && len(s.trace.Chunks) > 0 && (ev.tokens == noCount || ev.tokens > s.lastTokens)
	switch {
	case e.isError, ev.failed:
		return &Failure{Reason: ReasonStreamError, Detail: errorMessage(e.data)}
	case !ok:
		return newFailure(ReasonProtocol, "not a JSON object: %s", e.data)
	case ev.texts > 0, isToken:
		s.addChunk(&ev)
	}
	if ev.usage.IsObject() {
		s.addUsage(ev.usage)
	}
	if ev.finish != "" && !slices.Contains(brokenFinishes, s.trace.Finish) {
		s.trace.Finish = ev.finish
	}
	return nil
}

func (s *stream) addChunk(ev *event) {
	c := Chunk{At: s.at, Reasoning: !ev.answer, Textless: ev.texts == 0}
	if c.Textless {
		c.Reasoning = s.trace.Chunks[len(s.trace.Chunks)-1].Reasoning
	}
	if s.lastTokens != noCount && ev.tokens > s.lastTokens {
		c.Tokens = ev.tokens - s.lastTokens
	}
	s.lastTokens = ev.tokens
	if len(s.trace.Chunks) == 0 && s.firstText != nil {
		s.firstText()
	}
	s.trace.Chunks = append(s.trace.Chunks, c)
	s.trace.Merged += max(0, ev.texts-1)
	if s.keepAnswer {
		s.answer.WriteString(ev.content)
		s.reasoning.WriteString(ev.reasoning)
	}
}

// addUsage keeps the last number of each kind.
func (s *stream) addUsage(usage gjson.Result) {
	if s.trace.Usage == nil {
		s.trace.Usage = new(Usage)
	}
	u := s.trace.Usage
	keep := func(number *int, path string) {
		if n := tokenCount(usage.Get(path)); n != noCount {
			*number = int(n)
		}
	}
	keep(&u.PromptTokens, "prompt_tokens")
	keep(&u.CompletionTokens, "completion_tokens")
	keep(&u.ReasoningTokens, "completion_tokens_details.reasoning_tokens")
	if n := tokenCount(usage.Get("prompt_tokens_details.cached_tokens")); n != noCount {
		u.CachedTokens = new(int(n))
	}
}

// readStream reads a response's body into s. It returns why the stream did not end as it should.
func (x *exchange) readStream(body io.Reader, s *stream) *Failure {
	idle := time.AfterFunc(math.MaxInt64, func() { x.cancel(errStalled) }) // set by the first text
	defer idle.Stop()
	events := newEventReader(body)
	for {
		event, err := events.next()
		// The event ends in the latest bytes: the reader gives out what is whole before it asks for more.
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
		if n := len(s.trace.Chunks); n > chunks && !s.trace.Chunks[n-1].Textless && x.idle > 0 {
			idle.Reset(x.idle)
		}
	}
}

// endOfStream returns the failure of a stream that ended with an error and without an end mark; event has begun.
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
		broken, writer := io.Pipe()
		_ = writer.CloseWithError(err) // which every read returns
		return broken
	}
	return zipped
}
