package probe

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// A key that cannot be read, or a token that cannot be had, is no failure of the
// server: it was not asked. The probe is skipped, and no success.
func TestNotSent(t *testing.T) {
	unsent := &openai.Failure{Reason: openai.ReasonConnect, Unsent: true}
	for _, model := range []string{"m", ""} {
		p, l := fakeLoop(makeTarget(t, func(s *Spec) { s.Model = model }), fakeClient{
			models: func(context.Context) ([]openai.Model, *openai.Failure) { return nil, unsent },
			stream: func(context.Context, openai.Request) *openai.Trace { return &openai.Trace{Failure: unsent} },
		})
		for range 2 {
			l.probe(t.Context(), time.Now())
		}
		series := fmt.Sprintf(`{model=%q,target="a"}`, model)
		all := samples(t, p)
		want := map[string]float64{"skipped_total" + series: 2, fmt.Sprintf(`state{model=%q,state="unknown",target="a"}`, model): 1}
		equal(t, "series that are not 0", want, only(all, ""))
		if success, there := all["success"+series]; !there || success != 0 {
			t.Errorf("success is %v, there: %v", success, there)
		}
		if last := p.Statuses()[0].Last; last.Result() != "not_sent" || last.Words() != "not sent" || last.Hint == "" {
			t.Errorf("outcome %+v", last)
		}
	}
}

// A request that this program canceled is no outcome.
func TestOutcomes(t *testing.T) {
	reasons := []openai.Reason{"", openai.ReasonConnect, openai.ReasonCanceled}
	calls := 0
	p, l := fakeLoop(makeTarget(t, nil), fakeClient{stream: func(_ context.Context, r openai.Request) *openai.Trace {
		calls++
		if reason := reasons[calls%3]; reason != "" {
			return failedTrace(r, reason)
		}
		return goodTrace(r)
	}})
	if s := p.Statuses()[0]; !s.Last.At.IsZero() || s.LastSuccess.E2E != 0 {
		t.Errorf("before the first: %+v", s)
	}
	var got []string
	for range 6 {
		l.probe(t.Context(), time.Now())
		got = append(got, p.Statuses()[0].Last.Result())
	}
	equal(t, "outcomes", []string{"connect", "connect", "success", "connect", "connect", "success"}, got)
	const ms = time.Millisecond
	if o := p.Statuses()[0].LastSuccess; o.TTFT != 100*ms || o.TPOT != 25*ms || o.E2E != 150*ms || o.RequestID == "" {
		t.Errorf("last success %+v", o)
	}
}
