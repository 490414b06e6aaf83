package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const gibibyte = 1 << 30

// CardGrid has a line for each card of a step.
func CardGrid(s *Step) Grid {
	g := Grid{Caption: "Cards", Heads: [][]string{
		{"card", "name", "serves", "NUMA", "util %", "W", "°C", "memory GiB"},
		{"", "", "", "", "mean/max", "mean/max", "mean/max", "most/in all"},
	}}
	known := len(serving(s.Cards)) > 0
	for i := range s.Cards {
		c := &s.Cards[i]
		serves, node := noFigure, noFigure
		switch {
		case c.Serves:
			serves = "yes"
		case known:
			serves = "no"
		}
		if c.NUMANode != nil {
			node = strconv.Itoa(*c.NUMANode)
		}
		g.Rows = append(g.Rows, []string{
			clean(c.Vendor + " " + c.Device), orNone(clean(c.Name)), serves, node,
			meanMax(c.Utilization, 100), meanMax(c.Watts, 1), meanMax(c.Celsius, 1), memoryText(c),
		})
	}
	return g
}

// serving are the cards known to serve the endpoint.
func serving(cards []Card) []Card {
	return slices.DeleteFunc(slices.Clone(cards), func(c Card) bool { return !c.Serves })
}

func (f *facts) cards(s *Step) {
	all, known := len(s.Cards), len(serving(s.Cards))
	if all == 0 {
		f.add("cards", "not sampled")
		return
	}
	of := counted(known, "card") + " known to serve the endpoint"
	text := fmt.Sprintf("%d sampled, %d known to serve the endpoint", all, known)
	switch {
	case s.AssumedTarget != "" && known > 0:
		of = counted(known, "card") + " assumed to serve the endpoint"
		text = fmt.Sprintf("%d sampled, %d assumed to serve the endpoint: those of the exporter's only target, %s", all, known, clean(s.AssumedTarget))
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
	energy := number(*s.Joules/1e3) + " kJ in all"
	if v, ok := s.JoulesPerToken(); ok {
		energy = number(v) + " J for an output token, " + energy
	}
	f.add("energy", energy+", of "+of)
}

func orNone(text string) string {
	if text == "" {
		return noFigure
	}
	return text
}

// meanMax writes a gauge's mean and greatest value, times a factor.
func meanMax(g Gauge, times float64) string {
	if g.Samples == 0 {
		return noFigure
	}
	return number(g.Mean*times) + "/" + number(g.Max*times)
}

func memoryText(c *Card) string {
	if c.MemoryUsed.Samples == 0 {
		return noFigure
	}
	text := number(c.MemoryUsed.Max / gibibyte)
	if c.MemoryTotal.Samples > 0 {
		text += "/" + number(c.MemoryTotal.Max/gibibyte)
	}
	return text
}

// server tells what the server's own metrics showed.
func (f *facts) server(s *Step) {
	v := s.Server
	if v == nil {
		f.add("server", "not sampled")
		return
	}
	f.add("server's model", serverModelText(v))
	var parts []string
	for _, g := range []struct {
		name string
		text string
		unit string
	}{
		{"running ", meanMax(v.Running, 1), ""},
		{"waiting ", meanMax(v.Waiting, 1), ""},
		{"cache ", meanMax(v.CacheUsage, 100), " %"},
	} {
		if g.text != noFigure {
			parts = append(parts, g.name+g.text+g.unit)
		}
	}
	if len(parts) > 0 {
		parts = []string{"mean/max: " + strings.Join(parts, ", ")}
	} else if v.TooFew {
		parts = []string{"sampled fewer than 3 times, too few for its running and waiting requests: run a longer step"}
	}
	if v.PrefixQueries != nil && v.PrefixHits != nil && *v.PrefixQueries > 0 {
		text := fmt.Sprintf("%s of %s prefix tokens found in its cache", percent(*v.PrefixHits / *v.PrefixQueries), integer(*v.PrefixQueries))
		if !v.PrefixOurs {
			text += ", not those of these requests alone"
		}
		parts = append(parts, text)
	}
	if v.Preemptions != nil {
		parts = append(parts, integer(*v.Preemptions)+" preemptions")
	}
	if len(parts) == 0 {
		parts = append(parts, "its metrics show nothing of what is looked for")
	}
	f.add("server", strings.Join(parts, "; "))
	if v.TTFT != nil && v.TTFT.Count > 0 && s.Whole.TTFT.Count > 0 {
		f.add("server TTFT", serverTTFTText(v, &s.Whole.TTFT))
	}
	f.add("server means", serverMeansText(s))
}

// serverModelText is empty where the server calls the model as requests do.
func serverModelText(v *ServerSample) string {
	const most = 4
	switch {
	case v.Model != "":
		return clean(v.Model) + ", the only one that its metrics tell of: taken for the one that was asked for"
	case len(v.Models) > most:
		return fmt.Sprintf("none of the %d that its metrics tell of: %s, …", len(v.Models), clean(strings.Join(v.Models[:most], ", ")))
	case len(v.Models) > 0:
		return "none of those that its metrics tell of: " + clean(strings.Join(v.Models, ", "))
	}
	return ""
}

// serverMeansText sets the server's means beside ours where they are of the same
// requests.
func serverMeansText(s *Step) string {
	var parts []string
	for _, m := range []struct {
		name   string
		theirs *Mean
		ours   Distribution
	}{
		{"TPOT", s.Server.TPOT, s.Whole.TPOT},
		{"ITL", s.Server.ITL, s.Whole.ITL},
		{"queue", s.Server.Queue, Distribution{}},
	} {
		if m.theirs == nil {
			continue
		}
		text := fmt.Sprintf("%s %s ms", m.name, number(m.theirs.Mean*1e3))
		if s.Server.TTFTOurs && m.ours.Count > 0 {
			text += fmt.Sprintf(" (%s measured here)", meanMillis(m.ours))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func serverTTFTText(v *ServerSample, ours *Distribution) string {
	theirs := v.TTFT
	text := fmt.Sprintf("mean %s ms of %s by its own metrics, %s ms of %d measured here",
		meanMillis(*theirs), counted(int(theirs.Count), "request"), meanMillis(*ours), ours.Count)
	if !v.TTFTOurs {
		return text + "; not to be compared, as others sent requests too or some were not seen"
	}
	return text + fmt.Sprintf(" (%+.1f ms)", finite((ours.Mean-theirs.Mean)*1e3))
}
