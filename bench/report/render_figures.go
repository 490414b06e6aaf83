package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// quantity is one of the distributions of a window.
type quantity struct {
	name string // in tables
	key  string // in JSON and CSV
	kind quantityKind
	of   func(*Figures) Distribution
}

type quantityKind int

const (
	ofServer quantityKind = iota
	ofClient              // this program's own waits
	ofText                // lengths
)

func quantities() []quantity {
	return []quantity{
		{"TTFT", "ttft", ofServer, func(f *Figures) Distribution { return f.TTFT }},
		{"TTFT from due", "ttft_from_planned", ofServer, func(f *Figures) Distribution { return f.TTFTFromPlanned }},
		{"first answer", "first_answer", ofServer, func(f *Figures) Distribution { return f.FirstAnswer }},
		{"TPOT", "tpot", ofServer, func(f *Figures) Distribution { return f.TPOT }},
		{"ITL", "itl", ofServer, func(f *Figures) Distribution { return f.ITL }},
		{"ITL a token", "token_itl", ofServer, func(f *Figures) Distribution { return f.TokenITL }},
		{"E2E", "e2el", ofServer, func(f *Figures) Distribution { return f.E2E }},
		{"E2E from due", "e2el_from_planned", ofServer, func(f *Figures) Distribution { return f.E2EFromPlanned }},
		{"client queue", "client_queue", ofClient, func(f *Figures) Distribution { return f.Queue }},
		{"client lateness", "lateness", ofClient, func(f *Figures) Distribution { return f.Lateness }},
		{"connection set-up", "setup", ofClient, func(f *Figures) Distribution { return f.Setup }},
		{"prompt", "prompt_length", ofText, func(f *Figures) Distribution { return f.PromptLength }},
		{"output", "output_length", ofText, func(f *Figures) Distribution { return f.OutputLength }},
	}
}

// quantitiesOf are those that tables of a step show, in their order. What there is no
// sample of is left out, and what repeats another: latencies from when a request
// was due in a closed loop, first answers where no model reasons.
func quantitiesOf(s *Step) []quantity {
	f := &s.Whole
	return slices.DeleteFunc(quantities(), func(m quantity) bool {
		switch m.key {
		case "ttft_from_planned", "e2el_from_planned":
			if s.Arrival == runlog.ArrivalClosed {
				return true
			}
		case "first_answer":
			if f.FirstAnswer.Count == f.TTFT.Count && f.FirstAnswer.Mean == f.TTFT.Mean {
				return true
			}
		}
		return m.of(f).Count == 0
	})
}

// figureRow is one line of the table that sets the steady state beside the whole
// step.
type figureRow struct {
	name string
	text func(*Figures) string
}

func (r figureRow) cells(s *Step) []string {
	cells := []string{r.name, r.text(&s.Whole)}
	if s.Steady != nil {
		cells = append(cells, r.text(s.Steady))
	}
	return cells
}

// RateGrid sets what happened in the steady state beside the whole step.
func RateGrid(s *Step) Grid {
	g := Grid{Caption: "Throughput", Heads: [][]string{{"", "whole step"}}}
	if s.Steady != nil {
		g.Heads[0] = append(g.Heads[0], "steady state")
	}
	for _, r := range []figureRow{
		{"duration (s)", func(f *Figures) string { return number(f.Window.Duration().Seconds()) }},
		{"requests sent in it", func(f *Figures) string { return strconv.Itoa(f.Account.Attempted) }},
		{"failed of these", func(f *Figures) string { return percent(f.Account.FailureRatio()) }},
		{"completed in it", func(f *Figures) string { return strconv.Itoa(f.Completed) }},
		{"most in flight", func(f *Figures) string { return strconv.Itoa(f.PeakConcurrency) }},
		{"requests/s", func(f *Figures) string { return number(f.RequestThroughput) }},
		{"good requests/s", goodputText},
		{"good of those sent in it", func(f *Figures) string { return scaledText(f.GoodRatio, 1, percent) }},
		{"prompt tokens", func(f *Figures) string { return strconv.FormatInt(f.PromptTokens, 10) }},
		{"output tokens", func(f *Figures) string { return strconv.FormatInt(f.OutputTokens, 10) }},
		{"output tokens/s", func(f *Figures) string { return number(f.OutputThroughput) }},
		{"peak output tokens/s", func(f *Figures) string { return number(f.PeakOutputThroughput) }},
		{"all tokens/s", func(f *Figures) string { return number(f.TotalThroughput) }},
	} {
		if cells := r.cells(s); cells[1] != noFigure {
			g.Rows = append(g.Rows, cells)
		}
	}
	return g
}

// latencyRows go on with the percentiles of each latency, and mean lengths.
func latencyRows(s *Step) [][]string {
	shown := stepPercentiles(s)
	names := make([]string, len(shown))
	for i, p := range shown {
		names[i] = "p" + percentileName(p)
	}
	var rows [][]string
	for _, m := range quantitiesOf(s) {
		row := figureRow{m.name + " " + strings.Join(names, " / ") + " (ms)", func(f *Figures) string {
			values := make([]string, len(shown))
			for i, p := range shown {
				values[i] = millis(m.of(f), p)
			}
			return strings.Join(values, " / ")
		}}
		switch m.kind {
		case ofClient: // the facts tell
			continue
		case ofText:
			row = figureRow{"mean " + m.name + " tokens", func(f *Figures) string { return mean(m.of(f)) }}
		}
		rows = append(rows, row.cells(s))
	}
	return rows
}

// DistributionGrids have a row for each distribution, of the steady state where
// there is one and of the whole step. The server's own TTFT, which is of the
// whole step, stands beside ours.
func DistributionGrids(s *Step) []Grid {
	var all []Grid
	if s.Steady != nil {
		all = append(all, distributionGrid("steady state", s, s.Steady))
	}
	return append(all, distributionGrid("whole step", s, &s.Whole))
}

func distributionGrid(window string, s *Step, f *Figures) Grid {
	g := Grid{
		Caption: fmt.Sprintf("Distributions, %s; %s of its requests failed", window, percent(f.Account.FailureRatio())),
		Heads:   [][]string{{"", "samples", "mean", "std", "min"}},
	}
	all := quantitiesOf(s)
	named := mostPercentiles(all, f)
	for _, p := range named {
		g.Heads[0] = append(g.Heads[0], "p"+percentileName(p.P))
	}
	g.Heads[0] = append(g.Heads[0], "max")
	rounded := false
	add := func(name string, d Distribution, scale float64) {
		if d.Count > 0 {
			rounded = rounded || !d.Exact
			g.Rows = append(g.Rows, distributionRow(name, d, scale, named))
		}
	}
	for _, m := range all {
		unit, scale := " (ms)", 1e3
		if m.kind == ofText {
			unit, scale = " length (tokens)", 1
		}
		add(m.name+unit, m.of(f), scale)
	}
	if f == &s.Whole && s.Server != nil && s.Server.TTFT != nil {
		add("TTFT by the server (ms)", *s.Server.TTFT, 1e3)
	}
	if rounded {
		g.Caption += "; percentiles of names with * are read from a histogram"
	}
	return g
}

// mostPercentiles are the most that one of them has.
func mostPercentiles(all []quantity, f *Figures) []Percentile {
	var most []Percentile
	for _, m := range all {
		if d := m.of(f); len(d.Percentiles) > len(most) {
			most = d.Percentiles
		}
	}
	return most
}

func distributionRow(name string, d Distribution, scale float64, named []Percentile) []string {
	if !d.Exact {
		name += " *"
	}
	value := func(v float64) string { return number(v * scale) }
	row := []string{name, strconv.FormatInt(d.Count, 10), value(d.Mean), value(d.Std), value(d.Min)}
	for _, p := range named {
		text := noFigure
		if v, ok := d.At(p.P); ok {
			text = value(v)
		}
		row = append(row, text)
	}
	row = append(row, value(d.Max))
	if d.Max == 0 && d.Mean > 0 { // of a server, which tells no more than buckets
		row[3], row[4], row[len(row)-1] = noFigure, noFigure, noFigure
	}
	return row
}
