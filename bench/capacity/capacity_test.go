package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// searched runs a search to its end, with what a run at a level says.
func searched(t *testing.T, s Search, run func(level float64, n int) Outcome) (Answer, []Trial) {
	t.Helper()
	var tried []Trial
	for {
		left := s.Left(tried)
		level, more := s.Next(tried)
		if !more {
			return s.Answer(tried), tried
		}
		if level < s.From || level > s.To || s.Whole && level != math.Trunc(level) {
			t.Fatalf("level %v is none of %+v", level, s)
		}
		if left < 1 {
			t.Fatalf("no further level was told of, and %v comes after %v", level, tried)
		}
		if len(tried) > maxTrials {
			t.Fatalf("no end after %d runs", len(tried))
		}
		tried = append(tried, Trial{level, run(level, len(tried))})
	}
}

// edge is a server that carries up to so much, without any noise.
func edge(most float64) func(float64, int) Outcome {
	return func(level float64, _ int) Outcome {
		if level <= most {
			return Outcome{Verdict: Met}
		}
		return Outcome{Verdict: Missed}
	}
}

func levelsOf(tried []Trial) (all []float64) {
	for _, t := range tried {
		all = append(all, t.Level)
	}
	return all
}

func users() Search { return Search{From: 1, To: 256, Whole: true, Precision: 0.05, Repeat: 3} }

func TestSearch(t *testing.T) {
	ignore := cmpopts.IgnoreFields(Answer{}, "Levels")
	for name, c := range map[string]struct {
		search Search
		run    func(float64, int) Outcome
		want   Answer
		levels []float64
	}{
		"in between": {
			users(),
			edge(37),
			Answer{Value: 37, FailedAt: 38, Done: true},
			// The end that was run first is run again, to see that the server is what it was.
			[]float64{1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 38, 37, 38},
		},
		"the precision is enough": {users(), edge(131), Answer{Value: 130, FailedAt: 132, Done: true}, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 192, 160, 144, 136, 132, 130, 132}},
		"no level misses":         {users(), edge(1000), Answer{Value: 256, Done: true, AtLeast: true}, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}},
		"the lowest misses":       {users(), edge(0), Answer{FailedAt: 1, Done: true}, []float64{1}},
		"one level":               {Search{From: 8, To: 8, Whole: true, Precision: 0.05, Repeat: 1}, edge(9), Answer{Value: 8, Done: true, AtLeast: true}, []float64{8}},
		"rates": {
			Search{From: 0.5, To: 20, Precision: 0.05, Repeat: 3},
			edge(4.2),
			Answer{Value: 4.18, FailedAt: 4.27, Done: true},
			[]float64{0.5, 1, 2, 4, 8, 5.66, 4.76, 4.36, 4.18, 4.27, 4.18},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, tried := searched(t, c.search, c.run)
			if diff := cmp.Diff(c.want, got, ignore); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.levels, levelsOf(tried)); diff != "" {
				t.Errorf("levels (-want +got):\n%s", diff)
			}
		})
	}
}

// noisy is a server whose figure grows with the load and is at its limit at most, with
// noise from run to run. Each run knows of about its own noise.
func noisy(seed uint64, most, growth, noise float64) func(float64, int) Outcome {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(level float64, _ int) Outcome {
		off := growth*math.Log(level/most) + noise*r.NormFloat64()
		o := Outcome{Verdict: Met, Near: math.Abs(off) < max(0.05, 1.96*noise)}
		if off > 0 {
			o.Verdict = Missed
		}
		return o
	}
}

// TestNoise: with as much noise from run to run as a load moves the figures within the
// precision, the answer is still right in nine of ten searches.
func TestNoise(t *testing.T) {
	const seeds = 1000
	for _, noise := range []struct{ share, right float64 }{{0, 1}, {0.02, 0.98}, {0.03, 0.95}, {0.05, 0.9}} {
		for name, s := range map[string]Search{"users": users(), "rates": {From: 0.5, To: 200, Precision: 0.05, Repeat: 3}} {
			right, runs := 0, 0
			for seed := range uint64(seeds) {
				most := 20 * math.Exp(2*rand.New(rand.NewPCG(seed, 2)).Float64()) // 20 to 148
				got, tried := searched(t, s, noisy(seed, most, 1, noise.share))
				runs += len(tried)
				if math.Abs(got.Value-most) <= max(1, s.Precision*most) {
					right++
				}
			}
			share := float64(right) / seeds
			t.Logf("noise %v, %s: %.3f right, %.1f runs", noise.share, name, share, float64(runs)/seeds)
			if share < noise.right-0.02 {
				t.Errorf("noise %v, %s: %.3f of the answers are within the precision, want %v", noise.share, name, share, noise.right)
			}
		}
	}
}

// TestDrift: a server that gets slower, or faster, while it is measured is noticed, and
// the answer is of what it is at the end.
func TestDrift(t *testing.T) {
	for name, c := range map[string]struct {
		before, after float64
		changed, want float64
	}{
		"slower":        {37, 20, 32, 20},
		"much slower":   {37, 0, 32, 0},
		"faster":        {37, 90, 64, 90},
		"not at all":    {37, 37, 0, 37},
		"beyond bounds": {37, 1000, 64, 256},
	} {
		t.Run(name, func(t *testing.T) {
			got, tried := searched(t, users(), func(level float64, n int) Outcome {
				most := c.before
				if n >= 8 { // while the bracket is halved
					most = c.after
				}
				return edge(most)(level, n)
			})
			if math.Abs(got.Value-c.want) > max(1, 0.05*c.want) {
				t.Errorf("carries %v, want %v; tried %v", got.Value, c.want, levelsOf(tried))
			}
			if (got.Changed > 0) != (c.changed > 0) {
				t.Errorf("changed at %v, want %v; tried %v", got.Changed, c.changed, levelsOf(tried))
			}
		})
	}
}

// TestVoid: a level that cannot be judged is tried once more, and nothing is said of
// what is above it.
func TestVoid(t *testing.T) {
	limited := func(from float64, times int) func(float64, int) Outcome {
		return func(level float64, n int) Outcome {
			if level >= from && n < times {
				return Outcome{}
			}
			return edge(100)(level, n)
		}
	}
	got, tried := searched(t, users(), limited(50, 99))
	if want := (Answer{Value: 49, VoidAt: 50, Done: true, AtLeast: true}); !cmp.Equal(got, want, cmpopts.IgnoreFields(Answer{}, "Levels")) {
		t.Errorf("%+v, want %+v; tried %v", got, want, levelsOf(tried))
	}
	// One bad run is no limit: level 64 is the seventh.
	if got, tried = searched(t, users(), limited(64, 7)); math.Abs(got.Value-100) > 5 || got.VoidAt != 0 {
		t.Errorf("%+v after %v", got, levelsOf(tried))
	}
	if got, _ = searched(t, users(), limited(1, 99)); got.Value != 0 || got.FailedAt != 0 || got.VoidAt != 1 || got.AtLeast {
		t.Errorf("%+v, want no answer", got)
	}
}

// TestRepeats: a level is run again where one run does not tell.
func TestRepeats(t *testing.T) {
	met, missed := Outcome{Verdict: Met, Near: true}, Outcome{Verdict: Missed, Near: true}
	plain := Outcome{Verdict: Missed}
	for _, c := range []struct {
		repeat int
		runs   []Outcome
		want   Verdict // Void where another run is wanted
	}{
		{3, []Outcome{met}, Void},
		{3, []Outcome{met, met}, Met},
		{3, []Outcome{met, missed}, Void},
		{3, []Outcome{met, missed, missed}, Missed},
		{3, []Outcome{met, plain}, Missed},
		{3, []Outcome{met, {}}, Void},
		{2, []Outcome{met, missed}, Missed}, // what is not sure to meet does not
		{1, []Outcome{met}, Met},
		{3, []Outcome{{}}, Void},
	} {
		s := Search{From: 1, To: 1, Whole: true, Precision: 0.05, Repeat: c.repeat}
		var tried []Trial
		for _, o := range c.runs {
			tried = append(tried, Trial{1, o})
		}
		_, more := s.Next(tried)
		l := s.Answer(tried).Levels[0]
		if more != (c.want == Void) || !more && l.Verdict != c.want {
			t.Errorf("%d repeats, %v: verdict %v, more %v", c.repeat, c.runs, l.Verdict, more)
		}
	}
}

// TestFinal: a void run that no other can be better than is the only one of its level.
func TestFinal(t *testing.T) {
	got, tried := searched(t, users(), func(level float64, n int) Outcome {
		if level > 20 {
			return Outcome{Final: true}
		}
		return edge(100)(level, n)
	})
	if want := (Answer{Value: 20, VoidAt: 21, Done: true, AtLeast: true}); !cmp.Equal(got, want, cmpopts.IgnoreFields(Answer{}, "Levels")) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if diff := cmp.Diff([]float64{1, 2, 4, 8, 16, 32, 24, 20, 22, 21}, levelsOf(tried)); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

// TestEnds: whatever a server does, the search ends.
func TestEnds(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := Search{From: 1, To: 1 + float64(r.IntN(300)), Whole: true, Precision: 0.001 + r.Float64()/10, Repeat: 1 + r.IntN(4)}
		if seed%2 == 0 {
			s = Search{From: 0.1, To: 100 * r.Float64(), Precision: 0.001 + r.Float64()/10, Repeat: s.Repeat}
			s.To = max(s.From, s.To)
		}
		var tried []Trial
		for level, more := s.Next(tried); more; level, more = s.Next(tried) {
			if level < s.From || level > s.To || len(tried) > maxTrials {
				t.Fatalf("%+v: level %v after %d runs", s, level, len(tried))
			}
			tried = append(tried, Trial{level, Outcome{Verdict(r.IntN(3)), r.IntN(2) == 0, r.IntN(5) == 0}})
		}
		if a := s.Answer(tried); !a.Done || a.FailedAt > 0 && a.Value >= a.FailedAt {
			t.Errorf("%+v: %+v", s, a)
		}
	}
}

// TestUnfinished: what is known when a search is cut short.
func TestUnfinished(t *testing.T) {
	var tried []Trial
	for n, want := range []Answer{
		{},
		{Value: 1, AtLeast: true},
		{Value: 2, AtLeast: true},
		{Value: 2, FailedAt: 4, AtLeast: true},
		{Value: 3, FailedAt: 4, AtLeast: true},
		{Value: 3, FailedAt: 4, Done: true},
	} {
		if got := users().Answer(tried); !cmp.Equal(got, want, cmpopts.IgnoreFields(Answer{}, "Levels")) {
			t.Errorf("after %v: %+v, want %+v", levelsOf(tried), got, want)
		}
		level, _ := users().Next(tried)
		tried = append(tried, Trial{level, edge(3)(level, n)})
	}
}
