package report

import (
	"io"
	"strconv"
	"strings"
	"time"
)

// Table writes an empty line and then a sweep as two tables, one row a step: the
// load and what became of it, and the latencies. The figures are of the whole step,
// except where the head says steady. It is at most 100 columns wide: what does not
// fit goes below.
func Table(w io.Writer, r *Report) error {
	var p page
	for i, g := range SweepGrids(r) {
		for _, row := range g.Rows {
			row[0] = fit(row[0], maxStepName)
		}
		p.line("")
		p.line("%s", g.Caption)
		g.write(&p, 0)
		if i == 0 && r.Objectives.Any() {
			p.line("good: %s", r.Objectives)
		}
	}
	if names := NotRun(r); names != "" {
		p.marked("not run: ", names)
	}
	for _, note := range Notes(r) {
		p.warning(note)
	}
	return p.writeTo(w)
}

// maxStepName bounds the names of steps in a table.
const maxStepName = 24

// sweepColumn is a column with a row for each step.
type sweepColumn struct {
	head, unit string
	text       func(*Step) string
}

// SweepGrids are two tables of one row a step: the load and what became of it, and
// the latencies.
func SweepGrids(r *Report) []Grid {
	return []Grid{
		sweepGrid(r, "Sweep, of the whole step except where the head says steady", loadColumns(r)),
		sweepGrid(r, "Latencies of the whole step in ms", latencyColumns(r)),
	}
}

func sweepGrid(r *Report, caption string, columns []sweepColumn) Grid {
	g := Grid{Caption: caption, Heads: [][]string{{"step"}, {""}}}
	for _, c := range columns {
		g.Heads[0], g.Heads[1] = append(g.Heads[0], c.head), append(g.Heads[1], c.unit)
	}
	for i := range r.Steps {
		row := []string{clean(r.Steps[i].Name)}
		for _, c := range columns {
			row = append(row, c.text(&r.Steps[i]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func loadColumns(r *Report) []sweepColumn {
	columns := []sweepColumn{
		{"in flight", "mean", func(s *Step) string { return number(s.Checks.AchievedWhole) }},
		{"requests", "/s", func(s *Step) string { return number(s.Whole.RequestThroughput) }},
		{"steady", "/s", steadyText(func(f *Figures) float64 { return f.RequestThroughput })},
		{"output", "tok/s", func(s *Step) string { return number(s.Whole.OutputThroughput) }},
		{"steady", "tok/s", steadyText(func(f *Figures) float64 { return f.OutputThroughput })},
		{"latency", "mean s", func(s *Step) string { return mean(s.Whole.E2E) }},
		{"attempted", "", func(s *Step) string { return strconv.Itoa(s.Account.Attempted) }},
		{"failed", "", func(s *Step) string { return strconv.Itoa(s.Account.Failures()) }},
		{"failed", "%", func(s *Step) string { return number(s.Account.FailureRatio() * 100) }},
		{"canceled", "", func(s *Step) string { return strconv.Itoa(s.Account.Canceled) }},
	}
	shown := reportPercentiles(r)
	high := shown[len(shown)-1]
	columns = append(columns, sweepColumn{"client lag", "p" + percentileName(high) + " ms", func(s *Step) string {
		return millis(s.Checks.ClientLag, high)
	}})
	if hasGoodput(r) {
		columns = append(columns,
			sweepColumn{"good", "/s", func(s *Step) string { return goodputText(&s.Whole) }},
			sweepColumn{"good", "%", func(s *Step) string { return scaledText(s.Whole.GoodRatio, 100, number) }})
	}
	if hasEnergy(r) {
		columns = append(columns, sweepColumn{"J per", "token", energyText})
	}
	return columns
}

func latencyColumns(r *Report) []sweepColumn {
	var columns []sweepColumn
	add := func(head string, p float64, of func(*Step) Distribution) {
		columns = append(columns, sweepColumn{head, "p" + percentileName(p), func(s *Step) string { return millis(of(s), p) }})
	}
	shown := reportPercentiles(r)
	for _, m := range []struct {
		name string
		of   func(*Step) Distribution
	}{
		{"TTFT", func(s *Step) Distribution { return s.Whole.TTFT }},
		{"TPOT", func(s *Step) Distribution { return s.Whole.TPOT }},
		{"ITL", func(s *Step) Distribution { return s.Whole.ITL }},
		{"E2E", func(s *Step) Distribution { return s.Whole.E2E }},
	} {
		for _, p := range shown {
			add(m.name, p, m.of)
		}
	}
	return columns
}

func steadyText(of func(*Figures) float64) func(*Step) string {
	return func(s *Step) string {
		if s.Steady == nil {
			return noFigure
		}
		return number(of(s.Steady))
	}
}

// mean is in what the distribution holds.
func mean(d Distribution) string {
	if d.Count == 0 {
		return noFigure
	}
	return number(d.Mean)
}

func goodputText(f *Figures) string {
	if f.Goodput == nil {
		return noFigure
	}
	return number(*f.Goodput)
}

// scaledText writes a share as a figure of its own unit.
func scaledText(of func() (float64, bool), scale float64, write func(float64) string) string {
	v, ok := of()
	if !ok {
		return noFigure
	}
	return write(v * scale)
}

func energyText(s *Step) string { return scaledText(s.JoulesPerToken, 1, number) }

func hasGoodput(r *Report) bool {
	for i := range r.Steps {
		if r.Steps[i].Whole.Goodput != nil {
			return true
		}
	}
	return false
}

func hasEnergy(r *Report) bool {
	for i := range r.Steps {
		if _, ok := r.Steps[i].JoulesPerToken(); ok {
			return true
		}
	}
	return false
}

func hasRate(r *Report) bool {
	for i := range r.Steps {
		if r.Steps[i].Rate > 0 {
			return true
		}
	}
	return false
}

// String says what a good request meets, empty without objectives.
func (o Objectives) String() string {
	var parts []string
	for _, x := range []struct {
		name  string
		bound time.Duration
	}{{"TTFT", o.TTFT}, {"TPOT", o.TPOT}, {"ITL", o.ITL}, {"E2E", o.E2E}} {
		if x.bound > 0 {
			parts = append(parts, x.name+" of at most "+x.bound.String())
		}
	}
	return strings.Join(parts, ", ")
}

// NotRun names the steps that were planned and not begun, empty without any.
func NotRun(r *Report) string { return clean(strings.Join(r.NotRun, ", ")) }

// Notes are the warnings about the report as a whole, one sentence each.
func Notes(r *Report) []string {
	var all []string
	if !r.Complete {
		all = append(all, "A log has no end: its run was killed or still goes on, and the requests then in flight are not in the report.")
	}
	if r.ObjectivesDiffer {
		all = append(all, "The runs had different objectives, so no request is counted as good: give them with --goodput.")
	}
	if r.Damaged > 0 {
		all = append(all, counted(r.Damaged, "line")+" of the logs could not be read, and what was in them is not in the report.")
	}
	return all
}
