// Package compare puts load tests side by side and says which differences are
// more than noise. Requests of one run are not independent of each other: they
// share a batch, a queue and a moment. So the unit is the run: each figure of a
// run is one sample, and sides are compared by their repeats. A [Plan] starts a
// server under several bindings in turns, and ends each with all that it started.
package compare

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// Side is what is held against other sides.
type Side struct {
	Name string
	// Reports hold the runs of this side, at least one. Steps of the same load are
	// repeats of each other, in one report or in several; a load that several machines
	// put on together is one report.
	Reports []*result.Report
}

// Comparison holds the first side against each of the others.
type Comparison struct {
	Alpha float64 `json:"alpha"`
	Sides []About `json:"sides"`
	// Bindings sum each level up where the sides are bindings of one server.
	Bindings []Bindings `json:"bindings,omitempty"`
	Levels   []Level    `json:"levels"` // that more than one side ran
	// Tests is how many tests were made, those without runs enough not among them.
	Tests int      `json:"tests"`
	Notes []string `json:"notes,omitempty"`
}

// About is what a side was, by its first run.
type About struct {
	Name    string `json:"name"`
	Runs    int    `json:"runs"` // the most at any level
	Model   string `json:"model"`
	Dataset string `json:"dataset"`
	Binding string `json:"binding,omitempty"` // in words, such as bound to node 0
}

// Level is one load.
type Level struct {
	Name string `json:"name"` // such as "8 users", "4 req/s, poisson"
	// Part is "steady" when every run of every side was steady, else "whole".
	// Failures and energy are of the whole step always.
	Part  string `json:"part"`
	Pairs []Pair `json:"pairs"`

	runs [][]*result.Step // by side
}

// Pair is one side against the first at one level.
type Pair struct {
	Base string `json:"base"`
	Side string `json:"side"`
	Rows []Row  `json:"rows"`
	// Warnings are why the two cannot be compared as they stand.
	Warnings []string `json:"warnings,omitempty"`
}

// Row is one figure.
type Row struct {
	Metric string   `json:"metric"` // such as "ttft_p99"
	Unit   string   `json:"unit"`   // of the estimates: s, J, req/s, tok/s, or ratio (0 to 1)
	Base   Estimate `json:"base"`
	Side   Estimate `json:"side"`
	Verdict

	column show.Column
}

// Compare holds sides[0] against each of the others; notes come before its own. It fails
// when there are fewer than two sides, and when no other side ran a load that the first
// ran.
func Compare(sides []Side, notes ...string) (*Comparison, error) {
	if len(sides) < 2 {
		return nil, errors.New("comparing: two sides or more are needed")
	}
	c := &Comparison{Alpha: alpha, Notes: notes}
	for _, l := range match(sides) {
		c.addLevel(sides, l)
	}
	if len(c.Levels) == 0 {
		return nil, errors.New("comparing: no side ran a load that the first side ran: the same concurrency or rate is needed on both")
	}
	for i, s := range sides {
		c.Sides = append(c.Sides, c.about(i, s))
	}
	c.addBindings(sides)
	if c.Tests > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d tests were made (Mann-Whitney U, two-sided, alpha %g). If nothing differed, up to %.1f of them would find a difference by chance.",
			c.Tests, alpha, alpha*float64(c.Tests)))
	}
	return c, nil
}

// match groups the steps of all sides by their load, in the order of the first
// side that ran it.
func match(sides []Side) []Level {
	var levels []Level
	for i, s := range sides {
		for _, r := range s.Reports {
			for j := range r.Steps {
				step := &r.Steps[j]
				name := levelName(*step)
				at := slices.IndexFunc(levels, func(l Level) bool { return l.Name == name })
				if at < 0 {
					at = len(levels)
					levels = append(levels, Level{Name: name, Part: "steady", runs: make([][]*result.Step, len(sides))})
				}
				levels[at].runs[i] = append(levels[at].runs[i], step)
				if step.Steady == nil {
					levels[at].Part = "whole"
				}
			}
		}
	}
	return levels
}

// levelName is the load of a step. Steps of one name are repeats: how long they
// ran and when they gave up is no part of it.
func levelName(s result.Step) string {
	s.Repeat = 0
	switch s.Arrival {
	case runlog.ArrivalPoisson, runlog.ArrivalConstant:
		return s.Title() + ", " + string(s.Arrival)
	case runlog.ArrivalGamma:
		return fmt.Sprintf("%s, burstiness %g", s.Title(), s.Burstiness)
	}
	return s.Title()
}

// addLevel compares the sides that ran a level, and notes those that did not.
func (c *Comparison) addLevel(sides []Side, l Level) {
	for i, s := range sides {
		switch {
		case len(l.runs[i]) == 0:
			c.Notes = append(c.Notes, fmt.Sprintf("%s: not run on side %s.", l.Name, s.Name))
		case i > 0 && len(l.runs[0]) > 0:
			p := Pair{Base: sides[0].Name, Side: s.Name, Warnings: warnings(l.runs[0], l.runs[i])}
			p.Rows = c.rows(l, i)
			l.Pairs = append(l.Pairs, p)
		}
	}
	if len(l.Pairs) > 0 {
		c.Levels = append(c.Levels, l)
	}
}

// rows are the figures that side i and the first have at a level.
func (c *Comparison) rows(l Level, i int) []Row {
	var rows []Row
	for _, column := range columns() {
		base, side := l.values(column, 0), l.values(column, i)
		if !column.Compared || len(base)+len(side) == 0 {
			continue
		}
		row := Row{
			Metric: column.Key, Unit: column.Unit.Base, column: column,
			Base: estimate(base), Side: estimate(side), Verdict: judge(base, side, column),
		}
		if row.P != nil {
			c.Tests++
		}
		rows = append(rows, row)
	}
	return rows
}

// columns are those of a step and of its windows.
func columns() []show.Column {
	return slices.Concat(show.WindowColumns([]float64{50, 99}), show.StepColumns())
}

// values are those of a column over the runs of a side.
func (l Level) values(c show.Column, side int) []float64 {
	var values []float64
	for _, s := range l.runs[side] {
		figures := &s.Whole
		if l.Part == "steady" {
			figures = s.Steady
		}
		if v := c.Value(s, figures); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}

// about is what side i was.
func (c *Comparison) about(i int, s Side) About {
	first := s.Reports[0].Runs[0]
	dataset := first.Dataset
	if first.DatasetPath != "" {
		dataset += " " + filepath.Base(first.DatasetPath)
	}
	a := About{Name: s.Name, Model: show.Clean(first.Model), Dataset: show.Clean(dataset), Binding: bindingOf(s).Binding}
	for _, l := range c.Levels {
		a.Runs = max(a.Runs, len(l.runs[i]))
	}
	return a
}
