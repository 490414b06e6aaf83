package fakevllm

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is one way to misbehave, in requests for a completion.
type Fault string

// The faults. Those "mid-stream" come after three chunks of text, or the last of a shorter answer.
const (
	FaultNone        Fault = "none"          // in a path it also overrides the one set for all
	FaultHang        Fault = "hang"          // accepts the request and never answers
	FaultSlow        Fault = "slow"          // a step takes 20 times as long; for all requests only
	FaultReset       Fault = "reset"         // closes the connection before a response
	FaultStall       Fault = "stall"         // falls silent mid-stream and keeps the connection
	FaultSlowStream  Fault = "slow_stream"   // a token every 200 ms, for ever
	FaultHTTP404     Fault = "http_404"      // no such model
	FaultHTTP429     Fault = "http_429"      // with Retry-After
	FaultHTTP500     Fault = "http_500"      // with an error in JSON
	FaultHTML200     Fault = "html_200"      // status 200 with an HTML page
	FaultStreamError Fault = "stream_error"  // an error object mid-stream, then [DONE]
	FaultTruncated   Fault = "truncated"     // ends the body properly mid-stream, without finish or [DONE]
	FaultEmpty       Fault = "empty"         // finishes properly without any text
	FaultDegenerate  Fault = "degenerate"    // tokens of exclamation marks
	FaultFreeze      Fault = "freeze"        // the engine makes no step, and /health answers; for all requests only
	FaultNoMetrics   Fault = "no_metrics"    // hangs, and where the path names it has no page of metrics
	FaultNoIgnoreEOS Fault = "no_ignore_eos" // status 422 for ignore_eos, as of servers that do not know it
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
		FaultHTTP500, FaultHTML200, FaultStreamError, FaultTruncated, FaultEmpty, FaultDegenerate, FaultFreeze, FaultNoMetrics, FaultNoIgnoreEOS,
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
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, req *request, fault Fault) bool {
	switch fault {
	case FaultNoIgnoreEOS:
		if !req.IgnoreEOS {
			return false
		}
		writeError(w, http.StatusUnprocessableEntity, "UnprocessableEntityError", "unexpected keys in the request: {'ignore_eos'}")
	case FaultHang, FaultNoMetrics:
		s.wait(r.Context(), nil)
	case FaultReset:
		panic(http.ErrAbortHandler)
	case FaultHTTP404:
		noSuchModel(w, s.cfg.Model)
	case FaultHTTP429:
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusTooManyRequests, "RateLimitError", "too many requests, as asked for")
	case FaultHTTP500:
		writeError(w, http.StatusInternalServerError, "InternalServerError", "the engine failed, as asked for")
	case FaultHTML200:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><head><title>Please log in</title></head></html>\n")
	default:
		_, err := ParseFault(string(fault))
		if err == nil {
			return false
		}
		if !replay(w, string(fault)) {
			writeError(w, http.StatusNotFound, "NotFoundError", "%v", err)
		}
	}
	return true
}

// interrupt ends a stream mid-stream, where the fault is of that kind.
func (s *Server) interrupt(a *answer, fault Fault) bool {
	switch fault {
	case FaultStall:
		s.wait(a.ctx, nil)
	case FaultStreamError:
		a.write([]byte(`data: {"error":{"message":"the engine failed mid-stream, as asked for","type":"InternalServerError","param":null,"code":500}}` + "\n\n" + endMark))
	case FaultTruncated:
	default:
		return false
	}
	return true
}

// frames are whole answers as other engines write them, broken ones among them: a path
// /fault/NAME/v1/… answers with frames/NAME.txt.
//
//go:embed frames
var frames embed.FS

// replay sends the frames of that name, and reports whether there are any.
func replay(w http.ResponseWriter, name string) bool {
	answer, err := frames.ReadFile("frames/" + name + ".txt")
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for frame := range bytes.SplitAfterSeq(answer, []byte("\n\n")) {
		_, _ = w.Write(frame) // the client may be gone
		_ = http.NewResponseController(w).Flush()
	}
	return true
}
