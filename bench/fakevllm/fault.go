package fakevllm

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Fault is one way to misbehave. A fault touches the completion paths only,
// except the models_* ones, which touch /v1/models only.
type Fault string

// The faults. Those "mid-stream" come after three chunks of text, or after the last
// one of a shorter answer; a request that does not stream they leave alone.
const (
	FaultNone           Fault = "none"             // in a path it also overrides the one set for all
	FaultHang           Fault = "hang"             // accepts the request and never answers
	FaultSlow           Fault = "slow"             // a token takes 20 steps
	FaultReset          Fault = "reset"            // resets the connection before a response
	FaultStall          Fault = "stall"            // falls silent mid-stream and keeps the connection
	FaultSlowStream     Fault = "slow_stream"      // a token every fault pace, for ever
	FaultHTTP400        Fault = "http_400"         // that status, with an error in JSON
	FaultHTTP404        Fault = "http_404"         // no such model
	FaultHTTP429        Fault = "http_429"         // with Retry-After
	FaultHTTP500        Fault = "http_500"         //
	FaultHTML200        Fault = "html_200"         // status 200 with an HTML page
	FaultRedirect       Fault = "redirect"         // 307 to a place that works
	FaultBadJSON        Fault = "bad_json"         // half a JSON object mid-stream, then [DONE]
	FaultStreamError    Fault = "stream_error"     // an error object mid-stream, then [DONE]
	FaultTruncated      Fault = "truncated"        // ends the body properly mid-stream, without finish or [DONE]
	FaultEmpty          Fault = "empty"            // finishes properly without any text
	FaultNoUsage        Fault = "no_usage"         // never sends usage
	FaultCRLF           Fault = "crlf"             // lines end with CR LF
	FaultSplit          Fault = "split"            // every event in two writes, cut inside a character; all text is such characters
	FaultMerged         Fault = "merged"           // ten events a write, one token each
	FaultGzip           Fault = "gzip"             // compresses the stream, asked for or not
	FaultFlood          Fault = "flood"            // text as fast as it is read, for ever
	FaultEndless        Fault = "endless"          // a comment every fault pace, for ever, and nothing else
	FaultModels500      Fault = "models_500"       // /v1/models answers 500
	FaultModelsEmpty    Fault = "models_empty"     // /v1/models is an empty list
	FaultModelsEvilName Fault = "models_evil_name" // lists, and serves, a name of quotes, line ends and 4 KiB
	FaultModelsHang     Fault = "models_hang"      // /v1/models never answers
)

// behavior is what the server does under a fault. Those without a function are
// looked at where they change something: in wire, in a job's usage, in /v1/models.
type behavior struct {
	fault     Fault
	refuse    func(*Server, http.ResponseWriter, *http.Request, style) // answers in place of the model
	script    func(*answer)                                            // streams without the engine
	interrupt func(*answer)                                            // ends a stream after interruptAfter chunks
}

// behaviors has a line for each fault.
func behaviors() []behavior {
	return []behavior{
		{fault: FaultNone},
		{fault: FaultHang, refuse: func(s *Server, _ http.ResponseWriter, r *http.Request, _ style) { s.park(r) }},
		{fault: FaultSlow},
		{fault: FaultReset, refuse: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ style) { reset(w) }},
		{fault: FaultStall, interrupt: (*answer).stall},
		{fault: FaultSlowStream, script: func(a *answer) { a.endlessText(1, a.s.cfg.FaultPace) }},
		{fault: FaultHTTP400, refuse: refuseWith(badRequest("the request was refused as asked for"))},
		{fault: FaultHTTP404, refuse: func(s *Server, w http.ResponseWriter, _ *http.Request, m style) {
			writeError(w, noSuchModel(s.cfg.Model), m)
		}},
		{fault: FaultHTTP429, refuse: refuseWith(&apiError{http.StatusTooManyRequests, "RateLimitError", "too many requests, as asked for"})},
		{fault: FaultHTTP500, refuse: refuseWith(internalError("the engine failed, as asked for"))},
		{fault: FaultHTML200, refuse: htmlPage},
		{fault: FaultRedirect, refuse: redirect},
		{fault: FaultBadJSON, interrupt: func(a *answer) { a.event([]byte(`{"id":"half","choices":[{"index":0,"delta":{"con`)); a.done() }},
		{fault: FaultStreamError, interrupt: (*answer).failMidStream},
		{fault: FaultTruncated, interrupt: func(a *answer) { a.o.finish() }},
		{fault: FaultEmpty, script: (*answer).withoutText},
		{fault: FaultNoUsage},
		{fault: FaultCRLF},
		{fault: FaultSplit},
		{fault: FaultMerged},
		{fault: FaultGzip},
		{fault: FaultFlood, script: func(a *answer) { a.endlessText(64, 0) }},
		{fault: FaultEndless, script: (*answer).commentsOnly},
		{fault: FaultModels500},
		{fault: FaultModelsEmpty},
		{fault: FaultModelsEvilName},
		{fault: FaultModelsHang},
	}
}

// Faults returns every fault, FaultNone first.
func Faults() []Fault {
	var all []Fault
	for _, b := range behaviors() {
		all = append(all, b.fault)
	}
	return all
}

// ParseFault returns the fault of that name; the error lists all of them.
func ParseFault(name string) (Fault, error) { return parseName(name, "fault", Faults()) }

// behavior is the fault's line; that of FaultNone for one that there is not.
func (f Fault) behavior() behavior {
	for _, b := range behaviors() {
		if b.fault == f {
			return b
		}
	}
	return behavior{fault: FaultNone}
}

// serverFault is the fault that is set for all requests, or for the next few.
type serverFault struct {
	fault   Fault
	limited bool
	left    atomic.Int64 // requests to hit yet, where it is limited
}

// slowsAll reports whether the whole batch is slow, and not requests alone.
func (f *serverFault) slowsAll() bool { return f.fault == FaultSlow && !f.limited }

// next returns the fault of a request whose path names none, and whether that
// slows this request alone.
func (f *serverFault) next(method, path string) (fault Fault, slow bool) {
	touched := completionAPI(method, path) != ""
	if strings.HasPrefix(string(f.fault), "models_") {
		touched = path == "/v1/models"
	}
	if f.limited && touched && f.left.Add(-1) < 0 {
		return FaultNone, false
	}
	return f.fault, f.limited && f.fault == FaultSlow
}

// slowFactor is how many steps a token takes under FaultSlow.
const slowFactor = 20

// refuseWith answers with an error.
func refuseWith(e *apiError) func(*Server, http.ResponseWriter, *http.Request, style) {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, m style) {
		if e.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		writeError(w, e, m)
	}
}

func htmlPage(_ *Server, w http.ResponseWriter, _ *http.Request, _ style) {
	const title = "Please log in"
	writeBody(w, http.StatusOK, "text/html; charset=utf-8",
		fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%[1]s</title></head>\n<body><h1>%[1]s</h1></body></html>\n", title))
}

func redirect(_ *Server, w http.ResponseWriter, r *http.Request, m style) {
	w.Header().Set("Location", "/fault/none/dialect/"+string(m.dialect)+r.URL.Path)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// endlessText sends words without the engine until nobody listens: so many a write, with
// a pause after each write.
func (a *answer) endlessText(words int, pause time.Duration) {
	a.open()
	a.sendRole()
	for i := 0; a.o.err == nil; i++ {
		a.words = a.s.lexicon.appendWord(a.words[:0], a.seed, i, false)
		a.event(a.text(a.frame[:0], a.words, false, "", i+1))
		a.sent, a.texts = i+1, i+1
		if i%words == 0 {
			a.o.flush()
			a.wait(pause)
		}
	}
}

func (a *answer) commentsOnly() {
	a.open()
	for a.o.err == nil {
		a.o.raw(": still here\n\n")
		a.o.flush()
		a.wait(a.s.cfg.FaultPace)
	}
}

// withoutText ends an answer without a token.
func (a *answer) withoutText() {
	a.q.reason = finishStop
	if !a.stream {
		a.writeWhole(0)
		return
	}
	a.open()
	a.sendRole()
	a.last(0)
}

// interruptAfter is how many chunks of text go out before a mid-stream fault.
const interruptAfter = 3

func (a *answer) stall() {
	a.o.flush()
	a.s.park(a.r)
}

func (a *answer) failMidStream() {
	a.event([]byte(`{"error":{"message":"the engine failed mid-stream, as asked for","type":"InternalServerError","param":null,"code":500}}`))
	a.done()
}
