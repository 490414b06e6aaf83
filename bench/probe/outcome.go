package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Outcome is how one probe ended.
type Outcome struct {
	At        time.Time // when it ended
	Model     string    // "" where it could not be learned
	RequestID string    // "" when only the list of models was asked for
	// TTFT, TPOT and E2E are 0 where there is none.
	TTFT, TPOT, E2E time.Duration
	Failure         *openai.Failure // nil after a success
	Hint            string          // what to do about the failure, "" where nothing can be said
	isJudged        bool            // by the server's counters: it is neither a success nor a failure of the target
}

// newOutcome is how a request of a target ended, of an empty trace the question for the models.
func newOutcome(t Target, tr *openai.Trace) Outcome {
	o := Outcome{At: time.Now(), Model: tr.Model, RequestID: tr.RequestID, Failure: tr.Failure, Hint: t.hint(tr)}
	o.TTFT, _ = openai.TTFT(tr)
	o.TPOT, _ = openai.TPOT(tr)
	o.E2E, _ = openai.E2E(tr)
	return o
}

// Result is "success", a reason, or "not_sent".
func (o Outcome) Result() string {
	switch {
	case o.Failure == nil:
		return "success"
	case !o.Sent():
		return "not_sent"
	}
	return string(o.Failure.Reason)
}

// Sent reports whether the probe left this machine.
func (o Outcome) Sent() bool { return !unsent(o.Failure) }

// Words is the result in words.
func (o Outcome) Words() string {
	switch {
	case o.Failure == nil:
		return "success"
	case !o.Sent():
		return "not sent"
	case o.RequestID == "":
		return "listing the models failed"
	}
	return o.Failure.Reason.Words()
}

// unsent reports whether a failure is this machine's own and says nothing about the server.
func unsent(f *openai.Failure) bool { return f != nil && (f.Unsent || f.Local) }

// hint is what to do about a failure, "" where nothing can be said.
func (t Target) hint(tr *openai.Trace) string {
	f, isList := tr.Failure, tr.RequestID == ""
	switch {
	case f == nil:
		return ""
	case unsent(f):
		return "the exporter's machine or the probe's configuration is the cause; it is tried again at each probe"
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		return "the server wants a key, or another one: --probe.api-key-file, or http.authorization.credentials_file in YAML"
	case isList && f.Reason == openai.ReasonEmpty:
		return "/v1/models lists no model: set --probe.model, or model in YAML"
	case isList && (f.Status != 0 || f.Reason == openai.ReasonProtocol):
		return "/v1/models failed; if completions work, set --probe.model, or model in YAML"
	case f.Status == http.StatusNotFound:
		return "is the model's name right, and the URL's path? without a model the server's first is taken"
	case f.Reason == openai.ReasonDNS:
		return "does the host name of the URL resolve?"
	case f.Reason == openai.ReasonConnect:
		return "does a server listen at " + openai.HostPort(t.Base) + "?"
	case f.Reason == openai.ReasonTLS:
		return "see http.tls_config (ca_file, cert_file, server_name), or is it a plain http:// server?"
	}
	return ""
}

// What objectives bound, by the SLO's field names, which the label objective has too.
const (
	objectiveTTFT     openai.Measure = "time_to_first_token"
	objectiveTPOT     openai.Measure = "time_per_output_token"
	objectiveITL      openai.Measure = "inter_token_latency" // the longest gap
	objectiveDuration openai.Measure = "request_duration"
)

// objectives are those of the target that are set.
func (t Target) objectives() (all []openai.Objective) {
	for measure, limit := range map[openai.Measure]model.Duration{
		objectiveTTFT: t.SLO.TimeToFirstToken, objectiveTPOT: t.SLO.TimePerOutputToken,
		objectiveITL: t.SLO.InterTokenLatency, objectiveDuration: t.SLO.RequestDuration,
	} {
		if limit > 0 {
			all = append(all, openai.Objective{Measure: measure, Limit: time.Duration(limit).Seconds()})
		}
	}
	return all
}

// missed reports for each set objective whether the request missed it. One that ran out of time waiting for its first
// token, or for its next, missed that, and so did an answer without text. Other failures are counted as failures alone.
func (t Target) missed(tr *openai.Trace) map[string]bool {
	measured := map[openai.Measure]time.Duration{}
	measured[objectiveTTFT], _ = openai.TTFT(tr) // 0 for none, which misses nothing
	measured[objectiveTPOT], _ = openai.TPOT(tr)
	measured[objectiveDuration], _ = openai.E2E(tr)
	if gaps := openai.ITLs(tr); len(gaps) > 0 {
		measured[objectiveITL] = slices.Max(gaps)
	}
	n := len(tr.Chunks)
	switch f := tr.Failure; {
	case f == nil && n == 0:
		measured[objectiveTTFT], measured[objectiveDuration] = math.MaxInt64, math.MaxInt64
	case f == nil:
	case f.Reason == openai.ReasonTimeoutFirstToken:
		measured[objectiveTTFT], measured[objectiveDuration] = tr.End, tr.End
	case f.Reason == openai.ReasonTimeout, f.Reason == openai.ReasonStalled:
		measured[objectiveDuration] = tr.End
		if n > 0 {
			measured[objectiveITL] = max(measured[objectiveITL], tr.End-tr.Chunks[n-1].At)
		}
	}
	missed := map[string]bool{}
	for _, o := range t.objectives() {
		missed[string(o.Measure)] = measured[o.Measure].Seconds() > o.Limit
	}
	return missed
}

// Single is what one probe outside any schedule showed.
type Single struct {
	Outcome
	Trace  *openai.Trace   // nil when the model could not be learned, or the client not be made
	Missed map[string]bool // the target's objectives, and whether the request missed them
}

// Once sends one request to a target, whose model it asks for where none is configured.
func Once(ctx context.Context, t Target) Single {
	c, err := t.client(nil)
	if err != nil {
		failure := &openai.Failure{Reason: openai.ReasonConnect, Detail: err.Error(), Unsent: true}
		return Single{Outcome: newOutcome(t, &openai.Trace{Failure: failure})}
	}
	defer c.CloseIdleConnections()
	model := t.Model
	if model == "" {
		var failure *openai.Failure
		if model, failure = t.firstModel(ctx, c); failure != nil {
			return Single{Outcome: newOutcome(t, &openai.Trace{Failure: failure})}
		}
	}
	trace := t.send(ctx, c, t.request(model, time.Now()))
	return Single{Outcome: newOutcome(t, trace), Trace: trace, Missed: t.missed(trace)}
}

// readAnswerChecks reads expect, expect_same and extra_body of s. expect_same also adds members to the requests.
func (t *Target) readAnswerChecks(s *Spec, refuse func(bad bool, format string, args ...any)) {
	if s.Expect != "" {
		var err error
		t.expect, err = regexp.Compile(s.Expect)
		if bad, ok := errors.AsType[*syntax.Error](err); ok {
			refuse(true, "expect: %s", bad.Code)
		}
	}
	t.extra = map[string]json.RawMessage{}
	if s.ExpectSame {
		s.CacheFriendly = true
		t.extra["temperature"], t.extra["seed"] = json.RawMessage("0"), json.RawMessage("0")
	}
	for name, value := range s.ExtraBody {
		t.extra[name], _ = json.Marshal(value) // what it cannot write is no JSON to the next line
	}
	err := openai.CheckExtra(t.extra)
	refuse(err != nil, "extra_body: %w", err)
}

// send sends a request. An answer that is not what the target's are to be is a failure.
func (t Target) send(ctx context.Context, c client, r openai.Request) *openai.Trace {
	trace := c.Stream(ctx, r)
	if trace.Failure != nil {
		return trace
	}
	answer := text(trace)
	why := ""
	if string(t.extra["ignore_eos"]) != "true" { // beyond its end any text may repeat itself
		why = openai.Degenerate(answer)
	}
	if t.expect != nil && !t.expect.MatchString(answer) {
		why = fmt.Sprintf("a text of %d bytes does not match expect", len(answer))
	}
	if why != "" {
		trace.Failure = &openai.Failure{Reason: openai.ReasonDegenerate, Status: trace.Status, Detail: why}
	}
	return trace
}

// text is that of the answer, of one without an answer that of the reasoning.
func text(t *openai.Trace) string { return cmp.Or(t.Answer, t.Reasoning) }
