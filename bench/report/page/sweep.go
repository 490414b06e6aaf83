package page

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// column is one column of the sweep.
type column struct {
	head string
	text func(*report.Step) string
}

// sweep is the load and what became of it, and the latencies: one row a step.
func sweep(r *report.Report) []table {
	return []table{
		sweepTable(r, "Load and throughput, of the whole step except where the head says steady", loadColumns(r)),
		sweepTable(r, "Latencies, of the successful requests of the whole step", latencyColumns(r)),
	}
}

func sweepTable(r *report.Report, caption string, columns []column) table {
	t := table{Caption: caption, Head: []string{"Step"}}
	for _, c := range columns {
		t.Head = append(t.Head, c.head)
	}
	for i := range r.Steps {
		cells := []string{r.Steps[i].Name}
		for _, c := range columns {
			cells = append(cells, c.text(&r.Steps[i]))
		}
		t.Rows = append(t.Rows, row{Link: stepID(i), Cells: cells})
	}
	return t
}

func loadColumns(r *report.Report) []column {
	all := []column{
		{"QPS", func(s *report.Step) string { return number(s.Whole.RequestThroughput) }},
		{"QPS, steady", func(s *report.Step) string {
			return steady(s, func(f *report.Figures) string { return number(f.RequestThroughput) })
		}},
		{"Output tok/s", func(s *report.Step) string { return number(s.Whole.OutputThroughput) }},
		{"Output tok/s, steady", func(s *report.Step) string {
			return steady(s, func(f *report.Figures) string { return number(f.OutputThroughput) })
		}},
		{"Latency mean (s)", func(s *report.Step) string { return meanOf(s.Whole.E2E) }},
		{"Attempted", func(s *report.Step) string { return count(s.Account.Attempted) }},
		{"Failed", func(s *report.Step) string { return count(s.Account.Failures()) }},
		{"Failed share", func(s *report.Step) string { return percent(s.Account.FailureRatio()) }},
		{"Canceled", func(s *report.Step) string { return count(s.Account.Canceled) }},
		{"In flight, mean", func(s *report.Step) string { return number(s.Checks.Achieved) }},
	}
	if slices.ContainsFunc(r.Steps, func(s report.Step) bool { return s.Whole.Goodput != nil }) {
		all = append(all, column{"Good requests/s", func(s *report.Step) string { return known(s.Whole.Goodput, 1) }})
	}
	if slices.ContainsFunc(r.Steps, func(s report.Step) bool { return s.Joules != nil }) {
		all = append(all, column{"J per output token", energy})
	}
	return all
}

func latencyColumns(r *report.Report) []column {
	var all []column
	for _, d := range []struct {
		name string
		unit unit
		of   func(*report.Step) report.Distribution
	}{
		{"TTFT", milliseconds, func(s *report.Step) report.Distribution { return s.Whole.TTFT }},
		{"TPOT", milliseconds, func(s *report.Step) report.Distribution { return s.Whole.TPOT }},
		{"ITL", milliseconds, func(s *report.Step) report.Distribution { return s.Whole.ITL }},
		{"E2E", seconds, func(s *report.Step) report.Distribution { return s.Whole.E2E }},
		{"Client lag", milliseconds, func(s *report.Step) report.Distribution { return s.Checks.ClientLag }},
	} {
		for _, p := range slices.Compact([]float64{50, highPercentile(r)}) {
			all = append(all, column{
				head: d.name + " " + percentileName(p) + " (" + d.unit.name() + ")",
				text: func(s *report.Step) string { return at(d.of(s), p, d.unit) },
			})
		}
	}
	return all
}

// highPercentile is 99, or the highest there is in a report without it.
func highPercentile(r *report.Report) float64 {
	highest := 50.0
	for i := range r.Steps {
		for _, p := range r.Steps[i].Whole.E2E.Percentiles {
			if p.P == 99 {
				return 99
			}
			highest = max(highest, p.P)
		}
	}
	return highest
}

func steady(s *report.Step, text func(*report.Figures) string) string {
	if s.Steady == nil {
		return none
	}
	return text(s.Steady)
}

func energy(s *report.Step) string {
	v, ok := s.JoulesPerToken()
	if !ok {
		return none
	}
	return known(&v, 1)
}

func known(v *float64, unit float64) string {
	if v == nil {
		return none
	}
	return number(*v * unit)
}
