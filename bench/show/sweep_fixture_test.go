package show_test

import (
	"math"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// measured is one column of a sweep as the users wrote it down: Qwen2.5-72B on
// four MXC500, 1,000 requests a level. What they did not write down is made up
// to fit.
type measured struct {
	users                int
	qps, latency, tokens float64
	failed               int
	ttft, tpot           float64
}

// measuredSweep is the report of a closed-loop sweep over eight levels, with failures,
// cards and the server's metrics. Every call makes a new one.
func measuredSweep() *result.Report {
	start := time.Date(2025, 2, 15, 9, 0, 0, 0, time.UTC)
	r := &result.Report{
		Complete:    true,
		Percentiles: []float64{99},
		Runs: []runlog.Run{{
			Schema: runlog.Schema, ID: "5f1c09d2a7b34e60", Started: start, Host: "bench-01", Version: "1.0.0",
			Command: []string{"accelbench", "run", "--dataset-path", "datasets/open qa.jsonl"},
			URL:     "http://127.0.0.1:8000", API: openai.Chat, Model: "qwen2.5",
			Dataset: "openqa", DatasetPath: "datasets/open qa.jsonl", Seed: 42, GOMAXPROCS: 16,
		}},
	}
	for i, m := range []measured{
		{8, 0.37, 20.94, 109.62, 0, 0.21, 0.071},
		{16, 0.61, 25.73, 179.37, 0, 0.26, 0.087},
		{32, 0.89, 35.16, 260.32, 0, 0.41, 0.118},
		{64, 1.08, 55.09, 309.04, 14, 0.74, 0.187},
		{100, 1.37, 61.88, 385.08, 35, 1.11, 0.215},
		{128, 1.44, 67.18, 383.47, 78, 1.62, 0.242},
		{150, 1.48, 70.76, 393.34, 89, 2.35, 0.261},
		{200, 1.47, 73.50, 364.43, 164, 5.96, 0.284},
	} {
		s := measuredStep(i, start, m)
		start = s.Whole.Window.To.Add(10 * time.Second)
		r.Steps = append(r.Steps, s)
	}
	last := &r.Steps[len(r.Steps)-1]
	last.Warnings = []string{"16.4 % of the requests failed: the latencies are of those that did not, and flatter the server."}
	r.Steps[0].Warnings = []string{"1.4 % of the prompt tokens came from the server's prefix cache: send prompts it has not seen."}
	return r
}

func measuredStep(i int, start time.Time, m measured) result.Step {
	length := time.Duration(float64(1000-m.failed) / m.qps * float64(time.Second))
	whole := measuredFigures(m, 1000, result.Window{From: start, To: start.Add(length)})
	steady := measuredFigures(m, 800, result.Window{From: start.Add(length / 20), To: start.Add(length * 19 / 20)})
	steady.RequestThroughput *= 1.06
	steady.OutputThroughput *= 1.06
	step := runlog.Step{Index: i, Started: start, Arrival: runlog.ArrivalClosed, Concurrency: m.users, Requests: 1000}
	return result.Step{
		Step: step, Label: step.Label(false), Machines: 1, Percentiles: []float64{99}, Account: whole.Account, Stop: runlog.StopRequests,
		Whole: whole, Steady: &steady, Joules: result.Value(4 * 290 * length.Seconds()), Cards: measuredCards(m),
		Server: &result.ServerSample{Running: result.Gauge{Samples: 90, Mean: float64(m.users) * 0.9, Max: float64(m.users)}},
	}
}

func measuredCards(m measured) []result.Card {
	var all []result.Card
	for i := range 4 {
		all = append(all, result.Card{
			Vendor: "metax", Device: strconv.Itoa(i), Name: "MXC500", Serves: true,
			Utilization: result.Gauge{Samples: 90, Mean: 0.4 + float64(m.users)/400 + float64(i)/100, Max: 0.98},
			Watts:       result.Gauge{Samples: 90, Mean: 180 + float64(m.users)/2 + float64(3*i), Max: 350},
			Celsius:     result.Gauge{Samples: 90, Mean: 55 + float64(i), Max: 60 + float64(m.users)/20},
		})
	}
	return all
}

func measuredFigures(m measured, requests int, window result.Window) result.Figures {
	account := runlog.Account{Attempted: requests, Succeeded: requests - m.failed*requests/1000}
	if failed := requests - account.Succeeded; failed > 0 {
		account.Failed = map[openai.Reason]int{openai.ReasonTimeout: failed}
	}
	n := int64(account.Succeeded)
	return result.Figures{
		Window: window, Account: account, Completed: account.Succeeded, OutputTokens: int64(m.tokens * window.Duration().Seconds()),
		RequestThroughput: m.qps, OutputThroughput: m.tokens, Goodput: result.Unknown(), Good: result.Unknown(),
		Distributions: result.Distributions{
			result.TTFT: lognormal(n, m.ttft, 0.6), result.TPOT: lognormal(n, m.tpot, 0.2),
			result.ITL: lognormal(n*280, m.tpot*0.97, 0.5), result.E2E: lognormal(n, m.latency, 0.25),
		},
	}
}

// lognormal is a distribution with a mean and a shape.
func lognormal(n int64, mean, shape float64) result.Distribution {
	median := mean / math.Exp(shape*shape/2)
	at := func(z float64) float64 { return median * math.Exp(shape*z) }
	return result.Distribution{
		Count: n, Mean: mean, Std: mean * math.Sqrt(math.Expm1(shape*shape)), Min: at(-3), Max: at(3.2),
		Percentiles: []result.Percentile{
			{P: 50, Value: at(0)}, {P: 90, Value: at(1.2816)}, {P: 95, Value: at(1.6449)}, {P: 99, Value: at(2.3263)},
		},
	}
}

// searchedSweep is [measuredSweep] as if its levels had been chosen by a search for the users whose
// TPOT p90 is at most 250 ms: 64 do, 100 miss. Every call makes a new one.
func searchedSweep() *result.Report {
	r := measuredSweep()
	for i := range r.Steps { // this server rather slows down than fails
		for _, a := range []*runlog.Account{&r.Steps[i].Account, &r.Steps[i].Steady.Account} {
			*a = runlog.Account{Attempted: a.Attempted, Succeeded: a.Attempted}
		}
	}
	objectives := []openai.Objective{
		{Measure: result.TPOT, Percentile: 90, Limit: 0.25},
		{Measure: result.TTFT, Percentile: 90, Limit: 5},
		{Measure: openai.Failures, Limit: 0.01},
	}
	r.Runs[0].Capacity = &runlog.Capacity{
		Variable: runlog.VariableConcurrency, From: 8, To: 200, Precision: 2, Repeat: 1, Objectives: objectives,
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, o := range objectives {
			held := result.ObjectiveResult{Objective: o}
			if o.Percentile > 0 {
				p, _ := s.Steady.Of(o.Measure).At(o.Percentile)
				held.Value = result.Value(p.Value)
			}
			s.Objectives = append(s.Objectives, held)
		}
	}
	return r
}
