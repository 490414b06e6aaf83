package show_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// charted is what a page gives its charts to draw.
type charted struct {
	Axis   string
	IsLog  bool
	X      []float64
	Note   string
	Charts []struct {
		Title string
		X     []float64
		Lines []struct {
			Name              string
			At                []int
			Values, Low, High []*float64
		}
		Limits []limit
		Mark   *limit
	}
}

type limit struct {
	Name  string
	Value float64
}

// chartsOf are those over the load, then those of each step.
func chartsOf(t *testing.T, r *result.Report) []charted {
	t.Helper()
	_, text, _ := strings.Cut(renderedPage(t, r), `id="data">`)
	text, _, _ = strings.Cut(text, "</script>")
	var all []charted
	noError(t, json.Unmarshal([]byte(text), &all))
	return all
}

func TestChartsOverLoad(t *testing.T) {
	r := searchedSweep()
	again := r.Steps[3] // 64 users once more, with other figures
	steady := *again.Steady
	steady.Distributions = result.Distributions{result.TPOT: lognormal(1000, 0.3, 0.2)}
	again.Steady, again.Repeat = &steady, 1
	r.Steps = append(r.Steps, again)
	over := chartsOf(t, r)[0]
	if diff := cmp.Diff([]float64{8, 16, 32, 64, 100, 128, 150, 200}, over.X); diff != "" || over.Axis != "users" || !over.IsLog {
		t.Errorf("the axis is of %s, logarithmic %t:\n%s", over.Axis, over.IsLog, diff)
	}
	limits := map[string][]limit{}
	for _, c := range over.Charts {
		limits[c.Title] = c.Limits
	}
	equal(t, "what the server carries", &limit{"carries 64", 64}, over.Charts[4].Mark)
	r.Runs[0].Capacity.Precision = 0.05 // other levels were to come
	equal(t, "what it carries at least", &limit{"carries at least 64", 64}, chartsOf(t, r)[0].Charts[4].Mark)
	r.Steps[0].Stop = runlog.StopInterrupted
	equal(t, "what is not known", (*limit)(nil), chartsOf(t, r)[0].Charts[4].Mark)
	want := map[string][]limit{
		"requests (req/s)": nil, "E2E mean (ms)": nil, "output (tok/s)": nil, "failures (%)": {{"failures <1 %", 1}},
		"TTFT (ms)": {{"TTFT p90 <5 s", 5000}}, "TPOT (ms)": {{"TPOT p90 <250 ms", 250}}, "ITL (ms)": nil, "E2E (ms)": nil,
	}
	equal(t, "objectives", want, limits)
	p50 := over.Charts[5].Lines[0]
	if low, high := *p50.Low[3], *p50.High[3]; p50.Name != "TPOT p50" || low >= *p50.Values[3] || high <= *p50.Values[3] || high > 300 {
		t.Errorf("%s of two repeats is %g between %g and %g", p50.Name, *p50.Values[3], low, high)
	}

	r = measuredSweep() // the last at an infinite rate
	for i := range 7 {
		r.Steps[i].Step = runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: float64(i + 1)}
		r.Steps[i].Label = r.Steps[i].Step.Label(false)
	}
	if rates := chartsOf(t, r)[0]; rates.Axis != "requests/s" || len(rates.X) != 7 {
		t.Errorf("loads in %s: %v", rates.Axis, rates.X)
	}

	r = searchedSweep()
	r.Steps = r.Steps[3:4]
	if one := chartsOf(t, r)[0]; len(one.Charts) > 0 {
		t.Errorf("one load has %d charts over the load", len(one.Charts))
	}
}

// A gauge of a long step is drawn in part, and the page says so.
func TestSamplesInPart(t *testing.T) {
	r := timedSweep()
	r.Steps[0].Timeline.OneIn = 3
	if note := chartsOf(t, r)[1].Note; note != "Of the samples of server and cards one in 3 is drawn." {
		t.Error(note)
	}
}

// A page draws 20,000 requests at most, and never hides a failure or a stall among them.
func TestPointsAreThinned(t *testing.T) {
	for name, tt := range map[string]struct {
		requests, failEvery, least int
		failures                   int // drawn
	}{
		"all":           {5000, 100, 5000, 50},
		"few failures":  {50000, 1000, 15000, 50},
		"many failures": {50000, 2, 10000, 10000},
	} {
		t.Run(name, func(t *testing.T) {
			r := timedSweep()
			r.Steps = r.Steps[:1]
			var all []result.Point
			for i := range tt.requests {
				p := result.Point{Sent: float64(i), TTFT: 0.5, End: 1, Late: result.Unknown(), Lag: result.Unknown()}
				if i%tt.failEvery == tt.failEvery-1 {
					p.TTFT, p.Failure = result.Unknown(), openai.ReasonStalled
				}
				all = append(all, p)
			}
			all[3210].TTFT, all[4320].End = 77, 99
			r.Steps[0].Timeline.Requests = all
			step := chartsOf(t, r)[1]
			if n := len(step.X); n > 20000 || n < tt.least || (step.Note == "") != (n == tt.requests) {
				t.Errorf("%d are drawn: %q", n, step.Note)
			}
			most := map[string]float64{}
			for _, c := range step.Charts[:2] {
				for _, v := range c.Lines[0].Values {
					if v != nil {
						most[c.Title] = max(most[c.Title], *v)
					}
				}
				if n := len(c.Lines[1].At); n != tt.failures {
					t.Errorf("%d failures are drawn", n)
				}
			}
			equal(t, "the slowest", map[string]float64{"TTFT (ms)": 77000, "E2E (ms)": 99000}, most)
		})
	}
}
