package show_test

import (
	"io"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// The answer is one sentence, whatever came out.
func TestCapacityAnswer(t *testing.T) {
	tpot := func(r *result.Report, step int, value, plusMinus result.Value) {
		r.Steps[step].Objectives[0].Value, r.Steps[step].Objectives[0].Error = value, plusMinus
	}
	for want, change := range map[string]func(*result.Report){
		"carries 64 users; 100 miss TPOT p90 (272.3 ms, limit 250); 1.14 requests/s, 327.6 tokens/s; cards at 58 %": func(*result.Report) {},
		"carries 64 conversations; 100 miss TPOT p90 (272.3 ms, limit 250); 1.14": func(r *result.Report) {
			r.Steps[0].Conversations = 80
		},
		"carries at least 100 users, the most that were tried; 1.45 requests/s": func(r *result.Report) {
			r.Steps, r.Runs[0].Capacity.To = r.Steps[:5], 100
			tpot(r, 4, 0.2, 0)
		},
		"carries at least 150 users; 200 could not be judged (the load generator was the limit: it used 14.2 of its 16 cores); 1.57 requests/s": func(r *result.Report) {
			for i := range r.Steps {
				tpot(r, i, 0.2, 0)
			}
			r.Steps[7].ClientLimit = "it used 14.2 of its 16 cores"
			r.Steps = append(r.Steps, r.Steps[7])
		},
		"carries at least 64 users, as far as it was measured; ": func(r *result.Report) {
			r.Runs[0].Capacity.Precision = 0.05
		},
		"carries none: 8 users missed TPOT p90 (300 ms, limit 250)": func(r *result.Report) {
			r.Steps = r.Steps[:1]
			tpot(r, 0, 0.3, 0)
		},
		"carries 64 users; 100 miss TPOT p90 (250.1 ms, limit 250); 1.14": func(r *result.Report) {
			tpot(r, 4, 0.2501, 0)
		},
		"carries none: 1 user missed failures (20 %, limit 1)": func(r *result.Report) {
			r.Steps, r.Runs[0].Capacity.From = r.Steps[:1], 1
			r.Steps[0].Concurrency = 1
			r.Steps[0].Objectives[2].Value = 0.2
		},
		"carries none: 8 users missed TTFT p90 (> 10 s, limit 5)": func(r *result.Report) {
			r.Steps = r.Steps[:1]
			r.Steps[0].Objectives[1].Value, r.Steps[0].Objectives[1].AtLeast = 10, true
		},
		"What the server carries is not known: 8 users could not be judged (the load": func(r *result.Report) {
			r.Steps[0].ClientLimit = "late"
			r.Steps = []result.Step{r.Steps[0], r.Steps[0]}
		},
		"What the server carries is not known: no level was measured to its end": func(r *result.Report) {
			r.Steps[0].Stop = runlog.StopInterrupted
		},
		"What the server carries is not known: the server refuses the requests: status 400: max_tokens=5000 cannot be greater than 2048": func(r *result.Report) {
			s := &r.Steps[0]
			s.Account = runlog.Account{Attempted: 20, Failed: map[openai.Reason]int{openai.ReasonHTTP4xx: 20}}
			s.FailedAs = map[openai.Reason]string{openai.ReasonHTTP4xx: "status 400: max_tokens=5000 cannot be greater than 2048"}
		},
		"carries 4.2 requests/s; 4.4 miss the rate, as requests pile up (1.37 a second completed); 1.14 requests/s": func(r *result.Report) {
			r.Steps = r.Steps[3:5]
			for i, rate := range []float64{4.2, 4.4} {
				r.Steps[i].Arrival, r.Steps[i].Concurrency, r.Steps[i].Rate = runlog.ArrivalPoisson, 0, rate
			}
			tpot(r, 1, 0.2, 0)
			r.Steps[1].NotSteady = "the server did not keep up with the rate, so requests piled up: lower it"
			r.Runs[0].Capacity.Variable = runlog.VariableRequestRate
		},
		// Repeats that do not agree, and a higher level that did clearly better, make a range of the answer.
		"carries 64 users (32 to 100: runs of one level do not agree); 100 miss": func(r *result.Report) {
			again := []result.Step{r.Steps[3], r.Steps[3]}
			again[0].Objectives = append([]result.ObjectiveResult(nil), again[0].Objectives...)
			again[0].Objectives[0].Value = 0.26
			r.Steps, r.Runs[0].Capacity.Repeat = append(append(r.Steps, again...), r.Steps[4]), 3
		},
		"carries 64 users (64 to 150: 150 users had better figures than 128, so the server or the machine changed meanwhile); 100 miss": func(r *result.Report) {
			tpot(r, 4, 0.283, 0.01)
			tpot(r, 6, 0.24, 0.01)
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
