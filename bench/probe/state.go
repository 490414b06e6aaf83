package probe

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"time"
)

// State is what its probes and its server's own counters say of a target.
type State string

// The states.
const (
	StateOK      State = "ok"
	StateBusy    State = "busy"    // no first token in time, while the server makes tokens
	StateStalled State = "stalled" // no first token in time, and the server makes no token
	StateFailing State = "failing" // unhealthy_after failures in a row, or one of a stalled target
	StateUnknown State = "unknown" // none of these so far
)

// States returns every state.
func States() []State {
	return []State{StateOK, StateBusy, StateStalled, StateFailing, StateUnknown}
}

// verdict judges a target. It has no clock and asks nobody.
type verdict struct {
	unhealthyAfter, healthyAfter int // outcomes in a row

	state               State
	since               time.Time
	failures, successes int  // in a row
	looks               int  // in a row, with neither a success nor a failure between
	last                look // of the last look
}

// look is what a server's own page of metrics says while a probe waits.
type look struct {
	at, stillSince   time.Time          // the latter is the first look with the same counters
	tokens           map[string]float64 // counters, each the sum over all series of the page
	running, waiting float64            // requests, 0 where the page does not say
}

func (v *verdict) become(s State, at time.Time) {
	if v.state != s {
		v.state, v.since = s, at
	}
}

// succeeded judges by a success.
func (v *verdict) succeeded(at time.Time) {
	v.failures, v.looks = 0, 0
	v.successes++
	isBad := v.state == StateFailing || v.state == StateStalled
	if !isBad || v.successes >= v.healthyAfter {
		v.become(StateOK, at)
	}
}

// failed judges by a failure that the server's counters do not explain.
func (v *verdict) failed(at time.Time) {
	v.successes, v.looks = 0, 0
	v.failures++
	if v.state == StateStalled || v.failures >= v.unhealthyAfter {
		v.become(StateFailing, at)
	}
}

// looked judges by the counters of a server that lets a probe wait. The first look in a row changes nothing. A queue is no
// success: it ends no row of failures, and does not show that a server works which never answered.
func (v *verdict) looked(now look) {
	before := v.last
	v.looks++
	now.stillSince = now.at
	switch isStill := maps.Equal(before.tokens, now.tokens); {
	case v.looks == 1:
	case isStill:
		now.stillSince = before.stillSince
		v.successes = 0
		v.become(StateStalled, now.at)
	case v.state == StateOK || v.state == StateStalled:
		v.become(StateBusy, now.at)
	}
	v.last = now
}

// detail returns why the target is in its state, in a clause.
func (v *verdict) detail(now time.Time, last, lastSuccess Outcome) string {
	load := fmt.Sprintf("%.0f running", v.last.running)
	if v.last.waiting > 0 {
		load = fmt.Sprintf("%s, %.0f waiting", load, v.last.waiting)
	}
	isBad := v.state == StateFailing || v.state == StateStalled
	switch {
	case isBad && v.successes > 0:
		return fmt.Sprintf("%d of %d successes in a row that end it", v.successes, v.healthyAfter)
	case v.state == StateStalled:
		return fmt.Sprintf("%s, no token for %.0f s", load, now.Sub(v.last.stillSince).Seconds())
	case v.state == StateBusy:
		return load + ", tokens come"
	case v.failures > 0:
		return fmt.Sprintf("%d failures in a row, last result %s", v.failures, last.Result())
	case lastSuccess.At.IsZero():
		return "no success and no failure yet"
	}
	return fmt.Sprintf("last success %.0f s ago", now.Sub(lastSuccess.At).Seconds())
}

// What the series of a server's page are read as: counters rise while an engine works, whichever of its requests it works
// on; the others are numbers of requests.
const tokensMade, requestsRunning, requestsWaiting = 1, 2, 3

var figures = map[string]int{
	"vllm:generation_tokens_total":             tokensMade,
	"vllm:prompt_tokens_total":                 tokensMade,
	"vllm:iteration_tokens_total_count":        tokensMade,
	"vllm:num_requests_running":                requestsRunning,
	"vllm:num_requests_waiting":                requestsWaiting,
	"sglang:generation_tokens_total":           tokensMade,
	"sglang:inter_token_latency_seconds_count": tokensMade,
	"sglang:realtime_tokens_total":             tokensMade,
	"sglang:num_running_reqs":                  requestsRunning,
	"sglang:num_queue_reqs":                    requestsWaiting,
}

// addLine reads a line of a page in Prometheus's text format.
func (l *look) addLine(line []byte) {
	end := max(0, bytes.IndexAny(line, "{ "))
	kind := figures[string(line[:end])]
	if kind == 0 {
		return
	}
	value, _, _ := bytes.Cut(bytes.TrimSpace(line[max(end, bytes.LastIndexByte(line, '}')+1):]), []byte(" "))
	n, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil, n-n != 0: // NaN is another at each look
	case kind == requestsRunning:
		l.running += n
	case kind == requestsWaiting:
		l.waiting += n
	default:
		l.tokens[string(line[:end])] += n
	}
}
