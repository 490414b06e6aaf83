package show

import (
	"io"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// maxStepName bounds the names of steps in a table.
const maxStepName = 24

// Table writes an empty line and then a sweep as two tables, one row a step: the
// load and what became of it, and the latencies. The figures are of the whole step,
// except where the head says steady. It is at most 100 columns wide: what does not
// fit goes below.
func Table(w io.Writer, r *result.Report) error {
	var p page
	for i, g := range SweepGrids(r) {
		g.shorten()
		p.line("")
		p.line("%s", g.Caption)
		g.write(&p, 0)
		if i == 0 && r.Objectives.Any() {
			p.line("good: %s", r.Objectives)
		}
	}
	p.notes(r)
	return p.writeTo(w)
}

// notes are what is to be said of the report as a whole.
func (p *page) notes(r *result.Report) {
	if names := NotRun(r); names != "" {
		p.marked("not run: ", names)
	}
	for _, note := range r.Notes() {
		p.warning(note)
	}
}

// shorten cuts the names of steps.
func (g *Grid) shorten() {
	for _, row := range g.Rows {
		row[0] = fit(row[0], maxStepName)
	}
}

// SweepGrids are two tables of one row a step: the load and what became of it, and
// the latencies.
func SweepGrids(r *result.Report) []Grid {
	shown := reportPercentiles(r)
	lag := result.LagColumn(shown[len(shown)-1])
	lag.Head, lag.Below = "client lag", "p"+words.Percentile(shown[len(shown)-1])+" ms"
	load := result.Ordered(append(sweepColumns(r), lag),
		"achieved_concurrency_whole", "request_throughput_rps", "steady_request_throughput_rps", "output_throughput_tok_s",
		"steady_output_throughput_tok_s", "latency_s", "attempted", "failed", "failure_ratio", "canceled", lag.Key)
	load = slices.DeleteFunc(load, func(c result.Column) bool { return c.Head == "" })
	return []Grid{
		stepGrid(r, "Sweep, of the whole step except where the head says steady", load),
		stepGrid(r, "Latencies of the whole step in ms", result.MainColumns(shown)),
	}
}

// sweepColumns are those that a sweep's tables may have, but for the latencies: without
// what no step has, and with those of the steady part.
func sweepColumns(r *result.Report) []result.Column {
	var columns []result.Column
	for _, c := range slices.Concat(result.StepColumns(), result.WindowColumns(), result.CheckColumns()) {
		if c.Head+c.Row == "" || c.When != nil && !anyStep(r, c.When) {
			continue
		}
		columns = append(columns, c)
		if c.Steady {
			columns = append(columns, steadily(c))
		}
	}
	return columns
}

// steadily is a column of the steady part.
func steadily(c result.Column) result.Column {
	whole := c.Value
	name, unit, _ := strings.Cut(c.Row, " (")
	c.Key, c.Head, c.Row = "steady_"+c.Key, "steady", name+", steady"
	if unit != "" {
		c.Row += " (" + unit
	}
	c.Value = func(s *result.Step, _ *result.Figures) (float64, bool) {
		if s.Steady == nil {
			return 0, false
		}
		return whole(s, s.Steady)
	}
	return c
}

func anyStep(r *result.Report, is func(*result.Step) bool) bool {
	return slices.ContainsFunc(r.Steps, func(s result.Step) bool { return is(&s) })
}

// NotRun names the steps that were planned and not begun, empty without any.
func NotRun(r *result.Report) string { return words.Clean(strings.Join(r.NotRun, ", ")) }
