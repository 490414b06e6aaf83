package probe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// script is an endpoint that answers by turns, and well when its turns are over.
type script struct {
	mu     sync.Mutex
	probes []openai.Reason // of each request, "" for a good one
	models []any           // of each question: a name or a Reason
	slow   time.Duration   // of each question
	log    []string        // what was asked
}

func (s *script) Stream(_ context.Context, r openai.Request) *openai.Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "probe "+r.Model)
	if len(s.probes) == 0 {
		return goodTrace(r)
	}
	reason := s.probes[0]
	s.probes = s.probes[1:]
	if reason == "" {
		return goodTrace(r)
	}
	return failedTrace(r, reason)
}

func (s *script) Metrics(context.Context, func([]byte)) *openai.Failure { return nil }

func (s *script) Models(context.Context) ([]openai.Model, *openai.Failure) {
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "models")
	if len(s.models) == 0 {
		return []openai.Model{{ID: "m"}}, nil
	}
	answer := s.models[0]
	s.models = s.models[1:]
	if reason, ok := answer.(openai.Reason); ok {
		return nil, &openai.Failure{Reason: reason}
	}
	return []openai.Model{{ID: answer.(string)}, {ID: "another"}}, nil
}

// play lets n probes of target become due.
func play(t *testing.T, target Target, s *script, n int) *Prober {
	p, l := fakeLoop(target, s)
	stop := running(t, p)
	interval := time.Duration(target.Interval)
	time.Sleep(l.offset() + time.Duration(n)*interval - interval/2)
	stop()
	return p
}

// A configured model is never asked for; any other is asked for once, and again
// after a failure.
func TestWhenModelIsAsked(t *testing.T) {
	const failed = openai.ReasonHTTP4xx
	for name, tt := range map[string]struct {
		configured string
		script     *script
		want       []string
	}{
		"configured":      {"c", &script{probes: []openai.Reason{"", failed, ""}}, []string{"probe c", "probe c", "probe c"}},
		"learned once":    {"", &script{}, []string{"models", "probe m", "probe m", "probe m"}},
		"learned again":   {"", &script{probes: []openai.Reason{"", failed, ""}}, []string{"models", "probe m", "probe m", "models", "probe m"}},
		"another then":    {"", &script{probes: []openai.Reason{failed, "", ""}, models: []any{"old", "new"}}, []string{"models", "probe old", "models", "probe new", "probe new"}},
		"not learned":     {"", &script{models: []any{failed, failed, failed}}, []string{"models", "models", "models"}},
		"learned at last": {"", &script{models: []any{failed, "m"}}, []string{"models", "models", "probe m", "probe m"}},
		"the list broke":  {"", &script{probes: []openai.Reason{failed}, models: []any{"m", failed, "m"}}, []string{"models", "probe m", "models", "probe m", "probe m"}},
	} {
		inBubble(t, name, func(t *testing.T) {
			play(t, makeTarget(t, func(s *Spec) { s.Model = tt.configured }), tt.script, 3)
			equal(t, "asked", tt.want, tt.script.log)
		})
	}
}

func TestSeriesBeforeModelIsKnown(t *testing.T) {
	learned := func(s *Spec) { s.Model = "" }
	t.Run("before the first question", func(t *testing.T) {
		p, _ := fakeLoop(makeTarget(t, learned), fakeClient{})
		equal(t, "series", map[string]float64{}, samples(t, p))
	})
	inBubble(t, "known at last", func(t *testing.T) {
		s := &script{models: []any{openai.ReasonConnect, openai.ReasonConnect, "m"}}
		p := play(t, makeTarget(t, learned), s, 3)
		got := samples(t, p)
		// What was counted stays; what was a state has gone.
		want := map[string]float64{`requests_total{model="",target="a"}`: 2, `skipped_total{model="",target="a"}`: 0}
		for _, r := range openai.Reasons() {
			want[fmt.Sprintf(`failures_total{model="",reason=%q,target="a"}`, r)] = 0
		}
		want[`failures_total{model="",reason="connect",target="a"}`] = 2
		equal(t, "series without a model", want, onlyModel(got, ""))
		configured := samples(t, play(t, makeTarget(t, nil), &script{}, 1))
		for _, all := range []map[string]float64{got, configured} {
			delete(all, `last_success_timestamp_seconds{model="m",target="a"}`)
		}
		if diff := cmp.Diff(onlyModel(configured, "m"), onlyModel(got, "m")); diff != "" {
			t.Errorf("series of a configured model, and of a learned one (-configured +learned):\n%s", diff)
		}
	})
}

// onlyModel keeps the series of one model.
func onlyModel(all map[string]float64, model string) map[string]float64 {
	kept := map[string]float64{}
	for name, v := range all {
		if strings.Contains(name, fmt.Sprintf("model=%q", model)) {
			kept[name] = v
		}
	}
	return kept
}

// The failure after which a server turns out to serve another model stays counted:
// else increase() would never see it.
func TestFailuresOfAFormerModelStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const failed = openai.ReasonHTTP4xx
		s := &script{probes: []openai.Reason{"", failed, failed, ""}, models: []any{"old", "new", "old"}}
		p := play(t, makeTarget(t, func(s *Spec) { s.Model = "" }), s, 3)
		want := map[string]float64{
			`failures_total{model="old",reason="http_4xx",target="a"}`: 1,
			`failures_total{model="new",reason="http_4xx",target="a"}`: 1,
		}
		all := samples(t, p)
		equal(t, "failures", want, only(all, "failures_total"))
		if got := all[`requests_total{model="old",target="a"}`]; got != 2 {
			t.Errorf("%v requests of the former model, want 2", got)
		}
		if _, there := all[`success{model="old",target="a"}`]; there {
			t.Error("the former model still has a state")
		}
	})
}

// A server that names another model at each question would make series without end.
func TestManyModelsAreFewSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, want := new(script), map[string]float64{`requests_total{model="other",target="a"}`: 92}
		for i := range 100 {
			model := fmt.Sprintf("m%02d", i)
			s.probes, s.models = append(s.probes, openai.ReasonHTTP4xx), append(s.models, model)
			if i < 8 {
				want[fmt.Sprintf(`requests_total{model=%q,target="a"}`, model)] = 1
			}
		}
		all := samples(t, play(t, makeTarget(t, func(s *Spec) { s.Model = "" }), s, 100))
		if diff := cmp.Diff(want, only(all, "requests_total")); diff != "" || s.log[len(s.log)-1] != "probe m99" {
			t.Errorf("%s last; series (-want +got):\n%s", s.log[len(s.log)-1], diff)
		}
	})
}
