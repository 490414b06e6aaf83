package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// stepView is what is shown of one step: how it went, its figures, and how far they can be trusted.
type stepView struct {
	Heading  string
	Facts    []string
	Tables   []Table
	Warnings []string
}

func newStepView(s *result.Step) stepView {
	figures := Table{
		Caption: "Throughput", Head: []string{"", "whole", "steady"},
		Rows: columnRows(s, rateColumns, &s.Whole, s.Steady),
	}
	v := stepView{
		Heading: s.Label.Long, Facts: facts(s),
		Tables: withRows(figures, latencyTable(s), turnTable(s), checkTable(s), cardTable(s), serverTable(s)),
	}
	for _, text := range s.Warnings {
		v.Warnings = append(v.Warnings, Clean(text))
	}
	return v
}

// facts are what became of a step's requests, why it ended, and where its tokens were counted.
func facts(s *result.Step) []string {
	a := &s.Account
	all := []string{
		fmt.Sprintf("%d requests: %d succeeded, %d failed, %d canceled", a.Attempted, a.Succeeded, a.Failures(), a.Canceled),
		"ended by: " + cmp.Or(Clean(string(s.Stop)), "a kill, or it still goes on"),
	}
	for _, reason := range a.Reasons() {
		all = append(all, Clean(fmt.Sprintf("failed with %s: %d, the first: %s", reason, a.Failed[reason], s.FailedAs[reason])))
	}
	for _, source := range slices.Sorted(maps.Keys(s.Checks.TokensBy)) {
		all = append(all, fmt.Sprintf("output tokens counted by %s: %d answers", source, s.Checks.TokensBy[source]))
	}
	if s.Conversations > 0 {
		all = append(all, fmt.Sprintf("%d conversations; turns not sent: %d; ended at the model's length: %d",
			s.Conversations, s.TurnsNotSent, s.AtModelLength))
	}
	if text := cacheText(s.Cache); text != "" {
		all = append(all, "cache: "+text)
	}
	return all
}

// cacheText says how much a prefix cache could have served, and did: "possible 61 %, usage 58 %"; empty for 0 %.
func cacheText(c *result.Cache) string {
	if c == nil {
		return ""
	}
	parts, most := []string{"possible not known"}, 0.0
	if c.Possible != nil {
		parts = nil
	}
	for i, hits := range []*result.Hits{c.Possible, c.Usage, c.Server} {
		if hits != nil {
			source := []string{"possible", "usage", "server"}[i]
			parts = append(parts, fmt.Sprintf("%s %.0f %%", source, 100*hits.Ratio))
			most = max(most, hits.Ratio)
		}
	}
	if most < 0.005 {
		return ""
	}
	return strings.Join(parts, ", ")
}

// columnRows has a row for each column that is known of the first window, with its figures in all windows.
func columnRows(s *result.Step, columns []Column, windows ...*result.Figures) [][]string {
	var rows [][]string
	for _, c := range columns {
		row := []string{c.Title()}
		for _, window := range windows {
			row = append(row, c.text(s, window))
		}
		if row[1] != unknown {
			rows = append(rows, row)
		}
	}
	return rows
}

// partNames are those of what [result.Step.SteadyOrWhole] gives, by whether there is a steady part.
var partNames = map[bool]string{true: "steady part", false: "whole step"}

// latencyTable has a row for each measure that has samples, with errors: "104 ± 3".
func latencyTable(s *result.Step) Table {
	t := Table{Caption: "Latencies, " + partNames[s.Steady != nil], Head: []string{"", "samples", "mean"}}
	percentiles := tablePercentiles(s.Percentiles)
	for _, p := range percentiles {
		t.Head = append(t.Head, percentileName(p))
	}
	t.Head = append(t.Head, "max")
	window := s.SteadyOrWhole()
	for _, m := range result.Measures() {
		if !m.ShownFor(s) {
			continue
		}
		columns := measureColumns(m, percentiles)
		row := []string{Column{Head: m.Name, Unit: columns[1].Unit}.Title()}
		for _, c := range columns {
			text := c.text(s, window)
			if plusMinus := c.estimate(window).Error; text != unknown && plusMinus > 0 {
				text += " ± " + c.Unit.Text(float64(plusMinus))
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func turnTable(s *result.Step) Table {
	percentiles := tablePercentiles(s.Percentiles)
	var keys []string
	for _, p := range percentiles {
		keys = append(keys, "ttft_"+percentileName(p))
	}
	latencies := Pick(Columns(percentiles...), append(keys, "tpot_mean")...)
	t := Table{
		Caption: "Turns, " + partNames[s.Steady != nil],
		Head:    append([]string{"turn", "requests", "prompt (tokens)", "new (tokens)", "cached (tokens)"}, titles(latencies)...),
	}
	for _, turn := range s.Turns {
		figures := &result.Figures{Distributions: result.Distributions{result.TTFT: turn.TTFT, result.TPOT: turn.TPOT}}
		t.Rows = append(t.Rows, append([]string{
			strconv.Itoa(turn.Turn), strconv.Itoa(turn.Requests),
			Tokens.Text(turn.PromptTokens), Tokens.Text(turn.NewTokens), Tokens.Text(float64(turn.CachedTokens)),
		}, texts(latencies, s, figures)...))
	}
	return t
}

func checkTable(s *result.Step) Table {
	t := Table{
		Caption: "How far the figures can be trusted",
		Head:    []string{"", ""},
		Rows:    columnRows(s, checkColumns, &s.Whole),
	}
	for _, trend := range s.Checks.Trends {
		t.Rows = append(t.Rows, []string{
			"change of " + strings.ToUpper(string(trend.Measure)) + " an hour (%)",
			fmt.Sprintf("%+.0f ± %.0f", 100*trend.PerHour, 100*trend.PlusMinus),
		})
	}
	return t
}

func cardTable(s *result.Step) Table {
	t := Table{Caption: "Cards", Head: []string{"card", "utilization (%)", "power (W)", "hottest (°C)", "most memory (GiB)"}}
	for _, c := range s.Serving() {
		t.Rows = append(t.Rows, []string{
			Clean(c.Vendor + " " + c.Device + " " + c.Name),
			Share.Text(measured(c.Utilization).Mean), Number.Text(measured(c.Watts).Mean),
			Number.Text(measured(c.Celsius).Max), Number.Text(measured(c.MemoryUsed).Max / (1 << 30)),
		})
	}
	return t
}

func serverTable(s *result.Step) Table {
	t := Table{Caption: "The server's own metrics", Head: []string{"", ""}}
	v := s.Server
	if v == nil {
		return t
	}
	t.Rows = [][]string{
		{"running requests, mean", Number.Text(measured(v.Running).Mean)},
		{"waiting requests, mean", Number.Text(measured(v.Waiting).Mean)},
		{"KV cache used, at most (%)", Share.Text(measured(v.CacheUsage).Max)},
	}
	if v.TTFTOurs {
		t.Rows = append(t.Rows, []string{"TTFT, mean (ms)", Milliseconds.Text(v.TTFT.Mean)})
	}
	if d := v.Speculation; d != nil {
		t.Rows = append(t.Rows, []string{"draft tokens accepted (%)", Share.Text(d.Acceptance)},
			[]string{"tokens of a draft accepted, with the model's own", Number.Text(d.AcceptedLength)})
	}
	return t
}
