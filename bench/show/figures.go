package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// both are a figure's texts of the whole step and of the steady state, if there is one.
func both(s *result.Step, name string, text func(*result.Figures) string) []string {
	cells := []string{name, text(&s.Whole)}
	if s.Steady != nil {
		cells = append(cells, text(s.Steady))
	}
	return cells
}

// RateGrid sets what happened in the steady state beside the whole step.
func RateGrid(s *result.Step) Grid {
	g := Grid{Caption: "Throughput", Heads: [][]string{both(s, "", func(f *result.Figures) string {
		if f == &s.Whole {
			return "whole step"
		}
		return "steady state"
	})}}
	columns := result.Ordered(result.WindowColumns(), "duration_s", "sent", "sent_failure_ratio", "completed", "peak_concurrency",
		"request_throughput_rps", "request_goodput_rps", "good_ratio", "prompt_tokens", "output_tokens", "output_throughput_tok_s",
		"peak_output_throughput_tok_s", "total_throughput_tok_s")
	for _, c := range columns {
		row := both(s, c.Label, func(f *result.Figures) string {
			text := cell(c, s, f)
			if c.Unit == result.Share && text != words.Unknown {
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
func shownFor(s *result.Step) []result.Measure {
	return slices.DeleteFunc(result.Measures(), func(m result.Measure) bool { return !m.ShownFor(s) })
}

// latencyRows go on with the percentiles of each latency, and mean lengths. The facts
// tell of the client's own waits.
func latencyRows(s *result.Step) [][]string {
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
		case result.Client:
		case result.Length:
			rows = append(rows, both(s, "mean "+m.Name+" tokens", func(f *result.Figures) string { return meanOf(f.Of(m.Key), 1) }))
		default:
			name := m.Name + " " + joined(func(p float64) string { return "p" + words.Percentile(p) }) + " (ms)"
			rows = append(rows, both(s, name, func(f *result.Figures) string {
				return joined(func(p float64) string { return millis(f.Of(m.Key), p) })
			}))
		}
	}
	return rows
}

// DistributionGrids have a row for each distribution, of the steady state where
// there is one and of the whole step. The server's own TTFT, which is of the
// whole step, stands beside ours.
func DistributionGrids(s *result.Step) []Grid {
	var all []Grid
	if s.Steady != nil {
		all = append(all, distributionGrid("steady state", s, s.Steady))
	}
	return append(all, distributionGrid("whole step", s, &s.Whole))
}

func distributionGrid(window string, s *result.Step, f *result.Figures) Grid {
	g := Grid{
		Caption: fmt.Sprintf("Distributions, %s; %s of its requests failed", window, words.Percent(f.Account.FailureRatio())),
		Heads:   [][]string{{"", "samples", "mean", "std", "min"}},
	}
	all := shownFor(s)
	var named []result.Percentile // the most that one of them has
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
	add := func(name string, d result.Distribution, scale float64) {
		if d.Count > 0 {
			rounded = rounded || !d.Exact
			g.Rows = append(g.Rows, distributionRow(name, d, scale, named))
		}
	}
	for _, m := range all {
		if m.Kind == result.Length {
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

func distributionRow(name string, d result.Distribution, scale float64, named []result.Percentile) []string {
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
func millis(d result.Distribution, p float64) string {
	v, ok := d.At(p)
	if d.Count == 0 || !ok {
		return words.Unknown
	}
	return words.Number(v * 1e3)
}

// meanOf writes the mean, times a factor.
func meanOf(d result.Distribution, times float64) string {
	if d.Count == 0 {
		return words.Unknown
	}
	return words.Number(d.Mean * times)
}
