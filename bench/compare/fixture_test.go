package compare

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// users is a step of so many users in steady state, with figures that a test
// changes where it cares.
func users(n int, change ...func(*result.Step)) result.Step {
	d := func(p50, p99 float64) result.Distribution {
		return result.Distribution{Count: 900, Mean: p50, Percentiles: []result.Percentile{{P: 50, Value: p50}, {P: 99, Value: p99}}}
	}
	unknown := result.Value(math.NaN())
	s := result.Step{
		Joules: unknown,
		Step: runlog.Step{
			Arrival: runlog.ArrivalClosed, Concurrency: n, Requests: 1000, Timeout: 2 * time.Minute,
			Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		},
		Account: runlog.Account{Attempted: 1000, Succeeded: 1000},
		Stop:    runlog.StopRequests,
		Whole: result.Figures{
			RequestThroughput: 8, OutputThroughput: 2000, OutputTokens: 250_000, Goodput: unknown, Good: unknown,
			Distributions: result.Distributions{
				result.TTFT: d(0.25, 1.5), result.TPOT: d(0.04, 0.06), result.ITL: d(0.035, 0.2), result.E2E: d(10, 14),
				result.PromptLength: {Count: 1000, Mean: 220}, result.OutputLength: {Count: 1000, Mean: 250},
			},
		},
		Checks: result.Checks{Achieved: float64(n), KernelClock: 1},
	}
	for _, c := range change {
		c(&s)
	}
	if s.Label = s.Step.Label(false); s.NotSteady == "" {
		steady := s.Whole
		s.Steady = &steady
	}
	return s
}

func oneReport(steps ...result.Step) *result.Report {
	run := runlog.Run{
		Host: "loader", Version: "1.0.0", API: openai.Chat, Model: "qwen2.5\n",
		Dataset: "openqa", DatasetPath: "/data/open_qa.jsonl\a", // no control character is shown
	}
	return &result.Report{Runs: []runlog.Run{run}, Steps: steps, Complete: true}
}

func failures(n int) func(*result.Step) {
	return func(s *result.Step) {
		s.Account.Succeeded -= n
		s.Account.Failed = map[openai.Reason]int{openai.ReasonTimeout: n}
	}
}

func achieved(n float64) func(*result.Step) {
	return func(s *result.Step) { s.Checks.Achieved = n }
}

// noisy multiplies each figure by its own draw: a spread of so much, relative.
func noisy(r *rand.Rand, spread float64) func(*result.Step) {
	return func(s *result.Step) {
		vary := func(v *float64) { *v *= 1 + spread*r.NormFloat64() }
		vary(&s.Whole.RequestThroughput)
		vary(&s.Whole.OutputThroughput)
		changed(s, vary, result.TTFT, result.TPOT, result.ITL, result.E2E)
	}
}

// faster scales what a side with a better binding would change.
func faster(by float64) func(*result.Step) {
	return func(s *result.Step) {
		s.Whole.RequestThroughput *= by
		s.Whole.OutputThroughput *= by
		changed(s, func(v *float64) { *v /= by }, result.TPOT, result.ITL, result.E2E)
	}
}

// changed changes the percentiles of some latencies of the whole step, and of no copy.
func changed(s *result.Step, change func(*float64), keys ...result.Key) {
	s.Whole.Distributions = maps.Clone(s.Whole.Distributions)
	for _, key := range keys {
		d := s.Whole.Of(key)
		d.Percentiles = slices.Clone(d.Percentiles)
		for i := range d.Percentiles {
			change(&d.Percentiles[i].Value)
		}
		s.Whole.Distributions[key] = d
	}
}

// interleaved is two sides of five repeats in turns, the second 12 % faster.
func interleaved() []Side {
	r := rand.New(rand.NewPCG(1, 2))
	joules := func(j float64) func(*result.Step) {
		return func(s *result.Step) { s.Joules = result.Value(j) }
	}
	none, node0 := Side{Name: "none"}, Side{Name: "node0"}
	for i := range 5 {
		none.Reports = append(none.Reports, oneReport(
			users(8, noisy(r, 0.03), joules(90_000+1000*float64(i))),
			users(100, failures(3), noisy(r, 0.02), joules(70_000+1000*float64(i)))))
		node0.Reports = append(node0.Reports, oneReport(
			users(8, noisy(r, 0.03), joules(91_500+1000*float64(i))),
			users(100, failures(i), faster(1.12), noisy(r, 0.02), joules(60_000+1000*float64(i))),
			users(200)))
	}
	return []Side{none, node0}
}

// bindings are the sides of a comparison on a machine of two nodes: off the node of the
// cards the model takes so many times as long.
func bindings(seed uint64, repeats int, spread, penalty float64) []Side {
	r := rand.New(rand.NewPCG(seed, 47))
	sides := []Side{{Name: "none"}, {Name: "node0"}, {Name: "node1"}, {Name: "interleaved"}}
	servers := []runlog.Server{
		{Binding: "unbound"},
		{Binding: "bound to node 0"},
		{Binding: "bound to node 1"},
		{Binding: "interleaved over all nodes"},
	}
	for range repeats {
		for i := range sides {
			slower := 1 / penalty
			if sides[i].Name == "node0" {
				slower = 1
			}
			one := oneReport(users(100, faster(slower), noisy(r, spread)))
			one.Runs[0].Side, one.Runs[0].Server = sides[i].Name, &servers[i]
			sides[i].Reports = append(sides[i].Reports, one)
		}
	}
	return sides
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test where two values differ.
func equal(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
