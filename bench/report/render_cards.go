package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const gibibyte = 1 << 30

// cards writes a line for each card, mean/max of what was sampled.
func (p *page) cards(s *Step) {
	if len(s.Cards) == 0 {
		p.row("cards", "not sampled")
		return
	}
	g := grid{heads: [][]string{{"card", "name", "serves", "NUMA", "util %", "W", "°C", "memory GiB"}}}
	for i := range s.Cards {
		c := &s.Cards[i]
		serves, node := "no", noFigure
		if c.Serves {
			serves = "yes"
		}
		if c.NUMANode != nil {
			node = strconv.Itoa(*c.NUMANode)
		}
		g.rows = append(g.rows, []string{
			fit(clean(c.Vendor+" "+c.Device), 16), fit(orNone(clean(c.Name)), 20), serves, node,
			meanMax(c.Utilization, 100), meanMax(c.Watts, 1), meanMax(c.Celsius, 1), memoryText(c),
		})
	}
	p.row("cards", "mean/max of each; memory: the most used/in all")
	g.write(p, 2)
	if s.Joules != nil {
		text := number(*s.Joules/1e3) + " kJ in all"
		if v, ok := s.JoulesPerToken(); ok {
			text = number(v) + " J for an output token, " + text
		}
		p.row("energy", text+" of "+servingText(s.Cards))
	}
}

// servingText names the cards whose energy counts.
func servingText(cards []Card) string {
	serving := slices.DeleteFunc(slices.Clone(cards), func(c Card) bool { return !c.Serves })
	if len(serving) == 0 {
		return counted(len(cards), "card") + "; which of them serve is not known"
	}
	return counted(len(serving), "card") + " known to serve"
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

// server writes what the server's own metrics showed.
func (p *page) server(s *Step) {
	v := s.Server
	if v == nil {
		p.row("server", "not sampled")
		return
	}
	p.row("server", fmt.Sprintf("mean/max: running %s, waiting %s, cache %s %%",
		meanMax(v.Running, 1), meanMax(v.Waiting, 1), meanMax(v.CacheUsage, 100)))
	var parts []string
	if v.PrefixQueries != nil && v.PrefixHits != nil && *v.PrefixQueries > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s prefix tokens found in its cache",
			percent(*v.PrefixHits / *v.PrefixQueries), integer(*v.PrefixQueries)))
	}
	if v.Preemptions != nil {
		parts = append(parts, integer(*v.Preemptions)+" preemptions")
	}
	if len(parts) > 0 {
		p.row("", strings.Join(parts, ", "))
	}
	if v.TTFT != nil && v.TTFT.Count > 0 {
		ours := meanMillis(s.Whole.TTFT)
		text := fmt.Sprintf("mean %s ms by its own metrics, %s ms measured here", meanMillis(*v.TTFT), ours)
		if s.Whole.TTFT.Count > 0 {
			text += fmt.Sprintf(" (%+.1f ms)", finite((s.Whole.TTFT.Mean-v.TTFT.Mean)*1e3))
		}
		p.row("server TTFT", text)
	}
}
