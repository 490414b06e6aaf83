package probe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// readAnswerChecks reads what a target's answers are to be, and the members of its requests, which that depends on.
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
		why = fmt.Sprintf("expect is not found in a text of %d bytes", len(answer))
	}
	if why != "" {
		trace.Failure = &openai.Failure{Reason: openai.ReasonDegenerate, Status: trace.Status, Detail: why}
	}
	return trace
}

// text is that of the answer, of one without an answer that of the reasoning.
func text(t *openai.Trace) string { return cmp.Or(t.Answer, t.Reasoning) }

// compare counts an answer that is another than the first, where the target asks for that.
func (l *loop) compare(t *openai.Trace) {
	if !l.target.spec.ExpectSame || t.Failure != nil {
		return
	}
	answer := sha256.Sum256([]byte(text(t)))
	switch l.answer {
	case [sha256.Size]byte{}:
		l.answer = answer
	case answer:
	default:
		l.metrics.answerChanges.WithLabelValues(l.target.Name(), l.label).Inc()
		level.Warn(l.logger).Log("msg", "another answer than the first", "request_id", t.RequestID)
	}
}
