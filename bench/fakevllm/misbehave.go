package fakevllm

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pause waits; false when the client has gone or the engine has stopped.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.engine.stopped:
	}
	return false
}

// park waits until the client has gone or the engine has stopped, and gives the
// connection up.
func (s *Server) park(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.engine.stopped:
	}
	panic(http.ErrAbortHandler)
}

// refuse answers in place of the model where the fault is one that does; it
// reports whether it has.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, m manner) bool {
	fail := func(status int, kind, message string) {
		writeJSON(w, status, (&apiError{status, kind, message}).body(m.dialect))
	}
	switch m.fault {
	case FaultHang:
		s.park(r)
	case FaultReset:
		hangUp(w, "", true)
	case FaultCloseBeforeResponse:
		hangUp(w, "", false)
	case FaultGarbage:
		hangUp(w, "\x15\x03\x00 this is no HTTP\r\n\r\n\x00\xff", false)
	case FaultHTTP400:
		fail(http.StatusBadRequest, "BadRequestError", "the request was refused as asked for")
	case FaultHTTP401:
		writeJSON(w, http.StatusUnauthorized, unauthorized())
	case FaultHTTP404:
		e := noSuchModel(s.cfg.Model)
		fail(e.status, e.kind, e.message)
	case FaultHTTP429:
		w.Header().Set("Retry-After", "1")
		fail(http.StatusTooManyRequests, "RateLimitError", "too many requests, as asked for")
	case FaultHTTP500:
		fail(http.StatusInternalServerError, "InternalServerError", "the engine failed, as asked for")
	case FaultHTTP503:
		http.Error(w, "no backend is ready", http.StatusServiceUnavailable)
	case FaultHTML502:
		writeBody(w, http.StatusBadGateway, "text/html", []byte(gatewayPage("502 Bad Gateway")))
	case FaultHTML200:
		writeBody(w, http.StatusOK, "text/html; charset=utf-8", []byte(gatewayPage("Please log in")))
	case FaultRedirect:
		w.Header().Set("Location", "/fault/none/dialect/"+string(m.dialect)+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		return false
	}
	return true
}

// refuseToken refuses a token id as vLLM's engine does: after the response began,
// where it streams.
func (s *Server) refuseToken(w http.ResponseWriter, r *http.Request, j *job, id int32) {
	e := badRequest("Token id %d is out of vocabulary", id)
	if !j.stream {
		writeJSON(w, e.status, e.body(j.dialect))
		return
	}
	o := newWire(w, j.fault, func(d time.Duration) bool { return s.pause(r, d) })
	text, err := json.Marshal(e.body(j.dialect))
	if err != nil {
		panic(http.ErrAbortHandler) // cannot be: it is made of texts and numbers
	}
	o.event(func(dst []byte) []byte { return append(dst, text...) })
	o.event(func(dst []byte) []byte { return append(dst, "[DONE]"...) })
	o.finish()
}

func gatewayPage(title string) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>%[1]s</title></head>\n<body><h1>%[1]s</h1></body></html>\n", title)
}

// scripted plays the faults whose stream has nothing to do with the engine; it
// reports whether it has.
func (a *answer) scripted() bool {
	switch a.fault {
	case FaultSlowStream:
		a.babble(a.s.cfg.FaultPace)
	case FaultFlood:
		a.babble(0)
	case FaultEndless:
		a.open()
		for a.o.err == nil {
			a.o.raw(": still here\n\n")
			a.o.flush()
			a.wait(a.s.cfg.FaultPace)
		}
	case FaultHugeLine:
		a.hugeLine()
	case FaultEmptyBody:
		a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		a.w.WriteHeader(http.StatusOK)
	case FaultEmpty, FaultRoleOnly:
		a.silent()
	default:
		return false
	}
	return true
}

// wait pauses between two writes and gives the connection up when nobody waits.
func (a *answer) wait(d time.Duration) {
	if !a.s.pause(a.r, d) {
		panic(http.ErrAbortHandler)
	}
}

// babble sends a word every pace, without pause and in large writes for 0, until
// nobody listens.
func (a *answer) babble(pace time.Duration) {
	const largeWrite = 64 // words
	a.open()
	a.sendRole()
	for i := 0; a.o.err == nil; i++ {
		a.words = a.s.lexicon.appendWord(a.words[:0], a.seed, i, false)
		a.o.event(func(dst []byte) []byte { return a.text(dst, a.words, false, "", i+1) })
		a.sent, a.texts = i+1, i+1
		switch {
		case pace > 0:
			a.o.flush()
			a.wait(pace)
		case i%largeWrite == 0:
			a.o.flush()
			a.wait(0)
		}
	}
}

// hugeLine sends a single event of hugeBytes.
func (a *answer) hugeLine() {
	const hugeBytes, piece = 32 << 20, 64 << 10
	a.open()
	a.o.raw(`data: {"choices":[{"index":0,"delta":{"content":"`)
	letters := strings.Repeat("a", piece)
	for n := 0; n < hugeBytes && a.o.err == nil; n += piece {
		a.o.raw(letters)
		a.o.flush()
		a.wait(0)
	}
	a.o.raw(`"},"finish_reason":"stop"}]}` + "\n\n")
	a.done()
}

// silent ends an answer without a token.
func (a *answer) silent() {
	if !a.stream {
		a.q.reason = finishStop
		a.writeWhole(0)
		return
	}
	a.open()
	a.sendRole()
	if a.fault == FaultRoleOnly {
		a.done()
		return
	}
	a.q.reason = finishStop
	a.last(0)
}

// strikeAfter is how many chunks of text go out before a mid-stream fault.
const strikeAfter = 3

// strikes reports whether the fault is one that strikes mid-stream.
func (a *answer) strikes() bool {
	switch a.fault {
	case FaultStall, FaultBadJSON, FaultStreamError, FaultTruncated, FaultCut, FaultResetStream:
		return true
	}
	return false
}

// strike ends a stream the way the fault wants.
func (a *answer) strike() {
	const half = `{"id":"half","choices":[{"index":0,"delta":{"con`
	switch a.fault {
	case FaultStall:
		a.o.flush()
		a.s.park(a.r)
	case FaultBadJSON:
		a.o.event(func(dst []byte) []byte { return append(dst, half...) })
		a.done()
	case FaultStreamError:
		a.o.event(func(dst []byte) []byte {
			return append(dst, `{"error":{"message":"the engine failed mid-stream, as asked for","type":"InternalServerError","param":null,"code":500}}`...)
		})
		a.done()
	case FaultTruncated:
		a.o.finish()
	case FaultCut:
		a.o.raw("data: " + half)
		a.o.flush()
		panic(http.ErrAbortHandler)
	case FaultResetStream:
		a.o.raw("data: " + half)
		a.o.flush()
		// Time for the client to read what a reset would take from it.
		a.wait(splitPause)
		hangUp(a.w, "", true)
	}
}

// deliver sends the JSON body of a request that does not stream.
func (a *answer) deliver(body []byte) {
	const kind = "application/json"
	half := body[:len(body)/2]
	switch a.fault {
	case FaultStreamError:
		e := &apiError{http.StatusInternalServerError, "InternalServerError", "the engine failed, as asked for"}
		writeJSON(a.w, e.status, e.body(a.dialect))
	case FaultBadJSON, FaultTruncated:
		writeBody(a.w, http.StatusOK, kind, half)
	case FaultStall, FaultCut, FaultResetStream:
		a.w.Header().Set("Content-Type", kind)
		a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		if _, err := a.w.Write(half); err != nil || http.NewResponseController(a.w).Flush() != nil {
			panic(http.ErrAbortHandler)
		}
		switch a.fault {
		case FaultStall:
			a.s.park(a.r)
		case FaultCut:
			panic(http.ErrAbortHandler)
		}
		a.wait(splitPause)
		hangUp(a.w, "", true)
	case FaultGzip:
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = io.Copy(zip, bytes.NewReader(body)) // a Buffer takes everything
		_ = zip.Close()
		a.w.Header().Set("Content-Encoding", "gzip")
		writeBody(a.w, http.StatusOK, kind, packed.Bytes())
	default:
		writeBody(a.w, http.StatusOK, kind, body)
	}
}
