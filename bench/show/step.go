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

// stepView is what is shown of one step: how it went, its figures, and how far they can
// be trusted.
type stepView struct {
	Heading  string
	Facts    []string
	Tables   []Table
	Warnings []string
}

func newStepView(s *result.Step) stepView {
	v := stepView{Heading: Clean(s.Title()), Facts: facts(s)}
	for _, t := range []Table{figureTable(s), latencyTable(s), turnTable(s), checkTable(s), cardTable(s), serverTable(s)} {
		if len(t.Rows) > 0 {
			v.Tables = append(v.Tables, t)
		}
	}
	for _, text := range s.Warnings {
		v.Warnings = append(v.Warnings, Clean(text))
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

// cacheText says how much a prefix cache could have served, and did: "possible 61 %, usage
// 58 %". It is empty where none is more than 0 %.
func cacheText(c *result.Cache) string {
	if c == nil {
		return ""
	}
	var parts []string
	most := 0.0
	for _, of := range []struct {
		name string
		hits *result.Hits
	}{{"possible", c.Possible}, {"usage", c.Usage}, {"server", c.Server}} {
		switch {
		case of.hits != nil:
			parts = append(parts, fmt.Sprintf("%s %.0f %%", of.name, 100*of.hits.Ratio))
			most = max(most, of.hits.Ratio)
		case of.name == "possible":
			parts = append(parts, "possible not known")
		}
	}
	if most < 0.005 {
		return ""
	}
	return strings.Join(parts, ", ")
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

// latencyTable has a row for each measure that has samples.
func latencyTable(s *result.Step) Table {
	t := Table{Caption: "Latencies, steady part", Head: []string{"", "samples", "mean"}}
	if s.Steady == nil {
		t.Caption = "Latencies, whole step"
	}
	percentiles := tablePercentiles(s.Percentiles)
	for _, p := range percentiles {
		t.Head = append(t.Head, percentileName(p))
	}
	t.Head = append(t.Head, "max")
	for _, m := range result.Measures() {
		if !m.ShownFor(s) {
			continue
		}
		columns := measureColumns(m, percentiles)
		row := []string{Column{Head: m.Name, Unit: columns[1].Unit}.Title()}
		for _, c := range columns {
			row = append(row, c.textWithError(s, s.SteadyOrWhole()))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// turnTable has a row for each turn of conversations.
func turnTable(s *result.Step) Table {
	percentiles := tablePercentiles(s.Percentiles)
	t := Table{Caption: "Turns, steady part", Head: []string{"turn", "requests", "prompt (tokens)", "new (tokens)", "cached (tokens)"}}
	if s.Steady == nil {
		t.Caption = "Turns, whole step"
	}
	for _, p := range percentiles {
		t.Head = append(t.Head, "TTFT "+percentileName(p)+" (ms)")
	}
	t.Head = append(t.Head, "TPOT mean (ms)")
	for i := range s.Turns {
		turn := &s.Turns[i]
		row := []string{strconv.Itoa(turn.Turn), strconv.Itoa(turn.Requests), Tokens.Text(turn.PromptTokens), Tokens.Text(turn.NewTokens), Tokens.Text(float64(turn.CachedTokens))}
		for _, p := range percentiles {
			row = append(row, latency(turn.TTFT, p))
		}
		t.Rows = append(t.Rows, append(row, Milliseconds.Text(nonZero(turn.TPOT.Mean))))
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
	for _, trend := range s.Checks.Trends {
		t.Rows = append(t.Rows, []string{"change of " + strings.ToUpper(string(trend.Measure)) + " an hour (%)", fmt.Sprintf("%+.0f ± %.0f", 100*trend.PerHour, 100*trend.PlusMinus)})
	}
	return t
}

// cardTable has a row for each card that serves.
func cardTable(s *result.Step) Table {
	t := Table{Caption: "Cards", Head: []string{"card", "utilization (%)", "power (W)", "hottest (°C)", "most memory (GiB)"}}
	for _, c := range s.Serving() {
		t.Rows = append(t.Rows, []string{
			Clean(c.Vendor + " " + c.Device + " " + c.Name), Share.Text(gaugeMean(c.Utilization)), Number.Text(gaugeMean(c.Watts)),
			Number.Text(gaugeMax(c.Celsius)), Number.Text(gaugeMax(c.MemoryUsed) / (1 << 30)),
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
		{"running requests, mean", Number.Text(gaugeMean(v.Running))},
		{"waiting requests, mean", Number.Text(gaugeMean(v.Waiting))},
		{"KV cache used, at most (%)", Share.Text(gaugeMax(v.CacheUsage))},
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
