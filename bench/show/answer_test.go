package show_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// TestWarningsOnce: a warning of several steps that differs only in figures stands once, as
// the last of them has it.
func TestWarningsOnce(t *testing.T) {
	r := measuredSweep()
	r.Damaged = 1
	for i := range r.Steps {
		r.Steps[i].Warnings = []string{fmt.Sprintf("It read %.1f ms late.", 2+float64(i)/10)}
	}
	r.Steps[3].Warnings = nil
	for i, reason := range []string{"http_4xx", "timeout", "timeout", "http_5xx", "timeout"} {
		r.Steps[i].Warnings = append(r.Steps[i].Warnings, fmt.Sprintf("%d of 1000 requests failed (%s: %d).", i, reason, i))
	}
	for _, i := range []int{4, 6} {
		r.Steps[i].Warnings = append(r.Steps[i].Warnings, "Late.")
	}
	var got []string
	for line := range strings.Lines(rendered(t, renderings(r)["summary.txt"])) {
		if strings.HasPrefix(line, "! ") {
			got = append(got, line)
		}
	}
	want := []string{
		"! Lines of the logs that could not be read and are not in the report: 1.\n",
		"! 8, 16, 32, 100, 128, 150, 200: It read 2.7 ms late.\n",
		"! 8: 0 of 1000 requests failed (http_4xx: 0).\n",
		"! 16, 32, 100: 4 of 1000 requests failed (timeout: 4).\n",
		"! 64: 3 of 1000 requests failed (http_5xx: 3).\n",
		"! 100, 150: Late.\n",
	}
	equal(t, "warnings", want, got)
}

func TestAnswer(t *testing.T) {
	good := func(shares ...int) func(*result.Report) {
		return func(r *result.Report) {
			r.Objectives = runlog.Objectives{{Measure: result.TTFT, Limit: 1}}
			for i := range r.Steps {
				s := &r.Steps[i]
				s.Whole.Goodput, s.Whole.Good = 1, result.Value(shares[min(i, len(shares)-1)])
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(*result.Report)
		want   string
	}{
		"most output":        {func(*result.Report) {}, "Most output: 150 users (1.48 requests/s, 393.3 output tokens/s, TTFT p99 7926 ms, TPOT p99 407.4 ms, 8.90 % failed)."},
		"a machine was lost": {func(r *result.Report) { r.Steps[6].Void = new(result.Void) }, "Most output: 100 users (1.37 requests/s, 385.1 output tokens/s, TTFT p99 3744 ms, TPOT p99 335.6 ms, 3.50 % failed)."},
		"answers of one token": {
			func(r *result.Report) {
				r.Steps = r.Steps[:1]
				delete(r.Steps[0].Whole.Distributions, result.TPOT)
			},
			"Most output: 8 users (0.37 requests/s, 109.6 output tokens/s, TTFT p99 708.3 ms, TPOT p99 not known, 0 % failed).",
		},
		"objectives met up to a load": {
			good(1000, 995, 990, 910),
			"The objectives were met up to 32 users (0.89 requests/s, 260.3 output tokens/s, TTFT p99 1383 ms, TPOT p99 184.2 ms, 0 % failed), and not at 64 users.",
		},
		"met once more above": {
			good(1000, 400, 1000),
			"The objectives were met up to 8 users (0.37 requests/s, 109.6 output tokens/s, TTFT p99 708.3 ms, TPOT p99 110.8 ms, 0 % failed), and not at 16 users.",
		},
		"never met":  {good(500), "No load met the objectives, not even 8 users (0.37 requests/s, 109.6 output tokens/s, TTFT p99 708.3 ms, TPOT p99 110.8 ms, 0 % failed)."},
		"always met": {good(1000), "Every load met the objectives, up to 200 users (1.47 requests/s, 364.4 output tokens/s, TTFT p99 20103 ms, TPOT p99 443.3 ms, 16.4 % failed). A higher load may do so too."},
		"a rate that the server does not bear": {
			func(r *result.Report) {
				good(400, 1000)(r) // the first is at an infinite rate
				for i := range r.Steps {
					r.Steps[i].Step = runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: float64(i + 1)}
					r.Steps[i].Label = r.Steps[i].Step.Label(false)
				}
				r.Steps[0].Step = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 3}
				r.Steps[0].Label = r.Steps[0].Step.Label(false)
				r.Steps[4].Steady, r.Steps[4].NotSteady = nil, "the server did not keep up with the rate, so requests piled up: lower it"
			},
			"The objectives were met up to 4 requests/s (1.08 requests/s, 309.0 output tokens/s, TTFT p99 2496 ms, TPOT p99 291.9 ms, 1.40 % failed), and not at 5 requests/s.",
		},
		"nothing succeeded": {
			func(r *result.Report) {
				for i := range r.Steps {
					r.Steps[i].Account = runlog.Account{Attempted: 3, Failed: map[openai.Reason]int{openai.ReasonHTTP5xx: 3}}
					r.Steps[i].FailedAs = map[openai.Reason]string{openai.ReasonHTTP5xx: "status 503: no\x1b[2J worker"}
				}
			},
			"No request succeeded. The first failure was http_5xx: status 503: no [2J worker",
		},
	} {
		r := measuredSweep()
		tt.change(r)
		equal(t, name, tt.want, show.Answer(r))
	}
}
