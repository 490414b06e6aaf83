package report

import (
	"io"
	"strconv"
	"strings"
	"time"
)

// Table writes a sweep as two tables, one row a step: the load and what became
// of it, and the latencies. The figures are of the whole step, except where the
// head says steady. It is at most 100 columns wide: what does not fit goes below.
func Table(w io.Writer, r *Report) error {
	var p page
	load, latency := sweepGrids(r)
	p.line("Sweep")
	load.write(&p, 0)
	if text := objectivesText(r.Objectives); text != "" {
		p.line("good: %s", text)
	}
	p.line("")
	p.line("Latencies in ms")
	latency.write(&p, 0)
	for _, note := range notes(r) {
		p.warning(note)
	}
	return p.writeTo(w)
}

// maxStepName bounds the names of steps in a table.
const maxStepName = 24

func sweepGrids(r *Report) (load, latency *grid) {
	load = &grid{heads: [][]string{
		{"step", "in flight", "requests", "output", "steady", "latency", "sent", "failed", "failed", "canceled"},
		{"", "mean", "/s", "tokens/s", "tokens/s", "mean s", "", "", "%", ""},
	}}
	latency = &grid{heads: [][]string{
		{"step", "TTFT", "", "TPOT", "", "ITL", "", "E2E", "", "client lag"},
		{"", "p50", "p99", "p50", "p99", "p50", "p99", "p50", "p99", "p99"},
	}}
	goodput, energy := hasGoodput(r), hasEnergy(r)
	if goodput {
		load.heads[0], load.heads[1] = append(load.heads[0], "good"), append(load.heads[1], "/s")
	}
	if energy {
		load.heads[0], load.heads[1] = append(load.heads[0], "J per"), append(load.heads[1], "token")
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		name := fit(clean(s.Name), maxStepName)
		row := loadRow(name, s)
		if goodput {
			row = append(row, goodputText(s))
		}
		if energy {
			row = append(row, energyText(s))
		}
		load.rows = append(load.rows, row)
		latency.rows = append(latency.rows, latencyRow(name, s))
	}
	return load, latency
}

func loadRow(name string, s *Step) []string {
	f := &s.Whole
	return []string{
		name, number(s.Checks.Achieved), number(f.RequestThroughput), number(f.OutputThroughput),
		steadyText(s, func(f *Figures) float64 { return f.OutputThroughput }), meanSeconds(f.E2E),
		strconv.Itoa(s.Account.Attempted), strconv.Itoa(s.Account.Failures()),
		number(s.Account.FailureRatio() * 100), strconv.Itoa(s.Account.Canceled),
	}
}

func latencyRow(name string, s *Step) []string {
	row := []string{name}
	for _, d := range []Distribution{s.Whole.TTFT, s.Whole.TPOT, s.Whole.ITL, s.Whole.E2E} {
		row = append(row, millis(d, 50), millis(d, 99))
	}
	return append(row, millis(s.Checks.ClientLag, 99))
}

func steadyText(s *Step, of func(*Figures) float64) string {
	if s.Steady == nil {
		return noFigure
	}
	return number(of(s.Steady))
}

func meanSeconds(d Distribution) string {
	if d.Count == 0 {
		return noFigure
	}
	return number(d.Mean)
}

func goodputText(s *Step) string {
	if s.Whole.Goodput == nil {
		return noFigure
	}
	return number(*s.Whole.Goodput)
}

func energyText(s *Step) string {
	v, ok := s.JoulesPerToken()
	if !ok {
		return noFigure
	}
	return number(v)
}

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

// objectivesText says what a good request meets, empty without objectives.
func objectivesText(o Objectives) string {
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

// notes are the warnings about the report as a whole.
func notes(r *Report) []string {
	var all []string
	if !r.Complete {
		all = append(all, "a log has no end: its run was killed or still goes on, and the requests then in flight are not in the report")
	}
	if r.Damaged > 0 {
		all = append(all, counted(r.Damaged, "line")+" of the logs could not be read, and what was in them is not in the report")
	}
	return all
}
