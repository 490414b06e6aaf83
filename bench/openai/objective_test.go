package openai

import "testing"

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]Objective{
		"ttft:p90<2s":       {"ttft", 90, 2},
		"tpot:p90<100ms":    {"tpot", 90, 0.1},
		"itl:p99.9 < 80ms":  {"itl", 99.9, 0.08},
		"e2el:p50<=1m":      {"e2el", 50, 60},
		"ttft:p99.99<2s":    {"ttft", 99.99, 2},
		"ttft_later:p90<1s": {"ttft_later", 90, 1},
		"ttft:500":          {"ttft", 0, 0.5},
		"failures<1%":       {Failures, 0, 0.01},
		"failures < 0.5 %":  {Failures, 0, 0.005},
	} {
		if got, err := ParseObjective(text); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "ttft:p90", "first_answer:p9<3s", "e2e:p9<3s", "ttfb:p90<2s", "prompt_length:p9<1s", "ttft<2s", "ttft:90<2s", "ttft:p100<2s",
		"ttft:p0<2s", "ttft:pNaN<2s", "ttft:p90<2", "ttft:p90<0s", "ttft:p90<-1s",
		"failures<1", "failures<0%", "failures<100%", "failures<NaN%", "failures:p90<1%",
	} {
		if l, err := ParseObjective(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, l)
		}
	}
}
