package result

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// keptLogs are logs of each kind with the figures that an older version gave for them.
var keptLogs = map[string]string{
	"closed":   "testdata/closed.jsonl",
	"open":     "testdata/open.jsonl",
	"sweep":    "testdata/sweep.jsonl",
	"capacity": "testdata/capacity.jsonl",
	"v0.1.0":   "../runlog/testdata/v0.1.0.jsonl",
}

// TestKeptLogs: every figure of the kept logs is what the report of 0.1.0, which shares no
// code with this one, gave for them; percentiles of gaps may be 0.1 % off, since they come
// from a histogram.
func TestKeptLogs(t *testing.T) {
	for name, log := range keptLogs {
		t.Run(name, func(t *testing.T) {
			r, err := Read(Options{}, log)
			noError(t, err)
			want, err := os.ReadFile(filepath.Join("testdata", name+".figures"))
			noError(t, err)
			compareFigures(t, strings.Split(strings.TrimSpace(string(want)), "\n"), figureLines(r))
		})
	}
}

func compareFigures(t *testing.T, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		tolerance := 1e-9
		if strings.Contains(want[i], "itl") || strings.Contains(want[i], "client_lag") {
			tolerance = 1e-3
		}
		if !sameNumbers(want[i], got[i], tolerance) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}

// sameNumbers reports whether two lines have the same words, numbers among them that
// differ by no more than tolerance of their size.
func sameNumbers(want, got string, tolerance float64) bool {
	a, b := strings.Fields(want), strings.Fields(got)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, err1 := strconv.ParseFloat(a[i], 64)
		y, err2 := strconv.ParseFloat(b[i], 64)
		if a[i] != b[i] && (err1 != nil || err2 != nil || max(x-y, y-x) > tolerance*max(x, -x)) {
			return false
		}
	}
	return true
}

// figureLines are a line for each group of figures of a report.
func figureLines(r *Report) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, strings.TrimSpace(fmt.Sprintf(format, args...))) }
	add("complete %v damaged %d objectives %s", r.Complete, r.Damaged, r.Objectives)
	for i := range r.Steps {
		s := &r.Steps[i]
		add("step %s stop %s not steady %q failed as %v", s.Label.Short, s.Stop, s.NotSteady, s.FailedAs)
		c := &s.Checks
		add("achieved %v %v rate %v kernel %v tokens %v without chunk %v cached %d of %d connections %d cpu %v",
			c.Achieved, c.AchievedWhole, c.AchievedRate, c.KernelClock, c.TokensBy, c.TokensWithoutChunk, c.CachedTokens, c.PromptTokens, s.Whole.Of(Setup).Count, c.ClientCPU)
		add("client_lag mean %.12g max %.12g", c.ClientLag, c.MostLag)
		for _, o := range s.Objectives {
			add("held %s %v known %v", o.Measure, o.Value, o.Value.Known())
		}
		for _, card := range s.Cards {
			add("card %s %s serves %v %v %v %v %v", card.Device, card.Name, card.Serves, card.Utilization, card.Watts, card.Celsius, card.MemoryUsed)
		}
		if s.Joules.Known() {
			add("joules %v", s.Joules)
		}
		if v := s.Server; v != nil {
			add("server %v %v %v queries %v hits %v ours %v", v.Running, v.Waiting, v.CacheUsage, number(v.PrefixQueries), number(v.PrefixHits), v.TTFTOurs)
			if v.TTFT != nil {
				add("server ttft %s", distributionLine(*v.TTFT))
			}
		}
		all = append(all, windowLines("whole", r, &s.Whole)...)
		if s.Steady != nil {
			all = append(all, windowLines("steady", r, s.Steady)...)
		}
	}
	return all
}

func number(v Value) string {
	if !v.Known() {
		return "none"
	}
	return fmt.Sprint(float64(v))
}

func windowLines(name string, r *Report, f *Figures) []string {
	from := f.Window.From.Sub(r.Runs[0].Started)
	all := []string{fmt.Sprintf("%s from %d to %d account %+v completed %d prompt %d output %d rates %v %v %v peak %v %d good %s %v", name,
		from, from+f.Window.Duration(), f.Account, f.Completed, f.PromptTokens, f.OutputTokens,
		f.RequestThroughput, f.OutputThroughput, f.TotalThroughput, f.PeakOutputThroughput, f.PeakConcurrency, number(f.Goodput), f.Good > 0)}
	for _, m := range Measures() {
		if d := f.Of(m.Key); d.Count > 0 {
			all = append(all, name+" "+string(m.Key)+" "+distributionLine(d))
		}
	}
	return all
}

// keptPercentiles are those that the kept figures have.
var keptPercentiles = []float64{50, 90, 95, 99}

func distributionLine(d Distribution) string {
	line := fmt.Sprintf("n %d mean %.12g std %.12g min %.12g max %.12g", d.Count, d.Mean, d.Std, d.Min, d.Max)
	for _, p := range keptPercentiles {
		if v, ok := d.At(p); ok {
			line += fmt.Sprintf(" p%g %.12g", p, v.Value)
		}
	}
	return line
}
