package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// searched runs a search to its end, with what a run at a level says; n counts the runs.
func searched(t *testing.T, r *runlog.Capacity, run func(level float64, n int) Verdict) (*Result, []float64) {
	t.Helper()
	var levels []float64
	var tried []Trial
	for level, more := next(r, nil); more; level, more = next(r, tried) {
		if level < r.From || level > r.To || r.Variable == runlog.VariableConcurrency && level != math.Trunc(level) {
			t.Fatalf("level %v is none of %+v", level, r)
		}
		if len(levels) > 200 {
			t.Fatalf("no end after %v", levels)
		}
		tried = append(tried, Trial{Level: level, Verdict: run(level, len(levels))})
		levels = append(levels, level)
	}
	return newResult(r, tried), levels
}

// carries is a server that carries up to so much, without any noise.
func carries(most float64) func(float64, int) Verdict {
	return func(level float64, _ int) Verdict {
		if level <= most {
			return Met
		}
		return Missed
	}
}

func users() *runlog.Capacity {
	return &runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 256, Precision: 0.05, Repeat: 3}
}

var ignoreLevels = cmp.Options{
	cmpopts.IgnoreFields(Result{}, "Levels", "Low", "High", "Variable", "Search", "Binding", "Contradiction", "Objectives", "Ended"),
	cmpopts.IgnoreUnexported(Result{}),
}

// A server with a known limit is found exactly, or within the precision, in the fewest
// levels.
func TestKnownAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		r      *runlog.Capacity
		most   float64
		want   Result
		levels []float64
	}{
		"in between":              {users(), 37, Result{Value: 37, FailedAt: 38, Finished: true}, []float64{1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 38, 37, 37, 38}},
		"the precision is enough": {users(), 131, Result{Value: 130, FailedAt: 132, Finished: true}, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 192, 160, 144, 136, 132, 130, 130, 132}},
		"no level misses":         {users(), 1000, Result{Value: 256, AtLeast: true, Finished: true}, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}},
		"the lowest misses":       {users(), 0, Result{FailedAt: 1, Finished: true}, []float64{1, 1}},
		"one level":               {&runlog.Capacity{Variable: runlog.VariableConcurrency, From: 8, To: 8, Precision: 0.05, Repeat: 3}, 9, Result{Value: 8, AtLeast: true, Finished: true}, []float64{8}},
		"a rate":                  {&runlog.Capacity{From: 0.5, To: 20, Precision: 0.05, Repeat: 3}, 4.2, Result{Value: 4.1771, FailedAt: 4.2685, Finished: true}, []float64{0.5, 1, 2, 4, 8, 5.6569, 4.7568, 4.362, 4.1771, 4.2685, 4.1771, 4.2685}},
		"no repeats":              {&runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 4, Precision: 0.05, Repeat: 1}, 2, Result{Value: 2, FailedAt: 3, Finished: true}, []float64{1, 2, 4, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			got, levels := searched(t, tt.r, carries(tt.most))
			equal(t, "answer", tt.want, *got, ignoreLevels)
			equal(t, "levels", tt.levels, levels)
		})
	}
}

// With noise from run to run most answers are still right.
func TestNoise(t *testing.T) {
	const seeds = 500
	for _, noise := range []struct{ share, right float64 }{{0, 1}, {0.02, 0.97}, {0.03, 0.92}} {
		for name, r := range map[string]*runlog.Capacity{"users": users(), "rates": {From: 0.5, To: 200, Precision: 0.05, Repeat: 3}} {
			right := 0
			for seed := range uint64(seeds) {
				draws := rand.New(rand.NewPCG(seed, 1))
				most := 20 * math.Exp(2*draws.Float64()) // 20 to 148
				got, _ := searched(t, r, func(level float64, _ int) Verdict {
					return carries(0)(math.Log(level/most)+noise.share*draws.NormFloat64(), 0)
				})
				if math.Abs(float64(got.Value)-most) <= max(1, r.Precision*most) {
					right++
				}
			}
			if share := float64(right) / seeds; share < noise.right {
				t.Errorf("noise %v, %s: %.3f of the answers are within the precision, want %v", noise.share, name, share, noise.right)
			}
		}
	}
}

// A level that cannot be judged is tried once more. Where it is the lowest the next one
// up is tried, and else nothing is said of what is above it.
func TestVoid(t *testing.T) {
	for name, tt := range map[string]struct {
		void func(level float64, n int) bool
		want Result
	}{
		"from 50 on":   {func(level float64, _ int) bool { return level >= 50 }, Result{Value: 49, VoidAt: 50, AtLeast: true, Finished: true}},
		"one run":      {func(_ float64, n int) bool { return n == 6 }, Result{Value: 100, FailedAt: 102, Finished: true}},
		"the lowest":   {func(level float64, _ int) bool { return level < 4 }, Result{Value: 100, FailedAt: 102, Finished: true}},
		"all":          {func(float64, int) bool { return true }, Result{VoidAt: 1, Finished: true}},
		"all that met": {func(level float64, _ int) bool { return level <= 100 }, Result{FailedAt: 128, VoidAt: 1, Finished: true}},
	} {
		got, levels := searched(t, users(), func(level float64, n int) Verdict {
			if tt.void(level, n) {
				return Void
			}
			return carries(100)(level, n)
		})
		equal(t, fmt.Sprintf("%s, after %v", name, levels), tt.want, *got, ignoreLevels)
	}
}

// The majority decides at the edge: one lucky or unlucky run does not.
func TestMajority(t *testing.T) {
	for _, tt := range []struct {
		repeat int
		runs   []Verdict
		want   Verdict // Void where another run is wanted
	}{
		{3, []Verdict{Missed}, Void},
		{3, []Verdict{Missed, Missed}, Missed},
		{3, []Verdict{Missed, Met}, Void},
		{3, []Verdict{Missed, Met, Met}, Met},
		{3, []Verdict{Void}, Void},
		{2, []Verdict{Missed, Met}, Missed}, // what is not sure to meet does not
		{1, []Verdict{Missed}, Missed},
	} {
		r := &runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 1, Precision: 0.05, Repeat: tt.repeat}
		var tried []Trial
		for _, v := range tt.runs {
			tried = append(tried, Trial{Level: 1, Verdict: v})
		}
		_, more := next(r, tried)
		if got := newResult(r, tried).Levels[0].Verdict; more != (tt.want == Void) || !more && got != tt.want {
			t.Errorf("%d repeats, %v: verdict %v, more %v", tt.repeat, tt.runs, got, more)
		}
	}
}

// Whatever a server does, the search ends.
func TestEnds(t *testing.T) {
	for seed := range uint64(2000) {
		draws := rand.New(rand.NewPCG(seed, 3))
		r := &runlog.Capacity{From: 1, To: 1 + float64(draws.IntN(300)), Precision: 0.001 + draws.Float64()/10, Repeat: 1 + draws.IntN(4)}
		if r.From = 0.1; seed%2 == 0 {
			r.Variable, r.From = runlog.VariableConcurrency, 1
		}
		a, levels := searched(t, r, func(float64, int) Verdict { return Verdict(draws.IntN(3)) })
		if a.FailedAt > 0 && a.Value >= a.FailedAt {
			t.Errorf("%+v: %+v after %v", r, a, levels)
		}
	}
}
