package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// both are a figure's texts of the whole step and of the steady state, if there is one.
func both(s *report.Step, name string, text func(*report.Figures) string) []string {
	cells := []string{name, text(&s.Whole)}
	if s.Steady != nil {
		cells = append(cells, text(s.Steady))
	}
	return cells
}

// RateGrid sets what happened in the steady state beside the whole step.
func RateGrid(s *report.Step) Grid {
	g := Grid{Caption: "Throughput", Heads: [][]string{both(s, "", func(f *report.Figures) string {
		if f == &s.Whole {
			return "whole step"
		}
		return "steady state"
	})}}
	columns := report.Ordered(report.WindowColumns(), "duration_s", "sent", "sent_failure_ratio", "completed", "peak_concurrency",
		"request_throughput_rps", "request_goodput_rps", "good_ratio", "prompt_tokens", "output_tokens", "output_throughput_tok_s",
		"peak_output_throughput_tok_s", "total_throughput_tok_s")
	for _, c := range columns {
		row := both(s, c.Label, func(f *report.Figures) string {
			text := cell(c, s, f)
			if c.Unit == report.Share && text != words.Unknown {
				text += " %"
			}
			return text
		})
		if c.Label != "" && row[1] != words.Unknown {
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

// shownFor are the measures that tables of a step show.
func shownFor(s *report.Step) []report.Measure {
	return slices.DeleteFunc(report.Measures(), func(m report.Measure) bool { return !m.ShownFor(s) })
}

// latencyRows go on with the percentiles of each latency, and mean lengths. The facts
// tell of the client's own waits.
func latencyRows(s *report.Step) [][]string {
	shown := tablePercentiles(s.Chosen, held(s))
	joined := func(text func(p float64) string) string {
		texts := make([]string, len(shown))
		for i, p := range shown {
			texts[i] = text(p)
		}
		return strings.Join(texts, " / ")
	}
	var rows [][]string
	for _, m := range shownFor(s) {
		switch m.Kind {
		case report.Client:
		case report.Length:
			rows = append(rows, both(s, "mean "+m.Name+" tokens", func(f *report.Figures) string { return meanOf(f.Of(m.Key), 1) }))
		default:
			name := m.Name + " " + joined(func(p float64) string { return "p" + words.Percentile(p) }) + " (ms)"
			rows = append(rows, both(s, name, func(f *report.Figures) string {
				return joined(func(p float64) string { return millis(f.Of(m.Key), p) })
			}))
		}
	}
	return rows
}

// DistributionGrids have a row for each distribution, of the steady state where
// there is one and of the whole step. The server's own TTFT, which is of the
// whole step, stands beside ours.
func DistributionGrids(s *report.Step) []Grid {
	var all []Grid
	if s.Steady != nil {
		all = append(all, distributionGrid("steady state", s, s.Steady))
	}
	return append(all, distributionGrid("whole step", s, &s.Whole))
}

func distributionGrid(window string, s *report.Step, f *report.Figures) Grid {
	g := Grid{
		Caption: fmt.Sprintf("Distributions, %s; %s of its requests failed", window, words.Percent(f.Account.FailureRatio())),
		Heads:   [][]string{{"", "samples", "mean", "std", "min"}},
	}
	all := shownFor(s)
	var named []report.Percentile // the most that one of them has
	for _, m := range all {
		if ps := f.Of(m.Key).Percentiles; len(ps) > len(named) {
			named = ps
		}
	}
	for _, p := range named {
		g.Heads[0] = append(g.Heads[0], "p"+words.Percentile(p.P))
	}
	g.Heads[0] = append(g.Heads[0], "max")
	rounded := false
	add := func(name string, d report.Distribution, scale float64) {
		if d.Count > 0 {
			rounded = rounded || !d.Exact
			g.Rows = append(g.Rows, distributionRow(name, d, scale, named))
		}
	}
	for _, m := range all {
		if m.Kind == report.Length {
			add(m.Name+" length (tokens)", f.Of(m.Key), 1)
		} else {
			add(m.Name+" (ms)", f.Of(m.Key), 1e3)
		}
	}
	if f == &s.Whole && s.Server != nil && s.Server.TTFT != nil {
		add("TTFT by the server (ms)", *s.Server.TTFT, 1e3)
	}
	if rounded {
		g.Caption += "; percentiles of names with * are read from a histogram"
	}
	return g
}

func distributionRow(name string, d report.Distribution, scale float64, named []report.Percentile) []string {
	if !d.Exact {
		name += " *"
	}
	value := func(v float64) string { return words.Number(v * scale) }
	row := []string{name, strconv.FormatInt(d.Count, 10), value(d.Mean), value(d.Std), value(d.Min)}
	for _, p := range named {
		text := words.Unknown
		if v, ok := d.At(p.P); ok {
			text = value(v)
		}
		row = append(row, text)
	}
	row = append(row, value(d.Max))
	if d.Max == 0 && d.Mean > 0 { // of a server, which tells no more than buckets
		row[3], row[4], row[len(row)-1] = words.Unknown, words.Unknown, words.Unknown
	}
	return row
}

// millis writes the percentile p in milliseconds.
func millis(d report.Distribution, p float64) string {
	v, ok := d.At(p)
	if d.Count == 0 || !ok {
		return words.Unknown
	}
	return words.Number(v * 1e3)
}

// meanOf writes the mean, times a factor.
func meanOf(d report.Distribution, times float64) string {
	if d.Count == 0 {
		return words.Unknown
	}
	return words.Number(d.Mean * times)
}
