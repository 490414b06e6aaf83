package result

import (
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]Limit{
		"ttft:p90<2s":             {"ttft", 90, 2},
		"tpot:p90<100ms":          {"tpot", 90, 0.1},
		"itl:p99.9 < 80ms":        {"itl", 99.9, 0.08},
		"e2e:p50<=1m":             {"e2el", 50, 60},
		"e2el:p50<30s":            {"e2el", 50, 30},
		"ttft:p99.99<2s":          {"ttft", 99.99, 2},
		"first_answer:p95<3s":     {"first_answer", 95, 3},
		"ttft_from_planned:p9<1s": {"ttft_from_planned", 9, 1},
		"failures<1%":             {runlog.LimitFailures, 0, 0.01},
		"failures < 0.5 %":        {runlog.LimitFailures, 0, 0.005},
	} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                    "want a figure, < and its limit, such as ttft:p90<2s or failures<1%",
		"ttft:p90":            "want a figure",
		"ttft:500":            "want a figure",
		"ttfb:p90<2s":         `no figure is called "ttfb" (known: ttft, ttft_from_planned, first_answer, tpot, itl, token_itl, e2el, e2el_from_planned, failures)`,
		"prompt_length:p9<1s": "no figure is called",
		"ttft<2s":             `"" is no percentile of ttft, such as ttft:p90`,
		"ttft:90<2s":          `"90" is no percentile of ttft`,
		"ttft:p100<2s":        "is no percentile",
		"ttft:p99.9999<2s":    "p99.9999 of ttft takes too many requests: give at most p99.99",
		"ttft:p0<2s":          "is no percentile",
		"ttft:pNaN<2s":        "is no percentile",
		"ttft:p90<2":          `"2" is no time above 0 with its unit, such as 100ms or 2s`,
		"ttft:p90<0s":         "is no time",
		"ttft:p90<-1s":        "is no time",
		"failures<1":          `"1" is no share between 0% and 100%, such as 1%`,
		"failures<0%":         "is no share",
		"failures<100%":       "is no share",
		"failures<NaN%":       "is no share",
		"failures:p90<1%":     "failures have no percentile",
	} {
		if l, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v, want %q", text, l, err, want)
		}
	}
}

// TestNear: few samples say little about a percentile, many of one run not everything.
func TestNear(t *testing.T) {
	figure := func(n int) *recorder {
		m := newRecorder(1e6)
		i := m.index(TTFT)
		for k := range n {
			m.samples[i].add(int64(float64(k+1) / float64(n) * 2e8)) // even up to 200 ms: p50 is some 100
		}
		m.samples[i].distribution([]float64{50}, perSecond)
		return m
	}
	for _, c := range []struct {
		n     int
		limit float64
		near  bool
	}{
		{20, 0.13, true}, // half of 20 may as well be 5 to 15 of them
		{2000, 0.13, false},
		{2000, 0.104, true},
		{100000, 0.104, true}, // 5 % of the limit, however many
		{100000, 0.096, true},
		{100000, 0.11, false},
	} {
		h := held([]runlog.Limit{{Name: "ttft", Percentile: 50, Limit: c.limit}}, figure(c.n), &Figures{})[0]
		if h.Near() != c.near || !h.Known {
			t.Errorf("%d samples, limit %v: %+v, near %v", c.n, c.limit, h, h.Near())
		}
	}
	failures := func(succeeded, failed int) Held {
		a := Account{Attempted: succeeded + failed, Succeeded: succeeded}
		if failed > 0 {
			a.Failed = map[openai.Reason]int{"timeout": failed}
		}
		return held([]runlog.Limit{{Name: runlog.LimitFailures, Limit: 0.01}}, newRecorder(9), &Figures{Account: a})[0]
	}
	for _, c := range []struct {
		succeeded, failed int
		near, missed      bool
	}{{20, 0, false, false}, {199, 1, true, false}, {20, 1, true, true}, {100, 20, false, true}, {9990, 10, false, false}} {
		if h := failures(c.succeeded, c.failed); h.Near() != c.near || h.Missed() != c.missed {
			t.Errorf("%d of %d failed: %+v, near %v, missed %v", c.failed, c.succeeded+c.failed, h, h.Near(), h.Missed())
		}
	}
	if h := failures(0, 0); h.Known {
		t.Errorf("known of nothing: %+v", h)
	}
}
