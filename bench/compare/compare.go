// Package compare puts load tests side by side and says which differences are more than noise. Requests of one run
// share a batch, a queue and a moment, and runs on one start of a server share that start, so the unit is the
// start. A [Plan] starts servers in turns, and ends each with all that it started.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// Side is what is held against other sides.
type Side struct {
	Name string
	// Reports are its runs, at least one, each of its own start of the server. A load that
	// several machines put on together is one report.
	Reports []*result.Report
}

// Comparison holds the first side against each of the others.
type Comparison struct {
	Alpha float64 `json:"alpha"`
	Sides []About `json:"sides"`
	// Bindings sum each level up where the sides are bindings of one server.
	Bindings []Bindings `json:"bindings,omitempty"`
	Levels   []Level    `json:"levels"` // that more than one side ran
	Tests    int        `json:"tests"`  // that were made: some figures have too few runs
	Notes    []string   `json:"notes,omitempty"`

	percentiles []float64 // that are compared
	notRun      []string  // levels, each with a side
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
	// Part is "steady" when all runs were, else "whole". Failures and energy are of the whole step always.
	Part  string `json:"part"`
	Pairs []Pair `json:"pairs"`

	runs [][]run // by side
}

// run is what a report has of one load, repeats of it on one start of the server.
type run []*result.Step

// Pair is one side against the first at one level.
type Pair struct {
	Base string `json:"base"`
	Side string `json:"side"`
	Rows []Row  `json:"rows"`
	// Warnings are why the two cannot be compared as they stand.
	Warnings []string `json:"warnings,omitempty"`

	side int // its index
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

// Compare holds sides[0] against each of the others, with the figures that gates are about; notes come before its own.
// A run is one value, the median of its repeats, which share one start of the server. It fails when no other side ran a
// load that the first ran.
func Compare(sides []Side, gates []Gate, notes ...string) (*Comparison, error) {
	c := &Comparison{Alpha: alpha, Notes: notes, percentiles: []float64{50, 99}}
	for _, g := range gates {
		if g.Percentile > 0 && !slices.Contains(c.percentiles, g.Percentile) {
			c.percentiles = append(c.percentiles, g.Percentile)
		}
	}
	for _, l := range match(sides) {
		c.addLevel(sides, l)
	}
	if len(c.Levels) == 0 {
		return nil, errors.New("comparing: no other side ran a load that the first side ran: the same concurrency or rate is needed on both")
	}
	for i, s := range sides {
		c.Sides = append(c.Sides, c.about(i, s))
	}
	c.addBindings()
	if c.Tests > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d tests were made (Mann-Whitney U, two-sided, alpha %g, p adjusted over the sides by Holm's procedure). "+
			"If nothing differed, a difference would be found by chance in up to %g %% of the figures of a level.", c.Tests, alpha, 100*alpha))
	}
	if !slices.ContainsFunc(c.Sides, func(a About) bool { return a.Runs > 1 }) {
		c.Notes = append(c.Notes, fmt.Sprintf("Between server starts, n = 1 each: repeats on one start do not show how much starts differ, so nothing is tested. "+
			"Start the server anew for each run, as compare --command does, %d times for each side.", LeastRuns(len(sides))))
	}
	return c, nil
}

// match groups the steps of all sides by their load, and those of one report as one run.
func match(sides []Side) []Level {
	var levels []Level
	for i, s := range sides {
		for _, r := range s.Reports {
			for j := range r.Steps {
				step := &r.Steps[j]
				name := step.Label.Load
				at := slices.IndexFunc(levels, func(l Level) bool { return l.Name == name })
				if at < 0 {
					at = len(levels)
					levels = append(levels, Level{Name: name, Part: "steady", runs: make([][]run, len(sides))})
				}
				l := &levels[at]
				if step.Steady == nil {
					l.Part = "whole"
				}
				if !slices.ContainsFunc(r.Steps[:j], func(s result.Step) bool { return s.Label.Load == name }) {
					l.runs[i] = append(l.runs[i], nil)
				}
				last := len(l.runs[i]) - 1
				l.runs[i][last] = append(l.runs[i][last], step)
			}
		}
	}
	return levels
}

// addLevel compares the sides that ran a level, and notes those that did not.
func (c *Comparison) addLevel(sides []Side, l Level) {
	for i, s := range sides {
		switch {
		case len(l.runs[i]) == 0:
			text := fmt.Sprintf("%s: not run on side %s", l.Name, s.Name)
			c.Notes, c.notRun = append(c.Notes, text+"."), append(c.notRun, text)
		case i > 0 && len(l.runs[0]) > 0:
			l.Pairs = append(l.Pairs, Pair{
				Base: sides[0].Name, Side: s.Name, side: i,
				Warnings: warnings(slices.Concat(l.runs[0]...), slices.Concat(l.runs[i]...)),
			})
		}
	}
	if len(l.Pairs) == 0 {
		return
	}
	for _, column := range show.Columns(c.percentiles...) {
		if !column.Compared {
			continue
		}
		base := l.values(column, 0)
		var others [][]float64
		for _, p := range l.Pairs {
			others = append(others, l.values(column, p.side))
		}
		for i, v := range judge(base, others, column) {
			if len(base)+len(others[i]) == 0 {
				continue
			}
			l.Pairs[i].Rows = append(l.Pairs[i].Rows, Row{
				Metric: column.Key, Unit: column.Unit.Base, column: column,
				Base: estimate(base), Side: estimate(others[i]), Verdict: v,
			})
			if v.P.Known() {
				c.Tests++
			}
		}
	}
	c.Levels = append(c.Levels, l)
}

func (l Level) values(c show.Column, side int) []float64 {
	var values []float64
	for _, r := range l.runs[side] {
		v := median(r, func(s *result.Step) float64 {
			if l.Part == "steady" {
				return c.Value(s, s.Steady)
			}
			return c.Value(s, &s.Whole)
		})
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

func (c *Comparison) about(i int, s Side) About {
	first := s.Reports[0].Runs[0]
	dataset := first.Dataset
	if first.DatasetPath != "" {
		dataset += " " + filepath.Base(first.DatasetPath)
	}
	a := About{Name: s.Name, Model: show.Clean(first.Model), Dataset: show.Clean(dataset)}
	if first.Server != nil {
		a.Binding = show.Clean(first.Server.Binding)
	}
	for _, l := range c.Levels {
		a.Runs = max(a.Runs, len(l.runs[i]))
	}
	return a
}

const (
	maxDifference = 0.05 // relative, of two loads or lengths of texts that are alike
	maxFailures   = 0.01 // the difference of two shares of failures that are alike
)

// warnings are why the runs of two sides at one level cannot be compared as they stand.
func warnings(base, side []*result.Step) []string {
	var found []string
	compare := func(text string, value func(*result.Step) float64) {
		x, y := median(base, value), median(side, value)
		if least := min(x, y); least > 0 && max(x, y) > least*(1+maxDifference) {
			found = append(found, fmt.Sprintf("not alike: "+text, x, y))
		}
	}
	compare("prompts had %.4g and %.4g tokens", func(s *result.Step) float64 { return s.Whole.Of(result.PromptLength).Mean })
	compare("answers had %.4g and %.4g tokens", func(s *result.Step) float64 { return s.Whole.Of(result.OutputLength).Mean })
	switch base[0].Arrival {
	case runlog.ArrivalBurst: // its rate is only how fast this machine sent it
	case runlog.ArrivalClosed:
		compare("%.4g and %.4g were in flight", func(s *result.Step) float64 { return s.Checks.Achieved })
	default:
		compare("%.4g and %.4g requests a second were sent", func(s *result.Step) float64 { return s.Checks.AchievedRate })
	}
	failed := func(s *result.Step) float64 { return s.Account.FailureRatio() }
	x, y := median(base, failed), median(side, failed)
	if max(x, y)-min(x, y) > maxFailures {
		found = append(found, fmt.Sprintf("not alike: %.3g %% and %.3g %% of the requests failed", 100*x, 100*y))
	}
	if slices.ContainsFunc(slices.Concat(base, side), func(s *result.Step) bool { return s.Stop == "" || s.Stop.Early() }) {
		found = append(found, "some runs were cut short: killed, interrupted, too many failures, or the server gone")
	}
	return found
}

// median is over the steps that have the value, NaN without any.
func median(steps []*result.Step, value func(*result.Step) float64) float64 {
	var values []float64
	for _, s := range steps {
		if v := value(s); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	return estimate(values).Median
}

const legend = "A run is one log, taken to be of one start of the server: its repeats count once, by their median. " +
	"In brackets: the 95 % confidence interval of the median; with fewer than 6 runs the lowest and the highest run, " +
	"which hold it with less confidence (5 runs: 94 %, 2 runs: 50 %). Failures and energy are always of the whole step."

// Text writes the comparison for a terminal.
func (c *Comparison) Text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range c.Sides {
		fmt.Fprintf(table, "side %s\t%s\tn = %d, model %s, dataset %s\n", s.Name, s.Binding, s.Runs, s.Model, s.Dataset)
	}
	for _, b := range c.Bindings {
		fmt.Fprintf(table, "\n%s: bindings\n%s\n", b.Level, b.Verdict)
		fmt.Fprintf(table, "binding\trequests/s\tmean latency, s\toutput tokens/s\tTPOT p50, ms\tagainst %s\n", b.Rows[0].Binding)
		for _, r := range b.Rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Binding, r.Requests.text(show.RequestRate), r.Latency.text(show.Seconds),
				r.Output.text(show.TokenRate), r.TPOT.text(show.Milliseconds), cmp.Or(r.Found, "-"))
		}
	}
	for _, l := range c.Levels {
		part := map[string]string{"steady": "steady state", "whole": "whole step"}[l.Part]
		for _, p := range l.Pairs {
			fmt.Fprintf(table, "\n%s: side %s against side %s, %s\n\tside %s\tside %s\n", l.Name, p.Side, p.Base, part, p.Base, p.Side)
			for _, r := range p.Rows {
				unit := r.column.Unit
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.column.Title(), r.Base.text(unit), r.Side.text(unit), r.text(unit))
			}
			for _, warning := range p.Warnings {
				fmt.Fprintf(table, "! %s\n", warning)
			}
		}
	}
	fmt.Fprintf(table, "\n%s\nWith fewer than %d runs of each side no difference can be found, however large.\n", legend, LeastRuns(len(c.Sides)))
	for _, note := range c.Notes {
		fmt.Fprintln(table, note)
	}
	return table.Flush()
}

func (e Estimate) text(unit show.Unit) string {
	switch {
	case len(e.Values) == 0:
		return "-"
	case e.Low == e.High:
		return unit.Text(e.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", unit.Text(e.Median), unit.Text(e.Low), unit.Text(e.High))
}

func (v Verdict) text(unit show.Unit) string {
	text := string(v.Finding)
	switch {
	case v.Change.Known() && unit == show.Share:
		text += fmt.Sprintf(": %+.2f points", 100*v.Change)
	case v.Change.Known():
		text += fmt.Sprintf(": %+.1f %%", 100*v.Change)
	}
	if v.P.Known() {
		text += fmt.Sprintf(" (p=%.2g)", v.P)
	}
	return text
}
