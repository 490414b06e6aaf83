package page

import (
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// rates sets the steady state beside the whole step.
func rates(s *report.Step) table {
	t := table{Caption: "Throughput", Head: []string{"", "Steady state", "Whole step"}}
	for _, r := range []struct {
		name string
		text func(*report.Figures) string
	}{
		{"Length (s)", func(f *report.Figures) string { return number(f.Window.Duration().Seconds()) }},
		{"Requests sent in it", func(f *report.Figures) string { return count(f.Account.Attempted) }},
		{"Failed of these", func(f *report.Figures) string { return percent(f.Account.FailureRatio()) }},
		{"Completed in it", func(f *report.Figures) string { return count(f.Completed) }},
		{"Successful requests/s", func(f *report.Figures) string { return number(f.RequestThroughput) }},
		{"Good requests/s", func(f *report.Figures) string { return known(f.Goodput, 1) }},
		{"Output tokens", func(f *report.Figures) string { return count(f.OutputTokens) }},
		{"Output tokens/s", func(f *report.Figures) string { return number(f.OutputThroughput) }},
		{"Most output tokens in a second", func(f *report.Figures) string { return number(f.PeakOutputThroughput) }},
		{"Prompt tokens", func(f *report.Figures) string { return count(f.PromptTokens) }},
		{"All tokens/s", func(f *report.Figures) string { return number(f.TotalThroughput) }},
		{"Most requests in flight", func(f *report.Figures) string { return count(f.PeakConcurrency) }},
	} {
		cells := []string{r.name, steady(s, r.text), r.text(&s.Whole)}
		if cells[1] != none || cells[2] != none {
			t.Rows = append(t.Rows, row{Cells: cells})
		}
	}
	return t
}

// distributions leaves out those without a sample, and those that repeat
// another: latencies from when due in a closed loop, first answers where no
// model reasons.
func distributions(name string, s *report.Step, f *report.Figures) table {
	t := table{Caption: "Distributions, " + name + "; " + percent(f.Account.FailureRatio()) + " of its requests failed"}
	ttftDue, e2eDue, answer := f.TTFTFromPlanned, f.E2EFromPlanned, f.FirstAnswer
	if s.Arrival == runlog.ArrivalClosed {
		ttftDue, e2eDue = report.Distribution{}, report.Distribution{}
	}
	if answer.Count == f.TTFT.Count && answer.Mean == f.TTFT.Mean {
		answer = report.Distribution{}
	}
	all := []struct {
		name string
		unit unit
		of   report.Distribution
	}{
		{"TTFT (ms)", milliseconds, f.TTFT},
		{"TTFT from when due (ms)", milliseconds, ttftDue},
		{"First answer (ms)", milliseconds, answer},
		{"TPOT (ms)", milliseconds, f.TPOT},
		{"ITL (ms)", milliseconds, f.ITL},
		{"ITL a token (ms)", milliseconds, f.TokenITL},
		{"E2E (s)", seconds, f.E2E},
		{"E2E from when due (s)", seconds, e2eDue},
		{"Client queue (ms)", milliseconds, f.Queue},
		{"Client lateness (ms)", milliseconds, f.Lateness},
		{"Connection set-up (ms)", milliseconds, f.Setup},
		{"Prompt length (tokens)", 1, f.PromptLength},
		{"Output length (tokens)", 1, f.OutputLength},
	}
	var named []report.Percentile
	for _, d := range all {
		if len(d.of.Percentiles) > len(named) {
			named = d.of.Percentiles
		}
	}
	t.Head = []string{"", "Samples", "Mean", "Std", "Min"}
	for _, p := range named {
		t.Head = append(t.Head, percentileName(p.P))
	}
	t.Head = append(t.Head, "Max")
	rounded := false
	for _, d := range all {
		if d.of.Count == 0 {
			continue
		}
		rounded = rounded || !d.of.Exact
		t.Rows = append(t.Rows, row{Cells: distribution(d.name, d.of, d.unit, named)})
	}
	if rounded {
		t.Caption += "; percentiles of names with * are read from a histogram of three significant digits"
	}
	return t
}

func distribution(name string, d report.Distribution, u unit, named []report.Percentile) []string {
	if !d.Exact {
		name += " *"
	}
	value := func(v float64) string { return number(v * float64(u)) }
	cells := []string{name, count(d.Count), value(d.Mean), value(d.Std), value(d.Min)}
	for _, p := range named {
		cells = append(cells, at(d, p.P, u))
	}
	return append(cells, value(d.Max))
}

func cards(s *report.Step) table {
	t := table{Caption: "Cards, mean and maximum over the step", Head: []string{
		"Card", "Name", "Serves the endpoint", "NUMA node", "Utilization (%)", "Power (W)", "Temperature (°C)", "Memory used (GiB)", "Memory (GiB)",
	}}
	const gib = 1 << 30
	for i := range s.Cards {
		c := &s.Cards[i]
		serves, node := "not known to", none
		if c.Serves {
			serves = "yes"
		}
		if c.NUMANode != nil {
			node = count(*c.NUMANode)
		}
		total := none
		if c.MemoryTotal.Samples > 0 {
			total = number(c.MemoryTotal.Max / gib)
		}
		t.Rows = append(t.Rows, row{Cells: []string{
			c.Vendor + " " + c.Device, c.Name, serves, node, gauge(c.Utilization, 100), gauge(c.Watts, 1),
			gauge(c.Celsius, 1), gauge(c.MemoryUsed, 1.0/gib), total,
		}})
	}
	return t
}

func gauge(g report.Gauge, times float64) string {
	if g.Samples == 0 {
		return none
	}
	return number(g.Mean*times) + ", " + number(g.Max*times)
}

// server sets the server's own TTFT beside ours.
func server(s *report.Step) table {
	v := s.Server
	t := table{Caption: "The server's own metrics", Head: []string{"", "Server", "Measured here"}}
	add := func(name, theirs, ours string) {
		if theirs != none {
			t.Rows = append(t.Rows, row{Cells: []string{name, theirs, ours}})
		}
	}
	add("Requests running, mean and maximum", gauge(v.Running, 1), none)
	add("Requests waiting, mean and maximum", gauge(v.Waiting, 1), none)
	add("Cache use (%), mean and maximum", gauge(v.CacheUsage, 100), none)
	if v.TTFT != nil && v.TTFT.Count > 0 {
		ours := s.Whole.TTFT
		ours.Mean *= float64(milliseconds)
		add("TTFT mean (ms)", number(v.TTFT.Mean*float64(milliseconds)), meanOf(ours))
		for _, p := range v.TTFT.Percentiles {
			add("TTFT "+percentileName(p.P)+" (ms), the server's within its buckets",
				at(*v.TTFT, p.P, milliseconds), at(ours, p.P, milliseconds))
		}
	}
	add("Prefix cache queries (tokens)", known(v.PrefixQueries, 1), none)
	add("Prefix cache hits (tokens)", known(v.PrefixHits, 1), none)
	add("Preemptions", known(v.Preemptions, 1), none)
	return t
}
