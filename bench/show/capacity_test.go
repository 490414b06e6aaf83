package show_test

import (
	"io"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// The answer is one sentence, whatever came out.
func TestCapacityAnswer(t *testing.T) {
	answer := func(r *result.Report, a capacity.Answer) {
		a.Levels = r.Capacity.Levels
		r.Capacity.Answer = a
	}
	for want, change := range map[string]func(*result.Report){
		"carries 64 users; 100 miss TPOT p90 (272.3 ms of 250); 1.14 requests/s, 327.6 tokens/s; cards at 58 %": func(*result.Report) {},
		"carries 64 conversations; 100 miss TPOT p90 (272.3 ms of 250); 1.14": func(r *result.Report) {
			r.Steps[0].Conversations = 80
		},
		"carries at least 100 users, the most that were tried; 1.45 requests/s": func(r *result.Report) {
			answer(r, capacity.Answer{Value: 100, AtLeast: true})
		},
		"carries at least 150 users; 200 could not be judged (the load generator was the limit: it used 14.2 of its 16 cores); 1.57 requests/s": func(r *result.Report) {
			answer(r, capacity.Answer{Value: 150, VoidAt: 200, AtLeast: true})
		},
		"carries at least 32 users, as far as it was measured; ": func(r *result.Report) {
			answer(r, capacity.Answer{Value: 32, FailedAt: 64, AtLeast: true, Unfinished: true})
		},
		"carries none: 8 users missed TPOT p90 (300 ms of 250)": func(r *result.Report) {
			answer(r, capacity.Answer{FailedAt: 8})
			r.Steps[0].Held[0].Value = 0.3
		},
		"carries 64 users; 100 miss TPOT p90 (250.1 ms of 250); 1.14": func(r *result.Report) {
			r.Steps[4].Held[0].Value = 0.2501
		},
		"carries none: 1 user missed failures (20 %, at most 1 %)": func(r *result.Report) {
			answer(r, capacity.Answer{FailedAt: 1})
			r.Capacity.Levels[0].Level = 1
			r.Steps[0].Held[2].Value = 0.2
		},
		"What the server carries is not known: 200 users could not be judged (the load": func(r *result.Report) {
			answer(r, capacity.Answer{VoidAt: 200})
		},
		"What the server carries is not known: no level was measured to its end": func(r *result.Report) {
			r.Capacity.Answer = capacity.Answer{}
		},
		"carries 4.2 requests/s; 4.4 miss the rate, as requests pile up (1.37 a second completed); 1.14 requests/s": func(r *result.Report) {
			r.Capacity.Variable = runlog.VariableRequestRate
			answer(r, capacity.Answer{Value: 4.2, FailedAt: 4.4})
			r.Capacity.Levels[3].Level, r.Capacity.Levels[4].Level = 4.2, 4.4
			r.Steps[4].Held[0].Value = 0.2
		},
	} {
		r := searchedSweep()
		change(r)
		if got := show.Answer(r); !strings.HasPrefix(got, want) {
			t.Errorf("answer\n%s\nwant\n%s", got, want)
		}
		if got := rendered(t, func(w io.Writer) error { return show.Print(w, "summary", r, nil) }); !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("it is not printed: %s", got)
		}
	}
}
