package openai

import (
	"bytes"
	"time"
)

// stream turns a response's events into the part of a Trace that comes from them. It knows
// no clock and no network: events and instants in, chunks out.
type stream struct {
	trace      *Trace
	at         time.Duration // when the event in hand arrived, since the request started
	latest     time.Duration // no event is earlier: instants never go backwards
	lastTokens int32         // completion tokens with the chunk before, noCount if none
}

// end returns the failure of a stream that is over, nil for none. Tokens without text are
// an answer, although nobody can read it.
func (s *stream) end() *Failure {
	tokens, _ := OutputTokens(s.trace)
	switch {
	case tokens == 0:
		return &Failure{Reason: ReasonEmpty, Detail: "the stream ended without any text"}
	case !s.trace.Done && s.trace.Finish == "":
		return &Failure{Reason: ReasonTruncated, Detail: "the stream ended without [DONE] and without a finish_reason"}
	}
	return nil
}

// event takes one event's data, and returns a failure where it is one. The stream is over
// after that, and after [DONE].
func (s *stream) event(data []byte) *Failure {
	s.note()
	if isDone(data) {
		s.trace.Done = true
		return s.end()
	}
	ev, ok := parseEvent(data)
	switch {
	case !ok:
		return protocolFailure("not a JSON object: %s", data)
	case ev.failed:
		return &Failure{Reason: ReasonStreamError, Detail: string(data)}
	case ev.answer || ev.reasoning:
		s.addChunk(&ev)
	case ev.choice && s.trace.Usage != nil && int(ev.completion) > s.trace.Usage.CompletionTokens:
		s.trace.Textless++ // the running usage has grown
	}
	s.addUsage(&ev)
	if ev.finish != "" {
		s.trace.Finish = Excerpt(ev.finish)
	}
	return nil
}

// note counts an event and moves the clock on.
func (s *stream) note() {
	s.latest = max(s.latest, s.at)
	if s.trace.Events == 0 {
		s.trace.FirstEvent = s.latest
	}
	s.trace.Events++
}

func (s *stream) addChunk(ev *event) {
	c := Chunk{At: s.latest, Reasoning: !ev.answer}
	if s.lastTokens != noCount && ev.completion > s.lastTokens {
		c.Tokens = ev.completion - s.lastTokens
	}
	s.lastTokens = ev.completion
	s.trace.Chunks = append(s.trace.Chunks, c)
}

// addUsage keeps the last number of each kind.
func (s *stream) addUsage(ev *event) {
	if ev.completion == noCount && ev.prompt == noCount && ev.cached == noCount {
		return
	}
	if s.trace.Usage == nil {
		s.trace.Usage = new(Usage)
	}
	u := s.trace.Usage
	if ev.completion != noCount {
		u.CompletionTokens = int(ev.completion)
	}
	if ev.prompt != noCount {
		u.PromptTokens = int(ev.prompt)
	}
	if ev.cached != noCount {
		u.CachedTokens = new(int(ev.cached))
	}
}

func isDone(data []byte) bool { return bytes.Equal(data, []byte("[DONE]")) }
