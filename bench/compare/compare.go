// Package compare puts load tests side by side and says which differences are
// more than noise. Requests of one run are not independent of each other: they
// share a batch, a queue and a moment. So the unit is the run: each figure of a
// run is one sample, and sides are told apart by their repeats.
package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// alpha is the share of tests that may find a difference where there is none.
const alpha = 0.05

// Side is what is held against other sides.
type Side struct {
	Name string
	// Reports hold the runs of this side. Steps of the same load are repeats of
	// each other, in one report or in several; a load that several machines put on
	// together is one report.
	Reports []*result.Report
	// NotStarted is the run that was to be, where the side was given up because its
	// server could not be started, else nil.
	NotStarted *runlog.Run
}

// Comparison holds the first side against each of the others.
type Comparison struct {
	Alpha float64 `json:"alpha"`
	Sides []About `json:"sides"`
	// NotStarted are the sides that were given up. One that had runs by then is among
	// Sides too, and compared by these.
	NotStarted []NotStarted `json:"not_started,omitempty"`
	// Warnings are what makes sides unlike as a whole, one sentence each.
	Warnings []string `json:"warnings,omitempty"`
	// Bindings sum each level up where the sides are bindings of one server.
	Bindings []Bindings `json:"bindings,omitempty"`
	Levels   []Level    `json:"levels"` // that more than one side ran
	// Tests is how many tests were made, those without runs enough not among them,
	// and ExpectedFalse how many of them find a difference by chance when there is
	// none, at most.
	Tests         int      `json:"tests"`
	ExpectedFalse float64  `json:"expected_false_positives"`
	Notes         []string `json:"notes,omitempty"`
}

// NotStarted is a side whose server could not be started.
type NotStarted struct {
	Side    string `json:"side"`
	Server  string `json:"server"`            // its command
	Binding string `json:"binding,omitempty"` // in words, in a comparison of bindings
	Reason  string `json:"reason"`            // in one line
}

// About is what a side was.
type About struct {
	Name    string `json:"name"`
	Runs    int    `json:"runs"` // the most at any level
	Model   string `json:"model"`
	Dataset string `json:"dataset"`
	// Server is the command that was started and where the kernel let it run,
	// empty where none was started.
	Server string `json:"server,omitempty"`
}

// Level is one load.
type Level struct {
	Name string `json:"name"` // such as "concurrency 8", "4 req/s, poisson"
	// Part is "steady" when every run of every side was steady, else "whole".
	// Failures and energy are of the whole step always.
	Part  string `json:"part"`
	Pairs []Pair `json:"pairs"`
}

// Pair is one side against the first at one level.
type Pair struct {
	Base string `json:"base"`
	Side string `json:"side"`
	Rows []Row  `json:"rows"`
	// Warnings are why the two cannot be compared as they stand.
	Warnings []string `json:"warnings,omitempty"`
	// Doubtful is true when there are any, or some of the sides as a whole.
	Doubtful bool `json:"doubtful"`
}

// Row is one figure.
type Row struct {
	Metric string   `json:"metric"` // such as "ttft_p99"
	Unit   string   `json:"unit"`   // of the estimates: s, J, req/s, tok/s, or ratio (0 to 1)
	Base   Estimate `json:"base"`
	Side   Estimate `json:"side"`
	Verdict
	label string
	scale float64 // from Unit to what is shown
}

// Compare holds sides[0] against each of the others. It fails when there are
// fewer than two sides with steps, when names are missing or not distinct, when a side
// has no steps though its server was started, or is the first, and when no other side ran
// a load that the first ran.
func Compare(sides []Side) (*Comparison, error) {
	if err := check(sides); err != nil {
		return nil, err
	}
	without := notStartedOf(sides)
	sides = slices.DeleteFunc(slices.Clone(sides), func(s Side) bool { return s.steps() == 0 })
	if len(sides) < 2 {
		return nil, fmt.Errorf("comparing: two sides or more are needed, and %s", without[0].text())
	}
	levels := match(sides)
	c := &Comparison{Alpha: alpha, Sides: aboutSides(sides, levels), NotStarted: without}
	shared := false
	for _, l := range levels {
		shared = shared || l.shared()
		if note := l.missing(sides); note != "" {
			c.Notes = append(c.Notes, note)
		}
	}
	if !shared {
		return nil, errors.New("comparing: no side ran a load that the first side ran: the same concurrency or rate is needed on both")
	}
	unlike := make([][]string, len(sides)) // of each side against the first
	for i := 1; i < len(sides); i++ {
		unlike[i] = append(unlikeSettings(sides, levels, i), drift(sides, levels, i)...)
		c.Warnings = append(c.Warnings, unlike[i]...)
	}
	needed := map[[2]int]float64{} // by the runs of both sides: it takes a while
	for _, l := range levels {
		if l.shared() {
			c.addLevel(sides, l, unlike, needed)
		}
	}
	c.ExpectedFalse = alpha * float64(c.Tests)
	c.Notes = append(c.Notes, c.notes(sides)...)
	return c, nil
}

func check(sides []Side) error {
	if len(sides) < 2 {
		return errors.New("comparing: two sides or more are needed")
	}
	seen := map[string]bool{}
	for i, s := range sides {
		switch {
		case s.Name == "":
			return errors.New("comparing: a side has no name")
		case seen[s.Name]:
			return fmt.Errorf("comparing: two sides are named %q", s.Name)
		case s.steps() == 0 && (i == 0 || s.NotStarted == nil):
			return fmt.Errorf("comparing: side %s has no steps: nothing was run", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func (s Side) steps() int {
	steps := 0
	for _, r := range s.Reports {
		steps += len(r.Steps)
	}
	return steps
}

func (c *Comparison) addLevel(sides []Side, l level, unlike [][]string, needed map[[2]int]float64) {
	out := Level{Name: l.name, Part: "whole"}
	if l.steady() {
		out.Part = "steady"
	}
	for i := 1; i < len(sides); i++ {
		if len(l.runs[0]) == 0 || len(l.runs[i]) == 0 {
			continue
		}
		p := Pair{Base: sides[0].Name, Side: sides[i].Name}
		p.Warnings = doubts(sideNamed(sides[0].Name), l.runs[0], sideNamed(sides[i].Name), l.runs[i])
		p.Doubtful = len(p.Warnings)+len(unlike[i]) > 0
		for _, m := range metrics() {
			base, side := values(m, l.runs[0], l.steady()), values(m, l.runs[i], l.steady())
			if len(base)+len(side) == 0 {
				continue
			}
			runs := [2]int{len(base), len(side)}
			if _, ok := needed[runs]; !ok {
				needed[runs] = detectable(len(base), len(side))
			}
			row := Row{
				Metric: m.Metric, Unit: m.Unit.String(), label: m.Label, scale: m.Unit.Scale(),
				Base: estimate(base), Side: estimate(side), Verdict: judge(base, side, m, needed[runs]),
			}
			if row.P != nil {
				c.Tests++
			}
			p.Rows = append(p.Rows, row)
		}
		out.Pairs = append(out.Pairs, p)
	}
	c.Levels = append(c.Levels, out)
	c.addBindings(sides, l, out)
}
