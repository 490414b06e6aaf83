package fakevllm

import (
	"encoding/json"
	"net/http"
	"time"
)

func (s *Server) chat(w http.ResponseWriter, r *http.Request) { s.complete(w, r, true) }

func (s *Server) completions(w http.ResponseWriter, r *http.Request) { s.complete(w, r, false) }

// complete answers one request.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, chat bool) {
	var req request
	failed := readBody(w, r, &req)
	m := mannerOf(r)
	if s.refuse(w, r, m) {
		return
	}
	var j *job
	if failed == nil {
		j, failed = s.accept(r, &req, chat)
	}
	if failed != nil {
		writeJSON(w, failed.status, failed.body(m.dialect))
		return
	}
	if id, found := s.stranger(&req); found && !chat {
		s.refuseToken(w, r, j, id)
		return
	}
	j.created = time.Now().Unix()
	a := &answer{s: s, w: w, r: r, framer: newFramer(j)}
	if m.account != nil {
		m.account.answer = a
	}
	switch {
	case a.scripted():
	case j.stream:
		a.streamed()
	default:
		a.whole()
	}
}

// answer is one request being answered.
type answer struct {
	s *Server
	w http.ResponseWriter
	r *http.Request
	*framer
	o        *wire
	words    []byte // of the chunk being made
	sent     int    // tokens
	texts    int    // chunks with text
	roleSent bool
	finished bool
}

// open starts the event stream.
func (a *answer) open() {
	a.o = newWire(a.w, a.fault, func(d time.Duration) bool { return a.s.pause(a.r, d) })
}

// streamed sends tokens as the engine makes them; what it made while the last
// write took is one chunk.
func (a *answer) streamed() {
	if a.fault == FaultEarlyRole {
		a.open()
		a.sendRole()
		a.o.flush()
		if !a.s.pause(a.r, a.s.cfg.FaultPace) {
			panic(http.ErrAbortHandler)
		}
	}
	if !a.submit() {
		return
	}
	defer a.s.engine.cancel(a.q)
	if a.o == nil {
		a.open()
	}
	for a.o.err == nil {
		over := a.progress()
		if n := int(a.q.produced.Load()); over || a.sent == 0 || n-a.sent >= a.s.cfg.StreamInterval {
			a.send(n, over)
		}
		if a.strikes() && (over || a.texts >= strikeAfter) {
			a.strike()
			return
		}
		if over {
			a.last(a.sent)
			return
		}
		a.o.send()
	}
}

// submit hands the sequence to the engine; the client gets a 503 if it is gone.
func (a *answer) submit() bool {
	err := a.s.engine.submit(a.q)
	if err == nil {
		return true
	}
	if a.o != nil {
		panic(http.ErrAbortHandler) // too late for a status
	}
	e := &apiError{http.StatusServiceUnavailable, "ServiceUnavailableError", err.Error()}
	writeJSON(a.w, e.status, e.body(a.dialect))
	return false
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
		a.o.event(a.role)
	}
	a.roleSent = true
}

// send adds the tokens up to the n-th as chunks.
func (a *answer) send(n int, over bool) {
	if n > 0 && a.dialect != DialectMindIE {
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
		if over && to == n && a.q.reason == finishLength && !a.finishesApart() && !a.strikes() {
			finish, a.finished = finishLength, true // the last token itself was one too many
		}
		a.words = a.words[:0]
		for i := a.sent; i < to; i++ {
			a.words = a.word(a.words, i, a.fault == FaultSplit)
		}
		a.o.event(func(dst []byte) []byte { return a.text(dst, a.words, reasoning, finish, to) })
		a.sent = to
		if len(a.words) > 0 {
			a.texts++
		}
	}
}

// word appends the text of the answer's i-th token.
func (a *answer) word(dst []byte, i int, wide bool) []byte {
	if a.dialect == DialectVLLMBytes && i%2 == 0 {
		return dst // half a word
	}
	return a.s.lexicon.appendWord(dst, a.seed, i, wide)
}

// last ends the stream properly after n tokens.
func (a *answer) last(n int) {
	if !a.finished {
		a.o.event(func(dst []byte) []byte { return a.finish(dst, a.q.reason, n) })
	}
	if a.usageApart() {
		a.o.event(func(dst []byte) []byte { return a.lastUsage(dst, n) })
	}
	a.done()
}

func (a *answer) done() {
	if a.fault != FaultNoDone {
		a.o.event(func(dst []byte) []byte { return append(dst, "[DONE]"...) })
	}
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
			reasoning = a.word(reasoning, i, false)
		} else {
			text = a.word(text, i, a.fault == FaultSplit)
		}
	}
	choice := map[string]any{"index": 0, "logprobs": nil, "finish_reason": a.q.reason, "stop_reason": nil}
	object := "text_completion"
	if a.chat {
		object = "chat.completion"
		said := map[string]any{"role": "assistant", "content": string(text), "tool_calls": []any{}}
		if a.reasoning > 0 {
			said[a.reasoningKey()] = string(reasoning)
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
	b, err := json.Marshal(body)
	if err != nil {
		panic(http.ErrAbortHandler) // cannot be: nothing in it fails to marshal
	}
	a.deliver(b)
}
