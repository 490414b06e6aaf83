package openai

import (
	"bytes"
	"time"
)

// instant is when bytes arrived, since the request started.
type instant struct {
	user    time.Duration // when the read that brought them returned
	kernel  time.Duration // when the kernel had them, if stamped
	stamped bool          // the kernel has stamped them
}

// stream turns a response's events into the part of a Trace that comes from them. It knows
// no clock and no network: events and instants in, chunks out.
type stream struct {
	trace *Trace  // with the user's instants until finish
	at    instant // of the event in hand

	latest                    instant // no event is earlier: instants never go backwards
	unstamped                 bool    // an event came without a kernel stamp
	kernelFirst, kernelAnswer time.Duration
	kernel                    []time.Duration // the kernel's instant of each chunk

	answered   bool  // the trace has its first answer
	continuous bool  // a running usage was there
	running    bool  // the last usage was a running one
	lastTokens int32 // completion tokens with the chunk before, noCount if none
	fresh      int32 // token ids since the chunk before
}

// room is made for so many chunks before any came: most benchmarks ask for about as many.
const room = 128

func newStream(t *Trace) *stream {
	t.Chunks = make([]Chunk, 0, room)
	return &stream{trace: t, kernel: make([]time.Duration, 0, room)}
}

// checkEnd returns the failure of a stream that ended without [DONE], nil for none.
func (s *stream) checkEnd() *Failure {
	switch {
	case s.empty():
		return s.emptyFailure("the stream ended without any text")
	case s.trace.Finish == "":
		return &Failure{Reason: ReasonTruncated, Detail: "the stream ended without [DONE] and without a finish_reason"}
	}
	return nil
}

// empty reports whether there is no token: no text, and none that the server counted.
// Tokens without text are an answer, although nobody can read it.
func (s *stream) empty() bool {
	return len(s.trace.Chunks) == 0 && s.completionTokens() == 0 && s.trace.TokenIDs == 0
}

// completionTokens is what the usage says so far.
func (s *stream) completionTokens() int {
	if s.trace.Usage == nil {
		return 0
	}
	return s.trace.Usage.CompletionTokens
}

func (s *stream) emptyFailure(what string) *Failure {
	switch {
	case s.trace.Usage != nil:
		what += ", and the server counted no token"
	case s.trace.Events > 0:
		what += ", and the server sent no usage"
	}
	return &Failure{Reason: ReasonEmpty, Detail: what}
}

// event takes one event's data, and returns a failure where it is one. The stream is over
// after that, and after [DONE].
func (s *stream) event(data []byte) *Failure {
	s.note()
	if isDone(data) {
		s.trace.Done = true
		if s.empty() {
			return s.emptyFailure("[DONE] without any text")
		}
		return nil
	}
	ev, ok := parseEvent(data)
	if !ok {
		return protocolFailure("not a JSON object: %s", data)
	}
	if ev.failed {
		return &Failure{Reason: ReasonStreamError, Detail: string(data)}
	}
	s.trace.TokenIDs += int(ev.ids)
	s.fresh += ev.ids
	switch {
	case ev.answer || ev.reasoning:
		s.addChunk(&ev)
	case s.bringsTokens(&ev):
		s.trace.Textless++
	}
	s.addUsage(&ev)
	if ev.finish != "" {
		s.trace.Finish = Excerpt(ev.finish)
	}
	return nil
}

// note counts an event and moves the clocks on.
func (s *stream) note() {
	s.latest.user = max(s.latest.user, s.at.user)
	s.latest.kernel = max(s.latest.kernel, s.at.kernel)
	s.unstamped = s.unstamped || !s.at.stamped
	if s.trace.Events == 0 {
		s.trace.FirstEvent, s.kernelFirst = s.latest.user, s.latest.kernel
	}
	s.trace.Events++
}

func (s *stream) addChunk(ev *event) {
	c := Chunk{At: s.latest.user, Reasoning: !ev.answer, Tokens: s.fresh}
	if s.lastTokens != noCount && ev.completion > s.lastTokens {
		c.Tokens = ev.completion - s.lastTokens
	}
	s.lastTokens, s.fresh = ev.completion, 0
	s.trace.Chunks = append(s.trace.Chunks, c)
	s.kernel = append(s.kernel, s.latest.kernel)
	if ev.answer && !s.answered {
		s.answered, s.trace.FirstAnswer, s.kernelAnswer = true, s.latest.user, s.latest.kernel
	}
}

// bringsTokens reports whether an event without text brought tokens all the same. Its
// token ids show it, or a running usage that has grown: the usage that comes first
// beside a finish_reason is the whole answer's.
func (s *stream) bringsTokens(ev *event) bool {
	grown := ev.choice && s.lastTokens != noCount && int(ev.completion) > s.completionTokens()
	return ev.ids > 0 || grown && (s.continuous || ev.finish == "")
}

// addUsage keeps the last number of each kind. A usage beside a choice and before any
// finish_reason is a running one.
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
		s.running = ev.choice && ev.finish == "" && s.trace.Finish == ""
		s.continuous = s.continuous || s.running
	}
	if ev.prompt != noCount {
		u.PromptTokens = int(ev.prompt)
	}
	if ev.cached != noCount {
		u.CachedTokens = new(int(ev.cached))
	}
}

// finish says which clock and which source of tokens the trace has.
func (s *stream) finish() {
	t := s.trace
	t.Clock = ClockUser
	if t.Events > 0 && !s.unstamped {
		t.Clock, t.FirstEvent, t.FirstAnswer = ClockKernel, s.kernelFirst, s.kernelAnswer
		for i := range t.Chunks {
			t.Chunks[i].At = s.kernel[i]
		}
	}
	switch {
	case s.completionTokens() == 0:
		_, t.TokenSource = tokensSeen(t)
	case s.running:
		t.TokenSource = TokensContinuous
	default:
		t.TokenSource = TokensUsage
	}
}

func isDone(data []byte) bool { return bytes.Equal(data, []byte("[DONE]")) }
