package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Fact is one thing that is known of a step, in words.
type Fact struct{ Name, Text string }

// Facts are the settings of a step, how it ended, what became of its requests, and
// where its tokens were counted. What there is nothing of is left out.
func Facts(s *result.Step) []Fact {
	a := &s.Account
	all := []Fact{
		{"arrivals", string(s.Arrival)},
		{"burstiness", settingText(s.Burstiness)},
		{"requests at most", settingText(s.Step.Requests)},
		{"duration", settingText(s.Duration)},
		{"ramp-up", settingText(s.RampUp)},
		{"timeout", settingText(s.Timeout)},
		{"warm-up requests", settingText(s.Warmups)},
		{"ended because", stopTexts[s.Stop]},
		{"requests", fmt.Sprintf("%d attempted = %d succeeded + %d failed + %d canceled", a.Attempted, a.Succeeded, a.Failures(), a.Canceled)},
		{"failed", a.FailureText()},
	}
	for _, reason := range a.Reasons() {
		all = append(all, Fact{"first " + string(reason), s.FailedAs[reason]})
	}
	all = append(all, Fact{"output tokens", tokensText(&s.Checks)}, Fact{"prompt lengths", promptsText(&s.Checks.Prompts)})
	if s.AssumedTarget != "" {
		all = append(all, Fact{"cards", "taken for the endpoint's: those of the exporter's only target, " + s.AssumedTarget})
	}
	if s.Server != nil {
		all = append(all, Fact{"server's model", s.Server.Model})
	}
	return cleanFacts(all)
}

// cleanFacts leaves out what has no text.
func cleanFacts(all []Fact) []Fact {
	var known []Fact
	for _, f := range all {
		if text := clean(f.Text); text != "" {
			known = append(known, Fact{clean(f.Name), text})
		}
	}
	return known
}

// settingText is empty for a setting that is 0.
func settingText[T comparable](v T) string {
	var zero T
	if v == zero {
		return ""
	}
	return fmt.Sprint(v)
}

var stopTexts = map[runlog.Stop]string{
	"":                      "the log ends before the step does",
	runlog.StopRequests:     "all requests were sent",
	runlog.StopDuration:     "the time was over",
	runlog.StopDataset:      "the data set came to its end",
	runlog.StopFailureRatio: "too many requests failed",
	runlog.StopUnreachable:  "the server could not be reached any more",
	runlog.StopInterrupted:  "interrupted by the user",
}

// tokensText is by what the output tokens of how many answers were counted.
func tokensText(c *result.Checks) string {
	var parts []string
	for _, by := range []struct {
		source openai.TokenSource
		text   string
	}{
		{openai.TokensUsage, "by the server's usage"},
		{openai.TokensContinuous, "by its running usage"},
		{openai.TokensIDs, "by token ids"},
		{openai.TokensChunks, "as one a chunk"},
	} {
		if n := c.TokensBy[by.source]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d answers %s", n, by.text))
		}
	}
	return strings.Join(parts, ", ")
}

// promptsText is how many prompts have the length that was asked for.
func promptsText(p *result.Prompts) string {
	if p.Exact+p.Estimated == 0 {
		return ""
	}
	text := fmt.Sprintf("%d exact, %d estimated", p.Exact, p.Estimated)
	if p.Told == 0 {
		return text
	}
	n := float64(p.Told)
	return fmt.Sprintf("%s; of those not exact %s tokens were asked for on the mean, and %s counted by the server",
		text, formatNumber(float64(p.AimedTokens)/n), formatNumber(float64(p.CountedTokens)/n))
}

// stepTables are the figures of a step: of the whole of it beside its steady part, its
// latencies, how far they can be trusted, cards and server.
func stepTables(s *result.Step) []Table {
	tables := []Table{rateTable(s)}
	if s.Steady != nil {
		tables = append(tables, distributionTable("Latencies, steady part", s, s.Steady))
	}
	tables = append(tables, distributionTable("Latencies, whole step", s, &s.Whole), checkTable(s))
	if len(s.Cards) > 0 {
		tables = append(tables, cardTable(s))
	}
	if s.Server != nil {
		tables = append(tables, serverTable(s))
	}
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 0 })
}

func rateTable(s *result.Step) Table {
	t := Table{Caption: "Throughput", Head: []string{"", "whole", "steady"}}
	for _, c := range rateColumns {
		row := []string{c.Title(), c.Unit.Text(c.Value(s, &s.Whole)), steadyText(c, s)}
		if row[1] != unknown {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func steadyText(c Column, s *result.Step) string {
	steady := steadyColumn(c)
	return c.Unit.Text(steady.Value(s, &s.Whole))
}

func checkTable(s *result.Step) Table {
	t := Table{Caption: "How far the figures can be trusted", Head: []string{"", "whole"}}
	for _, c := range checkColumns {
		if text := c.Unit.Text(c.Value(s, &s.Whole)); text != unknown {
			t.Rows = append(t.Rows, []string{c.Title(), text})
		}
	}
	return t
}

// distributionTable has a row for each measure that has samples.
func distributionTable(caption string, s *result.Step, f *result.Figures) Table {
	t := Table{Caption: caption, Head: []string{"", "samples", "mean"}}
	shown := heldPercentiles(f)
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
			row = append(row, c.Unit.Text(c.Value(s, f)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// heldPercentiles are the most that a distribution of f holds.
func heldPercentiles(f *result.Figures) []float64 {
	var held []float64
	for _, d := range f.Distributions {
		var all []float64
		for _, p := range d.Percentiles {
			all = append(all, p.P)
		}
		if len(all) > len(held) {
			held = all
		}
	}
	return held
}

const gibibyte = 1 << 30

// cardTable has a row for each card of a step.
func cardTable(s *result.Step) Table {
	t := Table{Caption: "Cards: mean/max, and the most memory used of all", Head: []string{
		"card", "name", "serves", "NUMA node", "util. (%)", "power (W)", "temp. (°C)", "memory (GiB)",
	}}
	unserved := unknown // of the cards that are not known to serve
	if len(s.Serving()) > 0 {
		unserved = "no"
	}
	for i := range s.Cards {
		c := &s.Cards[i]
		serves, node := unserved, unknown
		if c.Serves {
			serves = "yes"
		}
		if c.NUMANode != nil {
			node = strconv.Itoa(*c.NUMANode)
		}
		memory := gaugeText(c.MemoryUsed, c.MemoryUsed.Max/gibibyte, c.MemoryTotal.Max/gibibyte)
		t.Rows = append(t.Rows, []string{
			clean(c.Vendor + " " + c.Device), cmp.Or(clean(c.Name), unknown), serves, node,
			meanMax(c.Utilization, 100), meanMax(c.Watts, 1), meanMax(c.Celsius, 1), memory,
		})
	}
	return t
}

// meanMax is a gauge's mean and greatest value, times a factor.
func meanMax(g result.Gauge, times float64) string { return gaugeText(g, g.Mean*times, g.Max*times) }

func gaugeText(g result.Gauge, first, second float64) string {
	if g.Samples == 0 {
		return unknown
	}
	return formatNumber(first) + "/" + formatNumber(second)
}

// serverTable sets what the server's own metrics show beside the same measured here.
func serverTable(s *result.Step) Table {
	v := s.Server
	t := Table{Caption: "The server's own metrics", Head: []string{"", "mean", "max", "here"}}
	if v.TTFT != nil && !v.TTFTOurs {
		t.Caption += ", of other requests than these: not to be compared"
	}
	for _, g := range []struct {
		name  string
		gauge result.Gauge
		times float64
	}{{"running requests", v.Running, 1}, {"waiting requests", v.Waiting, 1}, {"KV cache used (%)", v.CacheUsage, 100}} {
		if g.gauge.Samples > 0 {
			t.Rows = append(t.Rows, []string{g.name, formatNumber(g.gauge.Mean * g.times), formatNumber(g.gauge.Max * g.times), ""})
		}
	}
	for _, m := range []struct {
		name string
		mean *result.Mean
		here float64
	}{
		{"TTFT (ms)", serverMean(v.TTFT), knownMean(s.Whole.Of(result.TTFT))},
		{"TPOT (ms)", v.TPOT, knownMean(s.Whole.Of(result.TPOT))},
		{"ITL (ms)", v.ITL, knownMean(s.Whole.Of(result.ITL))},
		{"wait for a place (ms)", v.Queue, math.NaN()},
	} {
		if m.mean != nil && m.mean.Count > 0 {
			t.Rows = append(t.Rows, []string{m.name, Milliseconds.Text(m.mean.Mean), "", Milliseconds.Text(m.here)})
		}
	}
	if v.PrefixQueries != nil && v.PrefixHits != nil && *v.PrefixQueries > 0 {
		t.Rows = append(t.Rows, []string{"prefix cache hits (%)", formatNumber(100 * *v.PrefixHits / *v.PrefixQueries), "", Share.Text(cacheHits(s))})
	}
	if v.Preemptions != nil {
		t.Rows = append(t.Rows, []string{"preemptions", formatCount(*v.Preemptions), "", ""})
	}
	return t
}

func serverMean(d *result.Distribution) *result.Mean {
	if d == nil {
		return nil
	}
	return &result.Mean{Count: d.Count, Mean: d.Mean}
}

func knownMean(d result.Distribution) float64 { return orNaN(d.Count > 0, d.Mean) }
