package show

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// stepView is what is shown of one step: how it went, its figures, and how far they can
// be trusted.
type stepView struct {
	Heading  string
	Facts    []string
	Tables   []Table
	Warnings []string
}

func newStepView(s *result.Step) stepView {
	v := stepView{Heading: clean(s.Heading())}
	for _, text := range facts(s) {
		v.Facts = append(v.Facts, clean(text))
	}
	for _, t := range []Table{figureTable(s), latencyTable(s), checkTable(s), cardTable(s), serverTable(s)} {
		if len(t.Rows) > 0 {
			v.Tables = append(v.Tables, t)
		}
	}
	for _, text := range s.Warnings {
		v.Warnings = append(v.Warnings, clean(text))
	}
	return v
}

// facts are what became of a step's requests, why it ended, and where its tokens were
// counted.
func facts(s *result.Step) []string {
	a := &s.Account
	all := []string{
		fmt.Sprintf("%d requests: %d succeeded, %d failed, %d canceled", a.Attempted, a.Succeeded, a.Failures(), a.Canceled),
		"ended by: " + cmp.Or(string(s.Stop), "a kill, or it still goes on"),
	}
	for _, reason := range a.Reasons() {
		all = append(all, fmt.Sprintf("failed with %s: %d, the first: %s", reason, a.Failed[reason], s.FailedAs[reason]))
	}
	for _, source := range slices.Sorted(maps.Keys(s.Checks.TokensBy)) {
		all = append(all, fmt.Sprintf("output tokens counted by %s: %d answers", source, s.Checks.TokensBy[source]))
	}
	return append(all, promptFacts(&s.Checks.Prompts)...)
}

// promptFacts say how long prompts of words were, nothing where there are none.
func promptFacts(p *result.Prompts) []string {
	n := float64(p.Told)
	aimed, counted, template := float64(p.AimedTokens)/n, float64(p.CountedTokens)/n, float64(p.TemplateTokens)/n
	switch {
	case p.Told == 0:
		return nil
	case p.TemplateTokens == 0: // or not known
		return []string{fmt.Sprintf("prompts made of words, on the mean: %.1f tokens asked for, %.1f counted by the server", aimed, counted)}
	}
	return []string{fmt.Sprintf("prompts made of words, on the mean: %.1f tokens asked for, %.1f counted by the server, of which the chat template adds %.0f",
		aimed, counted, template)}
}

// figureTable has the figures of the whole step and of its steady part.
func figureTable(s *result.Step) Table {
	t := Table{Caption: "Throughput", Head: []string{"", "whole", "steady"}}
	for _, c := range rateColumns {
		if text := c.text(s, &s.Whole); text != unknown {
			t.Rows = append(t.Rows, []string{c.Title(), text, c.text(s, s.Steady)})
		}
	}
	return t
}

// latencyTable has a row for each measure that has samples, of the steady part where
// there is one.
func latencyTable(s *result.Step) Table {
	t := Table{Caption: "Latencies, steady part", Head: []string{"", "samples", "mean"}}
	window, shown := s.Steady, tablePercentiles(s.Chosen)
	if window == nil {
		window, t.Caption = &s.Whole, "Latencies, whole step"
	}
	for _, p := range shown {
		t.Head = append(t.Head, percentileName(p))
	}
	t.Head = append(t.Head, "max")
	for _, m := range result.Measures() {
		if !m.ShownFor(s) {
			continue
		}
		columns := measureColumns(m, shown)
		row := []string{fmt.Sprintf("%s (%s)", m.Name, cmp.Or(columns[1].Unit.Shown(), "tokens"))}
		for _, c := range columns {
			row = append(row, c.text(s, window))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func checkTable(s *result.Step) Table {
	t := Table{Caption: "How far the figures can be trusted", Head: []string{"", ""}}
	for _, c := range checkColumns {
		if text := c.text(s, &s.Whole); text != unknown {
			t.Rows = append(t.Rows, []string{c.Title(), text})
		}
	}
	return t
}

// cardTable has a row for each card that serves.
func cardTable(s *result.Step) Table {
	t := Table{Caption: "Cards", Head: []string{"card", "utilization (%)", "power (W)", "hottest (°C)", "most memory (GiB)"}}
	for _, c := range servingCards(s) {
		t.Rows = append(t.Rows, []string{
			clean(c.Vendor + " " + c.Device + " " + c.Name), Share.Text(gaugeMean(c.Utilization)), formatNumber(gaugeMean(c.Watts)),
			formatNumber(gaugeMax(c.Celsius)), formatNumber(gaugeMax(c.MemoryUsed) / (1 << 30)),
		})
	}
	return t
}

// serverTable sets what the server's own metrics show beside the same measured here.
func serverTable(s *result.Step) Table {
	v := s.Server
	t := Table{Caption: "The server's own metrics, means", Head: []string{"", "server", "here"}}
	if v == nil {
		return t
	}
	if v.TTFT != nil && !v.TTFTOurs {
		t.Caption += ", of other requests than these: not to be compared"
	}
	none := math.NaN()
	ttft := math.NaN()
	if v.TTFT != nil {
		ttft = v.TTFT.Mean
	}
	measured := s.Whole.Of(result.TTFT)
	for _, row := range []struct {
		name         string
		unit         Unit
		server, here float64
	}{
		{"running requests", Number, gaugeMean(v.Running), s.Checks.Achieved},
		{"waiting requests", Number, gaugeMean(v.Waiting), none},
		{"KV cache used, at most (%)", Share, gaugeMax(v.CacheUsage), none},
		{"TTFT (ms)", Milliseconds, ttft, orNaN(measured.Count > 0, measured.Mean)},
	} {
		if isKnown(row.server) {
			t.Rows = append(t.Rows, []string{row.name, row.unit.Text(row.server), row.unit.Text(row.here)})
		}
	}
	return t
}
