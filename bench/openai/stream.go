package openai

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// instant is when bytes arrived, since the request started.
type instant struct {
	user    time.Duration // when the read that brought them returned
	kernel  time.Duration // when the kernel had them, if stamped
	stamped bool          // the kernel has stamped them
}

// stream turns a response body into the part of a Trace that comes from it. It knows no
// clock and no network: bytes and instants in, chunks out.
type stream struct {
	decoder
	trace *Trace  // with the user's instants until finish
	at    instant // of the bytes in hand

	latest                    instant // no event is earlier: instants never go backwards
	unstamped                 bool    // an event came without a kernel stamp
	kernelFirst, kernelAnswer time.Duration
	kernel                    []time.Duration // the kernel's instant of each chunk

	answered   bool  // the trace has its first answer
	continuous bool  // a running usage was there
	running    bool  // the last usage was a running one
	lastTokens int32 // completion tokens with the chunk before, noCount if none
	fresh      int32 // token ids since the chunk before

	over    bool // no more bytes are wanted
	failure *Failure
}

// room is made for so many chunks before any came: most benchmarks ask for about as many.
const room = 128

func newStream(t *Trace) *stream {
	t.Chunks = make([]Chunk, 0, room)
	s := &stream{trace: t, kernel: make([]time.Duration, 0, room)}
	s.decoder.event = s.event
	return s
}

// feed takes the next bytes and when the last of them arrived. After the
// stream is over it does nothing.
func (s *stream) feed(p []byte, at instant) {
	if s.over {
		return
	}
	s.at = at
	more, failure := s.write(p)
	if failure != nil {
		s.failure = failure
	}
	s.over = s.over || !more
}

// close takes the end of the body: clean, or cut by the connection.
func (s *stream) close(clean bool) {
	if s.over {
		return
	}
	data, cut, failure := s.end()
	switch {
	case failure != nil && clean:
		s.failure, s.over = failure, true
		return
	case len(data) > 0 && (isDone(data) || gjson.ValidBytes(data)):
		s.event(data)
	case len(data) > 0:
		cut = true
	}
	s.checkEnd(clean && !cut)
}

// checkEnd applies the end rule to a stream whose end was not [DONE].
func (s *stream) checkEnd(clean bool) {
	switch {
	case s.over:
	case !clean:
		s.fail(ReasonTruncated, "the stream was cut")
	case s.empty():
		s.failEmpty("the stream ended without any text")
	case s.trace.Finish == "":
		s.fail(ReasonTruncated, "the stream ended without [DONE] and without a finish_reason")
	}
	s.over = true
}

func (s *stream) fail(reason Reason, detail string) {
	s.failure, s.over = &Failure{Reason: reason, Detail: detail}, true
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

func (s *stream) failEmpty(what string) {
	switch {
	case s.trace.Usage != nil:
		what += ", and the server counted no token"
	case s.trace.Events > 0:
		what += ", and the server sent no usage"
	}
	s.fail(ReasonEmpty, what)
}

// event takes one event's data from the decoder.
func (s *stream) event(data []byte) (more bool) {
	s.note()
	if isDone(data) {
		s.trace.Done, s.over = true, true
		if s.empty() {
			s.failEmpty("[DONE] without any text")
		}
		return false
	}
	ev, ok := parseEvent(data)
	if !ok {
		s.fail(ReasonProtocol, "not a JSON object: "+string(data))
		return false
	}
	if ev.failed {
		s.fail(ReasonStreamError, string(data))
		return false
	}
	s.trace.TokenIDs += int(ev.ids)
	s.fresh += ev.ids
	switch {
	case ev.text():
		s.addChunk(&ev)
	case s.bringsTokens(&ev):
		s.trace.Textless++
	}
	s.addUsage(&ev)
	if ev.finish != "" {
		s.trace.Finish = Excerpt(ev.finish)
	}
	return true
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
