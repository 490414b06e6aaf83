package show_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func ptr[T any](v T) *T { return &v }

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 8*3600))

// spread is a distribution around a mean, with the percentiles that vLLM's and
// evalscope's forms ask for.
func spread(n int64, mean float64) result.Distribution {
	d := result.Distribution{Count: n, Mean: mean, MeanError: result.Value(mean / 50), Std: mean / 4, Min: mean / 2, Max: mean * 2}
	for _, p := range []float64{50, 66, 75, 80, 90, 95, 98, 99, 99.9} {
		d.Percentiles = append(d.Percentiles, result.Percentile{P: p, Value: mean * (0.45 + p/100), Error: result.Value(mean * p / 1000), Independent: result.Value(n / 4)})
	}
	return d
}

func figures(a runlog.Account, seconds float64) result.Figures {
	n := int64(a.Succeeded)
	return result.Figures{
		Window:               result.Window{From: start, To: start.Add(time.Duration(seconds * 1e9))},
		Account:              a,
		Completed:            a.Succeeded,
		PromptTokens:         24 * n,
		OutputTokens:         200 * n,
		RequestThroughput:    float64(n) / seconds,
		OutputThroughput:     200 * float64(n) / seconds,
		TotalThroughput:      224 * float64(n) / seconds,
		PeakOutputThroughput: 1234,
		PeakConcurrency:      128,
		Goodput:              result.Unknown(),
		Good:                 result.Unknown(),
		Distributions: result.Distributions{
			result.TTFT:           spread(n, 0.5),
			result.FirstAnswer:    spread(n, 0.5),
			result.TPOT:           spread(n, 0.04),
			result.ITL:            spread(199*n, 0.041),
			result.E2E:            spread(n, 8.46),
			"ttft_from_planned":   spread(n, 0.6),
			result.E2EFromPlanned: spread(n, 8.56),
			result.Lateness:       spread(n, 0.0001),
			result.Setup:          spread(128, 0.0004),
			result.PromptLength:   spread(n, 24),
			result.OutputLength:   spread(n, 200),
		},
	}
}

// closed is a step of a closed loop in which some requests failed.
func closed() result.Step {
	account := runlog.Account{
		Attempted: 1000, Succeeded: 938,
		Failed: map[openai.Reason]int{openai.ReasonTimeout: 12, openai.ReasonTimeoutFirstToken: 50},
	}
	steady := figures(runlog.Account{Attempted: 800, Succeeded: 780, Failed: map[openai.Reason]int{openai.ReasonTimeout: 20}}, 480)
	return result.Step{
		Step: runlog.Step{
			Started: start, Arrival: runlog.ArrivalClosed, Concurrency: 128, Requests: 1000,
			RampUp: 5 * time.Second, Timeout: 2 * time.Minute,
		},
		Label: runlog.Label{Short: "128", Long: "128 users", Unit: "users"}, Machines: 1, Percentiles: []float64{90, 99}, Account: account, Stop: runlog.StopRequests,
		Whole: figures(account, 630.612), Steady: &steady, Joules: result.Unknown(),
		Checks: result.Checks{
			Achieved: 127.6, AchievedWhole: 115.8, AchievedRate: 1.586, ClientLag: 0.00002, MostLag: 0.0015, KernelClock: 1,
			TokensBy:     map[openai.TokenSource]int{openai.TokensUsage: 930, openai.TokensChunks: 8},
			CachedTokens: 112, PromptTokens: 22512, CacheKnown: true, ClientCPU: 0.42, Arrivals: result.Unknown(), ArrivalsOff: result.Unknown(),
			Trends:  []result.Trend{{Measure: result.TTFT, PerHour: -0.031, PlusMinus: 0.12, Start: result.Value(math.NaN())}},
			Prompts: result.Prompts{Counted: 938, AimedTokens: 938 * 64, CountedTokens: 938 * 74, TemplateTokens: 10},
		},
		Cache: &result.Cache{BlockSize: 16, BlockAssumed: true, Usage: &result.Hits{Tokens: 112, Of: 22512, Ratio: 112.0 / 22512}},
		Dataset: runlog.DatasetCount{
			Prompts: 1000, Passes: 1, TooLong: 1, Skipped: 4, Estimated: 3,
		},
		Warnings: []string{"6.2 % of the requests failed: the percentiles are those of the others, and flatter."},
	}
}

// open is a step of an open loop for which everything is known.
func open() result.Step {
	s := closed()
	s.Step = runlog.Step{
		Index: 1, Started: start.Add(time.Hour), Arrival: runlog.ArrivalGamma, Rate: 4, Burstiness: 0.5, MaxConcurrency: 100,
		Duration: 10 * time.Minute, Timeout: 2 * time.Minute,
	}
	s.Label, s.Stop, s.Machines = s.Step.Label(false), runlog.StopDuration, 2
	s.Whole.Goodput, s.Steady.Goodput = 1.25, 1.5
	s.Whole.Good, s.Steady.Good = 788, 720
	whole, steady := s.Whole.Distributions, s.Steady.Distributions
	whole[result.Queue], steady[result.Queue] = spread(938, 0.03), spread(780, 0.02)
	whole[result.FirstAnswer], steady[result.FirstAnswer] = spread(938, 2.5), spread(780, 2.4)
	whole["token_itl"], steady["token_itl"] = spread(180000, 0.02), spread(150000, 0.019)
	s.Checks.AchievedRate = 3.98
	gauge := func(mean, most float64) result.Gauge { return result.Gauge{Samples: 60, Mean: mean, Max: most} }
	card := func(device string, serves bool) result.Card {
		return result.Card{
			Vendor: "metax", Device: device, Name: "MXC500", Serves: serves, Utilization: gauge(0.36, 0.98),
			Watts: gauge(122, 210), Celsius: gauge(53.5, 61), MemoryUsed: gauge(60e9, 63e9),
		}
	}
	s.Cards = []result.Card{card("0", true), card("1", true), card("2", false)}
	s.Cards[2].Watts = result.Gauge{}
	s.Joules = 153900
	s.Server = &result.ServerSample{
		Running: gauge(96.5, 100), Waiting: gauge(3.2, 17), CacheUsage: gauge(0.41, 0.77), TTFT: ptr(spread(940, 0.47)), TTFTOurs: true,
		PrefixQueries: 22512, PrefixHits: 112,
	}
	return s
}

// nothing is a step that was killed before any request succeeded.
func nothing() result.Step {
	a := runlog.Account{Attempted: 3, Canceled: 1, Failed: map[openai.Reason]int{openai.ReasonConnect: 2}}
	return result.Step{
		Step:  runlog.Step{Index: 2, Started: start, Arrival: runlog.ArrivalBurst, Requests: 3},
		Label: runlog.Label{Short: "3 at once", Long: "all at once"}, Machines: 1, Account: a, NotSteady: "fewer than 20 requests succeeded",
		Whole:  result.Figures{Window: result.Window{From: start, To: start.Add(time.Second)}, Account: a, Goodput: result.Unknown(), Good: result.Unknown()},
		Joules: result.Unknown(), Checks: result.Checks{Arrivals: result.Unknown(), ArrivalsOff: result.Unknown()},
	}
}

func sweep() *result.Report {
	return &result.Report{
		Runs: []runlog.Run{{
			Schema: 1, ID: "0123456789abcdef", Started: start, Host: "bench-1", Version: "0.2.0",
			Command: []string{"accelbench", "run", "--model", "qwen2.5", "--dataset-path", "data sets/open_qa.jsonl"},
			URL:     "http://127.0.0.1:8000", API: openai.Chat, Model: "qwen2.5", Dataset: "openqa",
			DatasetPath: "data sets/open_qa.jsonl", Seed: 7, GOMAXPROCS: 2,
			Metadata: map[string]string{"tp": "4", "card": "MXC500"},
		}},
		Steps:       []result.Step{closed(), open(), nothing()},
		Damaged:     1,
		Percentiles: []float64{90, 99},
		Objectives:  runlog.Objectives{{Measure: result.TTFT, Limit: 1}},
		NotRun:      []string{"8 req/s", "16 req/s"},
	}
}

const evil = "a|b`c```d\x1b[2J\r\n# <b>_e_</b> \u202e\u009b7m 模型 \xff = $(reboot)"

// hostile is a report in which every text from outside wants to break out.
func hostile() *result.Report {
	r := sweep()
	r.Runs = append(r.Runs, r.Runs[0])
	for i := range r.Runs {
		r.Runs[i].Model, r.Runs[i].URL, r.Runs[i].Host, r.Runs[i].DatasetPath = evil, evil, evil, evil
		r.Runs[i].Command = []string{"accelbench", evil, "```"}
		r.Runs[i].Metadata = map[string]string{evil: evil, "completed": "999999", "x": "mine", "p99_ttft_ms": "0"}
	}
	r.NotRun = []string{evil}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.NotSteady = evil
		s.Account.Failed = map[openai.Reason]int{evil: 2, openai.ReasonConnect: 60}
		s.Warnings = []string{evil + " " + evil + " " + evil, evil}
		for k := range s.Cards {
			s.Cards[k].Vendor, s.Cards[k].Device, s.Cards[k].Name = evil, evil, evil
		}
	}
	return r
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
