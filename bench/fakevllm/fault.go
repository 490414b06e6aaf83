package fakevllm

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is one way to misbehave, in requests for a completion: one of these, or an answer in the folder answers.
type Fault string

// The faults that are no fixed answer.
const (
	FaultNone        Fault = "none"          // in a path it also overrides the one set for all
	FaultHang        Fault = "hang"          // accepts the request and never answers
	FaultSlow        Fault = "slow"          // a step takes 20 times as long; for all requests only
	FaultReset       Fault = "reset"         // closes the connection before a response
	FaultStall       Fault = "stall"         // falls silent after three chunks of text, or the last, and keeps the connection
	FaultSlowStream  Fault = "slow_stream"   // a token every 200 ms, for ever
	FaultDegenerate  Fault = "degenerate"    // tokens of exclamation marks
	FaultFreeze      Fault = "freeze"        // the engine makes no step, and /health answers; for all requests only
	FaultNoMetrics   Fault = "no_metrics"    // hangs, and where the path names it has no page of metrics
	FaultNoIgnoreEOS Fault = "no_ignore_eos" // status 422 for ignore_eos, as of servers that do not know it
)

const (
	slowFactor    = 20                     // of a step under FaultSlow
	slowStreamGap = 200 * time.Millisecond // between tokens under FaultSlowStream
	stallAfter    = 3                      // chunks of text, under FaultStall
)

// answers are whole answers from the status line on: refusals, and streams that break off or that other engines write.
//
//go:embed answers
var answers embed.FS

// Faults returns every fault, FaultNone first.
func Faults() []Fault {
	all := []Fault{
		FaultNone, FaultHang, FaultSlow, FaultReset, FaultStall, FaultSlowStream, FaultDegenerate, FaultFreeze, FaultNoMetrics, FaultNoIgnoreEOS,
	}
	files, _ := answers.ReadDir("answers") // which is there
	for _, file := range files {
		all = append(all, Fault(strings.TrimSuffix(file.Name(), ".txt")))
	}
	return all
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
	default:
		if answer, err := answers.ReadFile("answers/" + string(fault) + ".txt"); err == nil {
			replay(w, answer)
			return true
		}
		_, err := ParseFault(string(fault))
		if err == nil {
			return false
		}
		writeError(w, http.StatusNotFound, "NotFoundError", "%v", err)
	}
	return true
}

// replay sends an answer, each event by itself.
func replay(w http.ResponseWriter, answer []byte) {
	resp, _ := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil) //nolint:bodyclose // nothing is open, and the file is good
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	body, _ := io.ReadAll(resp.Body)
	for event := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
		_, _ = w.Write(event) // the client may be gone
		_ = http.NewResponseController(w).Flush()
	}
}
