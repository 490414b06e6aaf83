package fakevllm

import (
	"net/http"
	"slices"
	"time"
)

// complete answers requests for a completion.
func (s *Server) complete(chat bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		received := time.Now()
		var req request
		failed := readBody(w, r, &req)
		m := styleOf(r)
		if m.refuse != nil {
			m.refuse(s, w, r, m)
			return
		}
		if failed == nil {
			failed = s.answer(w, r, &req, chat, received)
		}
		if failed != nil {
			writeError(w, failed, m)
		}
	}
}

// answer answers a request, unless the error it returns is to be the answer.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req *request, chat bool, received time.Time) *apiError {
	if s.cfg.Schedule.Gap > 0 {
		return s.onSchedule(w, r, req, chat, received)
	}
	j, failed := s.accept(r, req, chat)
	if failed != nil {
		return failed
	}
	j.created = time.Now().Unix()
	a := &answer{s: s, w: w, r: r, framer: newFramer(j)}
	if ids := req.Prompt.ids; !chat {
		if i := slices.IndexFunc(ids, func(id int32) bool { return !s.isToken(id) }); i >= 0 {
			a.refuseToken(ids[i])
			return nil
		}
	}
	if j.record != nil {
		j.record.answer = a
	}
	switch {
	case j.script != nil:
		j.script(a)
	case j.stream:
		a.streamed()
	default:
		a.whole()
	}
	return nil
}

// answer is one request being answered.
type answer struct {
	s *Server
	w http.ResponseWriter
	r *http.Request
	*framer
	o        *wire
	words    []byte // of the chunk being made
	frame    []byte // that chunk
	sent     int    // tokens
	texts    int    // chunks with text
	roleSent bool
	finished bool
}

// open starts the event stream.
func (a *answer) open() {
	a.o = newWire(a.w, a.fault, func(d time.Duration) bool { return a.s.pause(a.r, d) })
}

// event adds an event, whose memory the next one may take.
func (a *answer) event(data []byte) {
	a.frame = data
	a.o.event(data)
}

// wait pauses between two writes and gives the connection up when nobody waits.
func (a *answer) wait(d time.Duration) {
	if !a.s.pause(a.r, d) {
		panic(http.ErrAbortHandler)
	}
}

// refuseToken refuses a token id as vLLM's engine does: after the response began,
// where it streams.
func (a *answer) refuseToken(id int32) {
	e := badRequest("Token id %d is out of vocabulary", id)
	if !a.stream {
		writeError(a.w, e, a.style)
		return
	}
	a.open()
	a.event(quoted(e.body(a.traits)))
	a.done()
}

// streamed sends tokens as the engine makes them; what it made while the last
// write took is one chunk.
func (a *answer) streamed() {
	if !a.submit() {
		return
	}
	defer a.s.engine.cancel(a.q)
	a.open()
	for a.o.err == nil {
		over := a.progress()
		if n := int(a.q.produced.Load()); over || a.sent == 0 || n-a.sent >= a.s.cfg.StreamInterval {
			a.send(n, over)
		}
		if a.interrupt != nil && (over || a.texts >= interruptAfter) {
			a.interrupt(a)
			return
		}
		if over {
			a.last(a.sent)
			return
		}
		a.o.send()
	}
}

// submit hands the sequence to the engine, and reports whether there is one; else the
// client gets a 503.
func (a *answer) submit() bool {
	err := a.s.engine.submit(a.q)
	if err != nil {
		writeError(a.w, &apiError{http.StatusServiceUnavailable, "ServiceUnavailableError", err.Error()}, a.style)
	}
	return err == nil
}

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

func (a *answer) sendRole() {
	if a.chat && !a.roleSent {
		a.event(a.role(a.frame[:0]))
	}
	a.roleSent = true
}

// send adds the tokens up to the n-th as chunks.
func (a *answer) send(n int, over bool) {
	if n > 0 && !a.traits.roleInEach {
		a.sendRole()
	}
	for a.sent < n {
		to, reasoning := n, a.sent < a.reasoning
		if reasoning {
			to = min(n, a.reasoning)
		}
		if a.fault == FaultMerged {
			to = a.sent + 1
		}
		finish := finishReason("")
		if over && to == n && a.q.reason == finishLength && !a.traits.emptyFinish && a.interrupt == nil {
			finish, a.finished = finishLength, true // the last token itself was one too many
		}
		a.words = a.words[:0]
		for i := a.sent; i < to; i++ {
			a.words = a.word(a.words, i)
		}
		a.event(a.text(a.frame[:0], a.words, reasoning, finish, to))
		a.sent = to
		if len(a.words) > 0 {
			a.texts++
		}
	}
}

// word appends the text of the answer's i-th token.
func (a *answer) word(dst []byte, i int) []byte {
	if a.traits.everyOtherEmpty && i%2 == 0 {
		return dst
	}
	return a.s.lexicon.appendWord(dst, a.seed, i, a.fault == FaultSplit)
}

// last ends the stream properly after n tokens.
func (a *answer) last(n int) {
	if !a.finished {
		a.event(a.finish(a.frame[:0], a.q.reason, n))
	}
	if a.usageApart() {
		a.event(a.lastUsage(a.frame[:0], n))
	}
	a.done()
}

func (a *answer) done() {
	a.event([]byte("[DONE]"))
	a.o.finish()
}

// whole answers in one JSON body.
func (a *answer) whole() {
	if !a.submit() {
		return
	}
	defer a.s.engine.cancel(a.q)
	for over := false; !over; {
		over = a.progress()
	}
	a.writeWhole(int(a.q.produced.Load()))
}

// writeWhole sends an answer of n tokens as one body.
func (a *answer) writeWhole(n int) {
	a.sent, a.texts = n, min(n, 1)
	var reasoning, text []byte
	for i := range n {
		if i < a.reasoning {
			reasoning = a.word(reasoning, i)
		} else {
			text = a.word(text, i)
		}
	}
	choice := map[string]any{"index": 0, "logprobs": nil, "finish_reason": a.q.reason, "stop_reason": nil}
	object := "text_completion"
	if a.chat {
		object = "chat.completion"
		said := map[string]any{"role": "assistant", "content": string(text), "tool_calls": []any{}}
		if a.reasoning > 0 {
			said[a.traits.reasoningKey] = string(reasoning)
		}
		choice["message"] = said
	} else {
		choice["text"] = string(text)
	}
	body := map[string]any{
		"id": a.id, "object": object, "created": a.created, "model": a.model, "choices": []any{choice},
	}
	if a.usage {
		body["usage"] = a.counts(n, true)
	}
	writeJSON(a.w, http.StatusOK, body)
}
