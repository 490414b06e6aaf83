package probe

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// What a probe makes of texts: a broken one is a failure without latencies, another one than before is counted.
func TestAnswers(t *testing.T) {
	broken := strings.Repeat("!", 64)
	same := func(s *Spec) { s.ExpectSame, s.Model = true, "" }
	for name, tt := range map[string]struct {
		change  func(*Spec)
		answers []string // "model: text"; a text in parentheses is reasoning
		results string
		changes float64
	}{
		"broken":               {func(*Spec) {}, []string{"m: fine", "m: " + broken, "m: (" + broken + ")"}, "success degenerate degenerate", 0},
		"beyond its end":       {func(s *Spec) { s.ExtraBody = map[string]any{"ignore_eos": true} }, []string{"m: " + broken}, "success", 0},
		"expected":             {func(s *Spec) { s.Expect = "(?i)paris$" }, []string{"m: It is Paris", "m: Paris it is", "m: (Paris)", "m: "}, "success degenerate success degenerate", 0},
		"the same":             {same, []string{"m: a", "m: a", "m: b", "m: b", "m: a"}, "success success success success success", 2},
		"the same of a model":  {same, []string{"m: a", "m: " + broken, "n: b", "n: b"}, "success degenerate success success", 0},
		"others are no matter": {func(*Spec) {}, []string{"m: a", "m: b"}, "success success", 0},
	} {
		t.Run(name, func(t *testing.T) {
			model, text := "", ""
			p, l := fakeLoop(makeTarget(t, tt.change), fakeClient{
				models: func(context.Context) ([]openai.Model, *openai.Failure) { return []openai.Model{{ID: model}}, nil },
				stream: func(_ context.Context, r openai.Request) *openai.Trace {
					trace := goodTrace(r)
					if trace.Answer = text; strings.HasPrefix(text, "(") {
						trace.Answer, trace.Reasoning = "", strings.Trim(text, "()")
					}
					return trace
				},
			})
			var got []string
			for _, answer := range tt.answers {
				model, text, _ = strings.Cut(answer, ": ")
				l.probe(t.Context(), time.Now())
				got = append(got, l.last.Result())
			}
			equal(t, "results", tt.results, strings.Join(got, " "))
			all, changes := samples(t, p), 0.0
			for _, n := range only(all, "answer_changes_total") {
				changes += n
			}
			if n := all[`time_to_first_token_seconds_count{model="m",target="a"}`]; changes != tt.changes || n > float64(strings.Count(tt.results, "success")) {
				t.Errorf("%v changes, want %v; %v latencies", changes, tt.changes, n)
			}
		})
	}
}
