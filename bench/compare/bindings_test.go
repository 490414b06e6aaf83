package compare

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// bindings are the sides of a comparison on a machine of two nodes, in turns: off the
// node of the cards the model takes so many times as long.
func bindings(seed uint64, repeats int, spread, penalty float64) []Side {
	r := rand.New(rand.NewPCG(seed, 47))
	sides := []Side{{Name: "none"}, {Name: "node0"}, {Name: "node1"}, {Name: "interleaved"}}
	servers := []runlog.Server{
		{Command: "none=vllm serve qwen2.5", Binding: "unbound"},
		{Command: "node0=numactl --cpunodebind=0 --membind=0 vllm serve qwen2.5", Binding: "bound to node 0", Recommended: true},
		{Command: "node1=numactl --cpunodebind=1 --membind=1 vllm serve qwen2.5", Binding: "bound to node 1"},
		{Command: "interleaved=numactl --interleave=all vllm serve qwen2.5", Binding: "interleaved over all nodes"},
	}
	for repeat := range repeats {
		for i := range sides {
			slower := 1 / penalty
			if servers[i].Recommended {
				slower = 1
			}
			one := oneReport(users(100, at(4*repeat+i), faster(slower), noisy(r, spread)))
			one.Runs[0].Side, one.Runs[0].Server = sides[i].Name, &servers[i]
			sides[i].Reports = append(sides[i].Reports, one)
		}
	}
	return sides
}

func verdictOf(t *testing.T, sides []Side) string {
	t.Helper()
	c := compared(t, sides)
	if len(c.Bindings) != 1 {
		t.Fatalf("%d levels are summed up", len(c.Bindings))
	}
	return c.Bindings[0].Verdict
}

// What the project promises of its verdicts: of 20 comparisons of bindings that do not
// differ at least 19 say so, and a fifth more is found in at least 18, with five repeats.
func TestBindingsAreToldApart(t *testing.T) {
	for _, spread := range []float64{0.01, 0.03, 0.05} {
		equal, found := 0, 0
		for seed := range uint64(20) {
			if strings.HasPrefix(verdictOf(t, bindings(seed, 5, spread, 1)), "no binding differs from unbound by more than ") {
				equal++
			}
			if strings.HasPrefix(verdictOf(t, bindings(seed, 5, spread, 1.2)), "bound to node 0 is ") {
				found++
			}
		}
		if equal < 19 || found < 18 {
			t.Errorf("spread of %g: of 20 comparisons %d of equal bindings say so, and %d find the better one", spread, equal, found)
		}
	}
}

// Over many more, a difference where there is none is found in one of twenty at most,
// whatever the number of repeats.
func TestEqualBindingsOverMany(t *testing.T) {
	for _, repeats := range []int{5, 8} {
		const draws = 100
		found := 0
		for seed := range uint64(draws) {
			if !strings.HasPrefix(verdictOf(t, bindings(1000+seed, repeats, 0.03, 1)), "no binding differs") {
				found++
			}
		}
		if share := float64(found) / draws; share > 0.055 {
			t.Errorf("%d repeats: %.1f %% of comparisons of equal bindings find a difference", repeats, 100*share)
		}
	}
}

// The interval holds the true gain: 1/1.2 of the time is 16.7 % less.
func TestVerdictsHoldTheTruth(t *testing.T) {
	numbers := regexp.MustCompile(`is (\S+) % \[(\S+) %, (\S+) %\] faster in TPOT p50 than unbound$`)
	held := 0
	const draws = 40
	for seed := range uint64(draws) {
		text := verdictOf(t, bindings(seed, 5, 0.03, 1.2))
		m := numbers.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		by, low, high := number(t, m[1]), number(t, m[2]), number(t, m[3])
		if low > by || by > high {
			t.Errorf("%q", text)
		}
		if low <= 16.7 && 16.7 <= high {
			held++
		}
	}
	if held < draws*9/10 {
		t.Errorf("%d of %d intervals hold the true gain", held, draws)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBindingVerdicts(t *testing.T) {
	reversed := func(seed uint64) []Side { // the recommended one is as the others, one is worse
		sides := bindings(seed, 5, 0.01, 1)
		for _, r := range sides[2].Reports {
			faster(1 / 1.5)(&r.Steps[0])
			steady := r.Steps[0].Whole
			r.Steps[0].Steady = &steady
		}
		return sides
	}
	short := bindings(1, 2, 0.01, 1.2)
	loaded := bindings(1, 5, 0.01, 1.2)
	for _, r := range loaded[1].Reports {
		r.Steps[0].Checks.Achieved = 60
	}
	bare := bindings(1, 5, 0.01, 1.2)
	for _, s := range bare {
		for _, r := range s.Reports {
			for _, figures := range []*result.Figures{&r.Steps[0].Whole, r.Steps[0].Steady} {
				figures.Distributions = nil
			}
		}
	}
	for name, tt := range map[string]struct {
		sides []Side
		want  string
	}{
		"found":              {bindings(1, 5, 0.01, 1.2), `^bound to node 0 is 1[5-8] % \[1\d %, 1\d %\] faster in TPOT p50 than unbound$`},
		"a worse one":        {reversed(2), `^no binding is faster than unbound in TPOT p50; bound to node 1 is (4[89]|5[0-2]) % \[4\d %, 5\d %\] slower in TPOT p50 than unbound$`},
		"too few":            {short, `^too few runs to tell the bindings apart`},
		"other load":         {loaded, `faster in TPOT p50 than unbound, but the two were not under the same load or settings: read the warnings$`},
		"only throughput":    {bare, `^bound to node 0 is (19|2[01]) % \[\S+ %, \S+ %\] faster in output tokens/s than unbound$`},
		"none that is equal": {bindings(3, 5, 0.01, 1), `^no binding differs from unbound by more than \d\.\d % in TPOT p50$`},
	} {
		if got := verdictOf(t, tt.sides); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
	if c := compared(t, interleaved()); c.Bindings != nil {
		t.Errorf("sides that are no bindings are summed up: %+v", c.Bindings)
	}
}

// notStarted takes the runs of a side from such a repeat on, since its server could not be
// started any more.
func notStarted(sides []Side, i, repeat int) []Side {
	s := &sides[i]
	run := s.Reports[repeat].Runs[0]
	server := *run.Server
	server.NotStarted = "repeat " + strconv.Itoa(repeat+1) + ": its command ended with exit status 1; what it printed is in node1/1.log"
	run.Server, run.Model = &server, ""
	s.Reports, s.NotStarted = s.Reports[:repeat], &run
	return sides
}

// A binding whose server could not be started takes nothing from the others: they are
// compared, and that it was not is told.
func TestBindingsWithoutOne(t *testing.T) {
	const found = `^bound to node 0 is 1[5-9] % \[1\d %, 1\d %\] faster in TPOT p50 than unbound`
	for name, tt := range map[string]struct {
		sides []Side
		runs  []int // of each binding in the table
		want  string
	}{
		"never":             {notStarted(bindings(1, 5, 0.01, 1.2), 2, 0), []int{5, 5, 5}, found + `; not started: bound to node 1$`},
		"once":              {notStarted(bindings(1, 5, 0.01, 1.2), 2, 1), []int{5, 5, 1, 5}, found + `; not started: bound to node 1$`},
		"often enough":      {notStarted(bindings(1, 5, 0.01, 1.2), 1, 4), []int{5, 4, 5, 5}, found + `$`},
		"two of them":       {notStarted(notStarted(bindings(1, 5, 0.01, 1.2), 2, 0), 3, 2), []int{5, 5, 2}, found + `; not started: bound to node 1, interleaved over all nodes$`},
		"the recommended":   {notStarted(bindings(3, 5, 0.01, 1.2), 1, 0), []int{5, 5, 5}, `^no binding differs from unbound by more than \d\.\d % in TPOT p50; not started: bound to node 0$`},
		"all but unbound":   {notStarted(notStarted(notStarted(bindings(1, 5, 0.01, 1.2), 1, 1), 2, 1), 3, 1), []int{5, 1, 1, 1}, `^no binding can be judged: too few runs of any; not started: bound to node 0, bound to node 1, interleaved over all nodes$`},
		"too few of others": {notStarted(bindings(1, 2, 0.01, 1.2), 2, 1), []int{2, 2, 1, 2}, `^too few runs to tell the bindings apart.*; not started: bound to node 1$`},
	} {
		c := compared(t, tt.sides)
		b := c.Bindings[0]
		if !regexp.MustCompile(tt.want).MatchString(b.Verdict) {
			t.Errorf("%s: %q, want %s", name, b.Verdict, tt.want)
		}
		var runs []int
		for _, r := range b.Rows {
			runs = append(runs, len(r.TPOT.Values))
		}
		if diff := cmp.Diff(tt.runs, runs); diff != "" {
			t.Errorf("%s: runs in the table (-want +got):\n%s", name, diff)
		}
		if notes := strings.Join(c.Notes, "\n"); strings.Contains(notes, "not run on") || strings.Contains(notes, " of 0") {
			t.Errorf("%s: notes\n%s", name, notes)
		}
	}
}
