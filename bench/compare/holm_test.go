package compare

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// eightNodes is a comparison of the bindings of a machine with eight nodes: TPOT has 2 %
// of noise from run to run and drifts by 3 % while the turns go on. It takes factors times
// as long on the sides that are named there.
func eightNodes(seed uint64, runs int, factors map[string]float64) []Side {
	names := []string{"none", "node0", "node1", "node2", "node3", "node4", "node5", "node6", "node7", "interleaved"}
	var plan Plan
	var sides []Side
	for _, name := range names {
		plan.Sides = append(plan.Sides, PlannedSide{Name: name})
		sides = append(sides, Side{Name: name})
	}
	plan.Repeats = runs
	r := rand.New(rand.NewPCG(seed, 8))
	turns := plan.turns()
	for i, turn := range turns {
		tpot := 0.04 * (1 + 0.03*float64(i)/float64(len(turns))) * math.Exp(0.02*r.NormFloat64())
		if factor, named := factors[turn.Side.Name]; named {
			tpot *= factor
		}
		one := oneReport(users(100, func(s *result.Step) {
			s.Whole.Distributions = result.Distributions{result.TPOT: {Count: 900, Percentiles: []result.Percentile{{P: 50, Value: tpot}}}}
		}))
		one.Runs[0].Server = &runlog.Server{Binding: turn.Side.Name}
		at := slices.Index(names, turn.Side.Name)
		sides[at].Reports = append(sides[at].Reports, one)
	}
	return sides
}

// Where no binding differs, one comparison in twenty may say otherwise: of 200, 15 are as
// many as chance gives in 95 of 100 cases. One that is slower is found with the runs that
// a comparison of so many bindings makes by itself.
func TestEightNodes(t *testing.T) {
	runs := LeastRuns(10)
	const draws = 200
	wrong, found := 0, 0
	for seed := range uint64(draws) {
		equal := compared(t, eightNodes(seed, runs, nil))
		differs := func(p Pair) bool {
			return slices.ContainsFunc(p.Rows, func(r Row) bool { return r.Metric == "tpot_p50" && r.Finding != NoDifference })
		}
		if slices.ContainsFunc(equal.Levels[0].Pairs, differs) || !strings.HasPrefix(equal.Bindings[0].Verdict, "no binding differs from none by more than ") {
			wrong++
		}
		slower := compared(t, eightNodes(seed, runs, map[string]float64{"node5": 1.2}))
		if strings.HasPrefix(slower.Bindings[0].Verdict, "no binding is faster than none in TPOT p50; node5 is ") {
			found++
		}
	}
	if wrong > 15 || found < draws*95/100 {
		t.Errorf("of %d comparisons %d find a difference where there is none, and %d a binding that is 20 %% slower", draws, wrong, found)
	}
}

// What is three times slower in every run is found on a host of eight nodes. Too few runs
// say nothing but how many would do.
func TestThreeTimesSlower(t *testing.T) {
	for _, tt := range []struct {
		runs    int
		factors map[string]float64
		verdict string
		found   []string // of node0, node3 and node7
	}{
		{
			6,
			map[string]float64{"node3": 3},
			`^no binding is faster than none in TPOT p50; node3 is \d{3}\.\d % \[\d{3}\.\d %, \d{3}\.\d %\] slower$`,
			[]string{`^no difference found$`, `^\d{3}\.\d % \[\d{3}\.\d %, \d{3}\.\d %\] slower$`, `^no difference found$`},
		},
		{
			6,
			map[string]float64{"node0": 1. / 3, "node3": 3, "node7": 1. / 2},
			`^node0 is 6\d\.\d % \[6\d\.\d %, 6\d\.\d %\] faster in TPOT p50 than none$`,
			[]string{` faster$`, ` slower$`, ` faster$`},
		},
		{
			5,
			map[string]float64{"node3": 3},
			`^too few runs with a TPOT p50 to tell the bindings apart: 6 of each are needed$`,
			[]string{`^6 runs of each are needed$`, `^6 runs of each are needed$`, `^6 runs of each are needed$`},
		},
	} {
		b := compared(t, eightNodes(1, tt.runs, tt.factors)).Bindings[0]
		got := []string{b.Verdict, b.Rows[1].Found, b.Rows[4].Found, b.Rows[8].Found}
		for i, want := range append([]string{tt.verdict}, tt.found...) {
			if !regexp.MustCompile(want).MatchString(got[i]) {
				t.Errorf("%v with %d runs: %q, want %s", tt.factors, tt.runs, got[i], want)
			}
		}
	}
}

// Of three sides the second is found because the first was, as in Holm's procedure; one
// with too few runs takes nothing from the others.
func TestHolm(t *testing.T) {
	base := []float64{1, 2, 3, 4, 5}
	others := [][]float64{
		{3.5, 4.5, 6, 7, 8},       // U = 3: p = 0.056
		{4.5, 6, 7, 8, 9},         // U = 1: p = 0.016
		{10, 11, 12, 13, 14},      // U = 0: p = 0.0079
		{100},                     // p = 0.33 at best
		{10, 11, 12, 13, 14, 15.}, // of six runs: p = 0.0043
	}
	var got []string
	for _, v := range judge(base, others, latency) {
		v.Change = result.Unknown()
		got = append(got, v.text(latency.Unit))
	}
	want := []string{"no difference found (p=0.056)", "worse (p=0.032)", "worse (p=0.024)", "too few runs", "worse (p=0.017)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeastRuns(t *testing.T) {
	got := map[int]int{}
	for _, sides := range []int{2, 3, 4, 7, 8, 10, 18} {
		got[sides] = LeastRuns(sides)
	}
	// 2 / C(2n, n) < 0.05 / (sides - 1)
	if diff := cmp.Diff(map[int]int{2: 4, 3: 5, 4: 5, 7: 5, 8: 6, 10: 6, 18: 6}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
