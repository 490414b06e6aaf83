package result

import (
	"math"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestLostLine has a request whose line could not be read.
func TestLostLine(t *testing.T) {
	requests := []runlog.Request{answered(0, 1, 2, 1, 2), answered(0, 1, 2, 1, 2), failed(0, 1, openai.ReasonTLS)}
	log := newMemlog("host-a")
	log.begin(closed(2, 3), requests[:2])
	log.end(closed(2, 3), requests, runlog.StopRequests)
	want := "The log holds 2 requests, and 3 were sent: some are missing or counted twice."
	if got := stepOf(t, Options{}, log).Warnings[0]; got != want {
		t.Errorf("warning %q, want %q", got, want)
	}
}

func TestNothingToReport(t *testing.T) {
	_, err := reportOf(t, Options{}, newMemlog("a").ended())
	if err == nil || err.Error() != "the run ended before the first step began" {
		t.Errorf("error %v", err)
	}
}

// TestNeverSent holds that a step without a single request sent has an account
// and no figures, and that requests withdrawn before they were sent are in it.
func TestNeverSent(t *testing.T) {
	withdrawn := runlog.Request{Never: true, Trace: openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonCanceled}}}
	s := stepOf(t, Options{}, newMemlog("a").step(closed(2, 2), []runlog.Request{withdrawn, withdrawn}, false).ended())
	equal(t, "account", runlog.Account{Attempted: 2, Canceled: 2}, s.Account)
	equal(t, "figures", Figures{Distributions: Distributions{}, Goodput: Unknown(), Good: Unknown()}, s.Whole, sameValues)
	if s.NotSteady != "no request was sent" || len(s.Warnings) != 0 {
		t.Errorf("not steady as %q, warnings %q", s.NotSteady, s.Warnings)
	}
}

func TestGoodput(t *testing.T) {
	// TTFT 1 s, gaps of 1 s and 3 s, TPOT 4 s / 4, E2E 5 s; and an answer of one token.
	requests := []runlog.Request{
		answered(0, 1, 5, time.Second, 2*time.Second, 5*time.Second),
		answered(0, 1, 1, 10*time.Second),
		failed(0, time.Millisecond, openai.ReasonTLS),
	}
	for name, tt := range map[string]struct {
		objectives runlog.Objectives
		good       float64
	}{
		"TTFT met":            {runlog.Objectives{{Measure: TTFT, Limit: 1}}, 1},
		"TTFT missed":         {runlog.Objectives{{Measure: TTFT, Limit: 0.999999}}, 0},
		"TPOT met":            {runlog.Objectives{{Measure: TPOT, Limit: 1}}, 2},
		"TPOT missed":         {runlog.Objectives{{Measure: TPOT, Limit: 0.999999}}, 1}, // one token has none
		"mean of gaps met":    {runlog.Objectives{{Measure: ITL, Limit: 2}}, 2},
		"mean of gaps missed": {runlog.Objectives{{Measure: ITL, Limit: 1.999999}}, 1},
		"E2E met":             {runlog.Objectives{{Measure: E2E, Limit: 10}}, 2},
		"all but one":         {runlog.Objectives{{Measure: TTFT, Limit: 1}, {Measure: TPOT, Limit: 1}, {Measure: ITL, Limit: 2}, {Measure: E2E, Limit: 4}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{Goodput: tt.objectives}, newMemlog("a").step(closed(3, 3), requests, false).ended())
			equal(t, "goodput", Value(tt.good/10), s.Whole.Goodput, sameValues)
			// The failed request is one of three that ended by themselves.
			if share := s.Whole.GoodRatio(); !(math.Abs(float64(share)-tt.good/3) < 1e-12) {
				t.Errorf("share of good requests %v, want %v", share, tt.good/3)
			}
		})
	}
	s := stepOf(t, Options{}, newMemlog("a").step(closed(3, 3), requests, false).ended())
	if s.Whole.GoodRatio().Known() || s.Whole.Goodput.Known() {
		t.Errorf("goodput without an objective: %v", s.Whole.Goodput)
	}
}
