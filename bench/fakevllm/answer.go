package fakevllm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// RequestRecord is what the server itself knows of one request for a completion:
// the truth that a client's figures can be compared with. What did not happen,
// or was never learned, is zero.
type RequestRecord struct {
	RequestID    string    `json:"request_id,omitempty"` // X-Request-Id
	Fault        Fault     `json:"fault,omitempty"`      // empty for FaultNone
	PromptTokens int       `json:"prompt_tokens,omitempty"`
	OutputTokens int       `json:"output_tokens,omitempty"` // sent to the client
	Arrived      time.Time `json:"arrived"`                 // when the request's header had been read
	Scheduled    time.Time `json:"scheduled,omitzero"`      // when it was first in the batch
	First        time.Time `json:"first,omitzero"`          // when its first token was made
	Last         time.Time `json:"last,omitzero"`           // and its last
	Ended        time.Time `json:"ended"`                   // when it had been answered or given up
	// Finish is "stop", "length", or "abort" when the client or a fault ended the
	// request; empty for one that never was in the engine.
	Finish string `json:"finish,omitempty"`
}

// complete answers a request for a completion.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	a := &answer{s: s, w: w, r: r, rc: http.NewResponseController(w)}
	a.record = RequestRecord{RequestID: r.Header.Get("X-Request-Id"), Arrived: time.Now()}
	defer a.end() // also when the connection is given up by a panic
	w.Header().Set("X-Request-Id", a.record.RequestID)
	if !s.authorized(w, r) {
		return
	}
	fault, err := s.faultOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if fault != FaultNone {
		a.record.Fault = fault
	}
	var ok bool
	if a.req, ok = readRequest(w, r); !ok || a.refuse(fault) {
		return
	}
	a.id = "cmpl-" + a.record.RequestID
	if a.req.chat {
		a.id = "chat" + a.id
	}
	if s.cfg.Schedule.Gap > 0 {
		a.onSchedule()
		return
	}
	a.fromEngine(fault)
}

// end tells of the request.
func (a *answer) end() {
	if a.s.cfg.Log == nil {
		return
	}
	if a.q != nil {
		a.s.engine.fill(&a.record, a.q)
	}
	a.record.OutputTokens = a.sent
	a.record.Ended = time.Now()
	a.s.cfg.Log(a.record)
}

// fromEngine answers with what the engine makes.
func (a *answer) fromEngine(fault Fault) {
	q := a.s.accept(a.w, &a.req)
	if q == nil {
		return
	}
	a.seed, a.prompt = q.seed, q.prompt
	if a.streamWithoutEngine(fault) {
		return
	}
	if err := a.s.engine.submit(q); err != nil {
		writeError(a.w, http.StatusServiceUnavailable, "ServiceUnavailableError", "%v", err)
		return
	}
	a.q = q
	defer a.s.engine.cancel(q)
	a.stream(fault)
}

// answer is one request being answered.
type answer struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	rc     *http.ResponseController
	req    request
	record RequestRecord
	q      *sequence // nil before it is in the engine
	id     string
	seed   uint64 // of the text
	prompt int    // tokens
	sent   int    // tokens
	failed error  // the first write that failed
}

// chunk is one event of a stream.
type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Delta        *message `json:"delta,omitempty"`
	Text         *string  `json:"text,omitempty"`
	Logprobs     *int     `json:"logprobs"`
	FinishReason *string  `json:"finish_reason"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// chunk is an event with these choices.
func (a *answer) chunk(choices ...choice) chunk {
	c := chunk{ID: a.id, Object: "text_completion", Created: a.record.Arrived.Unix(), Model: a.s.cfg.Model, Choices: choices}
	if a.req.chat {
		c.Object = "chat.completion.chunk"
	}
	return c
}

// text is a choice with text and, at the end, the reason why there is no more.
func (a *answer) text(text string, finish finishReason) choice {
	var c choice
	if a.req.chat {
		c.Delta = &message{Content: text}
	} else {
		c.Text = &text
	}
	if finish != "" {
		c.FinishReason = (*string)(&finish)
	}
	return c
}

func (a *answer) usage() *usage {
	return &usage{PromptTokens: a.prompt, TotalTokens: a.prompt + a.sent, CompletionTokens: a.sent}
}

// open starts the event stream; a chat's first event names the assistant.
func (a *answer) open() {
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.w.WriteHeader(http.StatusOK)
	a.failed = a.rc.Flush()
}

func (a *answer) sendRole() {
	if a.req.chat {
		a.send(a.chunk(choice{Delta: &message{Role: "assistant"}}))
	}
}

// send writes an event.
func (a *answer) send(c chunk) {
	if a.req.StreamOptions.ContinuousUsageStats {
		c.Usage = a.usage()
	}
	a.write(fmt.Appendf(nil, "data: %s\n\n", encode(c)))
}

func (a *answer) write(event []byte) {
	if a.failed != nil {
		return
	}
	if _, a.failed = a.w.Write(event); a.failed == nil {
		a.failed = a.rc.Flush()
	}
}

// stream sends tokens as the engine makes them; what it made while the last
// write took is one chunk.
func (a *answer) stream(fault Fault) {
	a.open()
	for texts := 0; a.failed == nil; {
		over := a.progress()
		if a.sent == 0 {
			a.sendRole()
		}
		if n := int(a.q.produced.Load()); n > a.sent {
			text := a.words(a.sent, n)
			a.sent = n
			a.send(a.chunk(a.text(text, "")))
			texts++
		}
		if (over || texts >= interruptAfter) && a.interrupt(fault) {
			return
		}
		if over {
			a.finish(a.q.reason)
			return
		}
	}
}

// finish ends the stream properly.
func (a *answer) finish(reason finishReason) {
	a.send(a.chunk(a.text("", reason)))
	if a.req.StreamOptions.IncludeUsage {
		c := a.chunk()
		c.Choices, c.Usage = []choice{}, a.usage()
		a.send(c)
	}
	a.done()
}

func (a *answer) done() { a.write([]byte("data: [DONE]\n\n")) }

// progress waits for new tokens and reports whether they are the last. It gives
// the connection up when the client has gone or the engine has stopped.
func (a *answer) progress() (over bool) {
	select {
	case <-a.q.wake:
	case <-a.q.done:
	case <-a.r.Context().Done():
		panic(http.ErrAbortHandler)
	}
	select {
	case <-a.q.done: // before produced is read, so that it is the final count
		if a.q.ended == finishAbort {
			panic(http.ErrAbortHandler)
		}
		return true
	default:
		return false
	}
}

const vocabulary = `the a queue fills while cards decode each step adds one token per request and latency grows with load
memory holds keys values pages blocks of every prompt so long answers take more room than short ones when
users arrive faster wait longer until batch has free slot power rises temperature follows fans spin up`

// words is the text of the answer's tokens from one to before another.
func (a *answer) words(from, to int) string {
	all := strings.Fields(vocabulary)
	var text strings.Builder
	for i := from; i < to; i++ {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(all[mix(a.seed+uint64(i))%uint64(len(all))])
	}
	return text.String()
}

// mix spreads the bits of x (the finisher of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
