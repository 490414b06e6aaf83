package fakevllm

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is one way to misbehave, in requests for a completion.
type Fault string

// The faults. Those "mid-stream" come after three chunks of text, or after the last
// one of a shorter answer.
const (
	FaultNone        Fault = "none"         // in a path it also overrides the one set for all
	FaultHang        Fault = "hang"         // accepts the request and never answers
	FaultSlow        Fault = "slow"         // a step takes 20 times as long; for all requests only
	FaultReset       Fault = "reset"        // resets the connection before a response
	FaultStall       Fault = "stall"        // falls silent mid-stream and keeps the connection
	FaultSlowStream  Fault = "slow_stream"  // a token every 200 ms, for ever
	FaultHTTP404     Fault = "http_404"     // no such model
	FaultHTTP429     Fault = "http_429"     // with Retry-After
	FaultHTTP500     Fault = "http_500"     // with an error in JSON
	FaultHTML200     Fault = "html_200"     // status 200 with an HTML page
	FaultStreamError Fault = "stream_error" // an error object mid-stream, then [DONE]
	FaultTruncated   Fault = "truncated"    // ends the body properly mid-stream, without finish or [DONE]
	FaultEmpty       Fault = "empty"        // finishes properly without any text
)

const (
	slowFactor     = 20                     // of a step under FaultSlow
	slowStreamGap  = 200 * time.Millisecond // between tokens under FaultSlowStream
	interruptAfter = 3                      // chunks of text before a mid-stream fault
)

// Faults returns every fault, FaultNone first.
func Faults() []Fault {
	return []Fault{
		FaultNone, FaultHang, FaultSlow, FaultReset, FaultStall, FaultSlowStream, FaultHTTP404, FaultHTTP429,
		FaultHTTP500, FaultHTML200, FaultStreamError, FaultTruncated, FaultEmpty,
	}
}

// ParseFault returns the fault of that name; the error lists all of them.
func ParseFault(name string) (Fault, error) {
	if slices.Contains(Faults(), Fault(name)) {
		return Fault(name), nil
	}
	return "", fmt.Errorf("unknown fault %q (known: %s)", name, strings.Trim(fmt.Sprint(Faults()), "[]"))
}

// refuse answers in place of the model, where the fault is of that kind.
func (a *answer) refuse(fault Fault) bool {
	switch fault {
	case FaultHang:
		a.s.park(a.r)
	case FaultReset:
		reset(a.rc)
	case FaultHTTP404:
		noSuchModel(a.w, a.s.cfg.Model)
	case FaultHTTP429:
		a.w.Header().Set("Retry-After", "1")
		writeError(a.w, http.StatusTooManyRequests, "RateLimitError", "too many requests, as asked for")
	case FaultHTTP500:
		writeError(a.w, http.StatusInternalServerError, "InternalServerError", "the engine failed, as asked for")
	case FaultHTML200:
		a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(a.w, "<!DOCTYPE html>\n<html><head><title>Please log in</title></head></html>\n")
	default:
		return false
	}
	return true
}

// streamWithoutEngine streams in place of the model, where the fault is of that kind.
func (a *answer) streamWithoutEngine(fault Fault) bool {
	switch fault {
	case FaultEmpty:
		a.open()
		a.sendRole()
		a.finish(finishStop)
	case FaultSlowStream:
		a.open()
		a.sendRole()
		for a.failed == nil {
			a.sent++
			a.send(a.chunk(a.text(a.words(a.sent-1, a.sent), "")))
			a.pause(slowStreamGap)
		}
	default:
		return false
	}
	return true
}

// interrupt ends a stream half way, where the fault is of that kind.
func (a *answer) interrupt(fault Fault) bool {
	switch fault {
	case FaultStall:
		a.s.park(a.r)
	case FaultStreamError:
		a.write([]byte(`data: {"error":{"message":"the engine failed mid-stream, as asked for","type":"InternalServerError","param":null,"code":500}}` + "\n\n"))
		a.done()
	case FaultTruncated:
	default:
		return false
	}
	return true
}

// pause gives the connection up where nobody waits any more.
func (a *answer) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-a.s.engine.stopped:
		panic(http.ErrAbortHandler)
	}
}

// reset takes the connection from the HTTP server and resets it.
func reset(rc *http.ResponseController) {
	conn, _, err := rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the next best
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // else it is a plain close
	}
	_ = conn.Close()
}
