package show

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

const gibibyte = 1 << 30

// CardGrid has a line for each card of a step.
func CardGrid(s *result.Step) Grid {
	g := Grid{Caption: "Cards", Heads: [][]string{
		{"card", "name", "serves", "NUMA", "util %", "W", "°C", "memory GiB"},
		{"", "", "", "", "mean/max", "mean/max", "mean/max", "most/in all"},
	}}
	others := words.Unknown // of the cards that are not known to serve
	if len(s.Serving()) > 0 {
		others = "no"
	}
	for i := range s.Cards {
		c := &s.Cards[i]
		serves, node := others, words.Unknown
		if c.Serves {
			serves = "yes"
		}
		if c.NUMANode != nil {
			node = strconv.Itoa(*c.NUMANode)
		}
		g.Rows = append(g.Rows, []string{
			words.Clean(c.Vendor + " " + c.Device), cmp.Or(words.Clean(c.Name), words.Unknown), serves, node,
			meanMax(c.Utilization, 100), meanMax(c.Watts, 1), meanMax(c.Celsius, 1), memoryText(c),
		})
	}
	return g
}

func (f *facts) cards(s *result.Step) {
	all, known := len(s.Cards), len(s.Serving())
	if all == 0 {
		f.add("cards", "not sampled")
		return
	}
	of := words.Counted(known, "card") + " known to serve the endpoint"
	text := fmt.Sprintf("%d sampled, %d known to serve the endpoint", all, known)
	switch {
	case s.AssumedTarget != "" && known > 0:
		of = words.Counted(known, "card") + " assumed to serve the endpoint"
		text = fmt.Sprintf("%d sampled, %d assumed to serve the endpoint: those of the exporter's only target, %s", all, known, words.Clean(s.AssumedTarget))
	case known == 0:
		of = "1 card (whether it serves the endpoint is not known)"
		if all > 1 {
			of = fmt.Sprintf("all %d cards (which serve the endpoint is not known)", all)
		}
		text = of
	}
	f.add("cards", text)
	if s.Joules == nil {
		return
	}
	energy := words.Number(*s.Joules/1e3) + " kJ in all"
	if v, ok := s.JoulesPerToken(); ok {
		energy = words.Number(v) + " J for an output token, " + energy
	}
	f.add("energy", energy+", of "+of)
}

// meanMax writes a gauge's mean and greatest value, times a factor.
func meanMax(g result.Gauge, times float64) string {
	if g.Samples == 0 {
		return words.Unknown
	}
	return words.Number(g.Mean*times) + "/" + words.Number(g.Max*times)
}

func memoryText(c *result.Card) string {
	if c.MemoryUsed.Samples == 0 {
		return words.Unknown
	}
	text := words.Number(c.MemoryUsed.Max / gibibyte)
	if c.MemoryTotal.Samples > 0 {
		text += "/" + words.Number(c.MemoryTotal.Max/gibibyte)
	}
	return text
}

// server tells what the server's own metrics showed.
func (f *facts) server(s *result.Step) {
	v := s.Server
	if v == nil {
		f.add("server", "not sampled")
		return
	}
	f.add("server's model", serverModelText(v))
	var parts, gauges words.List
	for _, g := range []struct{ name, text, unit string }{
		{"running", meanMax(v.Running, 1), ""},
		{"waiting", meanMax(v.Waiting, 1), ""},
		{"cache", meanMax(v.CacheUsage, 100), " %"},
	} {
		gauges.If(g.text != words.Unknown, "%s %s%s", g.name, g.text, g.unit)
	}
	parts.If(len(gauges) > 0, "mean/max: %s", gauges)
	parts.If(len(gauges) == 0 && v.TooFew, "sampled fewer than 3 times, too few for its running and waiting requests: run a longer step")
	if v.PrefixQueries != nil && v.PrefixHits != nil && *v.PrefixQueries > 0 {
		text := fmt.Sprintf("%s of %s prefix tokens found in its cache", words.Percent(*v.PrefixHits / *v.PrefixQueries), words.Integer(*v.PrefixQueries))
		if !v.PrefixOurs {
			text += ", not those of these requests alone"
		}
		parts = append(parts, text)
	}
	if v.Preemptions != nil {
		parts = append(parts, words.Integer(*v.Preemptions)+" preemptions")
	}
	f.add("server", cmp.Or(strings.Join(parts, "; "), "its metrics show nothing of what is looked for"))
	if v.TTFT != nil && v.TTFT.Count > 0 && s.Whole.Of(result.TTFT).Count > 0 {
		f.add("server TTFT", serverTTFTText(v, s.Whole.Of(result.TTFT)))
	}
	f.add("server means", serverMeansText(s))
}

// serverModelText is empty where the server calls the model as requests do.
func serverModelText(v *result.ServerSample) string {
	const most = 4
	switch {
	case v.Model != "":
		return words.Clean(v.Model) + ", the only one that its metrics tell of: taken for the one that was asked for"
	case len(v.Models) > most:
		return fmt.Sprintf("none of the %d that its metrics tell of: %s, …", len(v.Models), words.Clean(strings.Join(v.Models[:most], ", ")))
	case len(v.Models) > 0:
		return "none of those that its metrics tell of: " + words.Clean(strings.Join(v.Models, ", "))
	}
	return ""
}

// serverMeansText sets the server's means beside ours where they are of the same
// requests.
func serverMeansText(s *result.Step) string {
	var parts words.List
	for _, m := range []struct {
		name   string
		theirs *result.Mean
		ours   result.Distribution
	}{
		{"TPOT", s.Server.TPOT, s.Whole.Of(result.TPOT)},
		{"ITL", s.Server.ITL, s.Whole.Of(result.ITL)},
		{"queue", s.Server.Queue, result.Distribution{}},
	} {
		if m.theirs == nil {
			continue
		}
		text := fmt.Sprintf("%s %s ms", m.name, words.Number(m.theirs.Mean*1e3))
		if s.Server.TTFTOurs && m.ours.Count > 0 {
			text += fmt.Sprintf(" (%s measured here)", meanOf(m.ours, 1e3))
		}
		parts = append(parts, text)
	}
	return parts.String()
}

func serverTTFTText(v *result.ServerSample, ours result.Distribution) string {
	theirs := v.TTFT
	text := fmt.Sprintf("mean %s ms of %s by its own metrics, %s ms of %d measured here",
		meanOf(*theirs, 1e3), words.Counted(int(theirs.Count), "request"), meanOf(ours, 1e3), ours.Count)
	if !v.TTFTOurs {
		return text + "; not to be compared, as others sent requests too or some were not seen"
	}
	return text + fmt.Sprintf(" (%+.1f ms)", finite((ours.Mean-theirs.Mean)*1e3))
}
