package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func compared(t *testing.T, sides []Side, notes ...string) *Comparison {
	t.Helper()
	c, err := Compare(sides, nil, notes...)
	noError(t, err)
	return c
}

func find(t *testing.T, c *Comparison, level, side, metric string) Row {
	t.Helper()
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			for _, r := range p.Rows {
				if l.Name == level && p.Side == side && r.Metric == metric {
					return r
				}
			}
		}
	}
	t.Fatalf("no %s of %s at %s", metric, side, level)
	return Row{}
}

// The golden files are what a user reads: look at their difference as one would.
func TestGolden(t *testing.T) {
	bound := bindings(1, 5, 0.02, 1.2)
	for name, c := range map[string]*Comparison{
		"interleaved": compared(t, interleaved()),
		"not-started": compared(t, []Side{bound[0], bound[1], bound[3]}, "Side node1 was given up in repeat 1: the server did not start."),
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			noError(t, c.Text(&got))
			expositiontest.Golden(t, "testdata/"+name+".golden.txt", got.String(), *update)
		})
	}
}

// A reader of the JSON finds every run's value, and no figure that is none.
func TestJSONHoldsEveryRun(t *testing.T) {
	text, err := json.Marshal(compared(t, interleaved()))
	noError(t, err)
	var read Comparison
	noError(t, json.Unmarshal(text, &read))
	row := find(t, &read, "8 users", "node0", "ttft_p50")
	if len(row.Base.Values) != 5 || len(row.Side.Values) != 5 || !(row.P > 0) {
		t.Errorf("row %+v", row)
	}
}

// One run a side ranked the users' bindings once, from 60 to 80 live clients of
// 100; and five repeats on one start of each server are no five runs. Both must rank
// nothing now, and say both why and what to do.
func TestOneStartASideRanksNothing(t *testing.T) {
	for _, repeats := range []int{1, 5} {
		none, node0 := oneReport(), oneReport()
		for i := range repeats {
			repeat := func(s *result.Step) { s.Repeat = i }
			none.Steps = append(none.Steps, users(100, achieved(74), repeat))
			node0.Steps = append(node0.Steps, users(100, faster(1.1+float64(i)/100), achieved(80), repeat))
		}
		c := compared(t, []Side{{Name: "none", Reports: []*result.Report{none}}, {Name: "node0", Reports: []*result.Report{node0}}})
		p := c.Levels[0].Pairs[0]
		for _, r := range p.Rows {
			if r.Finding != "one start of the server each" || r.P.Known() {
				t.Errorf("%s of %d repeats: %s", r.Metric, repeats, r.text(r.column.Unit))
			}
		}
		if diff := cmp.Diff([]string{"not alike: 74 and 80 were in flight"}, p.Warnings); diff != "" || c.Tests != 0 {
			t.Errorf("%d tests, warnings (-want +got):\n%s", c.Tests, diff)
		}
		if notes := strings.Join(c.Notes, "\n"); !strings.HasPrefix(notes, "Between server starts, n = 1 each: ") {
			t.Errorf("notes:\n%s", notes)
		}
	}
}

// Five logs are five runs, whether or not each repeats its load: the median of the repeats
// is the run's value.
func TestLogsAreRuns(t *testing.T) {
	sides := []Side{{Name: "before"}, {Name: "after"}}
	for i := range 5 {
		ms := func(tpot float64) result.Step {
			return users(100, func(s *result.Step) { changed(s, func(v *float64) { *v = tpot / 1000 }, result.TPOT) })
		}
		x := float64(i)
		sides[0].Reports = append(sides[0].Reports, oneReport(ms(40+x)))
		sides[1].Reports = append(sides[1].Reports, oneReport(ms(20+x), ms(35+x), ms(36+x)))
	}
	r := find(t, compared(t, sides), "100 users", "after", "tpot_p50")
	got := []any{r.Base.Values, r.Side.Values, r.text(r.column.Unit)}
	want := []any{[]float64{0.040, 0.041, 0.042, 0.043, 0.044}, []float64{0.035, 0.036, 0.037, 0.038, 0.039}, "better: -11.9 % (p=0.0079)"}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Figures of the steady state are held against each other only when every run was
// steady: a ramp on one side alone would look like a difference.
func TestSteadyOnlyWhenAllAre(t *testing.T) {
	sides := interleaved()
	sides[1].Reports[4].Steps[0].Steady = nil
	c := compared(t, sides)
	if c.Levels[0].Part != "whole" || c.Levels[1].Part != "steady" {
		t.Errorf("parts %q and %q, want whole at 8 and steady at 100", c.Levels[0].Part, c.Levels[1].Part)
	}
}

// A level that one side did not come to, as its server died before, does not pass.
func TestGatesOfALevelThatWasNotRun(t *testing.T) {
	gate, err := ParseGate("ttft:p99>5%")
	noError(t, err)
	sides := []Side{{Name: "before"}, {Name: "after"}}
	for range 5 {
		sides[0].Reports = append(sides[0].Reports, oneReport(users(8), users(64)))
		sides[1].Reports = append(sides[1].Reports, oneReport(users(8)))
	}
	c, err := Compare(sides, []Gate{gate})
	noError(t, err)
	worse, undecided := c.Check([]Gate{gate})
	equal(t, "worse, undecided", [][]string{nil, {"64 users: not run on side after"}}, [][]string{worse, undecided})
}

func TestCompareRefuses(t *testing.T) {
	good := func(name string, n int) Side {
		return Side{Name: name, Reports: []*result.Report{oneReport(users(n))}}
	}
	for _, sides := range [][]Side{{good("a", 8)}, {good("a", 8), good("b", 16)}} {
		if _, err := Compare(sides, nil); err == nil || !strings.Contains(err.Error(), "no other side ran a load that the first side ran") {
			t.Errorf("Compare: %v", err)
		}
	}
}

// What makes two sides unlike is said beside the verdicts; what is the same on
// both is not mentioned, nor the order in which they ran.
func TestWarnings(t *testing.T) {
	open := func(rate, inFlight float64) func(*result.Step) {
		return func(s *result.Step) {
			s.Arrival, s.Rate, s.Concurrency = runlog.ArrivalPoisson, 4, 0
			s.Checks.AchievedRate, s.Checks.Achieved = rate, inFlight
		}
	}
	burst := func(rate float64) func(*result.Step) {
		return func(s *result.Step) { s.Arrival, s.Concurrency, s.Checks.AchievedRate = runlog.ArrivalBurst, 0, rate }
	}
	length := func(key result.Key, mean float64) func(*result.Step) {
		return func(s *result.Step) { s.Whole.Distributions[key] = result.Distribution{Count: 1000, Mean: mean} }
	}
	for _, tt := range []struct {
		name       string
		base, side func(*result.Step)
		want       string // nothing for no warning
	}{
		{"nearly as many in flight", achieved(100), achieved(96), ""},
		{"fewer in flight", achieved(100), achieved(94), "not alike: 100 and 94 were in flight"},
		{"a failure or two", failures(0), failures(5), ""},
		{"more failures", failures(0), failures(20), "not alike: 0 % and 2 % of the requests failed"},
		{"longer prompts", length(result.PromptLength, 220), length(result.PromptLength, 260), "not alike: prompts had 220 and 260 tokens"},
		{"shorter answers", length(result.OutputLength, 250), length(result.OutputLength, 200), "not alike: answers had 250 and 200 tokens"},
		{"killed", achieved(100), func(s *result.Step) { s.Stop = "" }, "some runs were cut short"},
		{"other latency of an open loop", open(4, 40), open(4, 20), ""},
		{"a burst sent faster", burst(4e5), burst(2e5), ""},
		{"other rate", open(4, 40), open(3, 40), "not alike: 4 and 3 requests a second were sent"},
	} {
		base, side := users(100, tt.base), users(100, tt.side)
		got := strings.Join(warnings([]*result.Step{&base}, []*result.Step{&side}), "\n")
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" || strings.Contains(got, "\n") {
			t.Errorf("%s: warnings:\n%s\nwant: %s", tt.name, got, tt.want)
		}
	}
}
