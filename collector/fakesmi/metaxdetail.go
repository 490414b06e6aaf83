package fakesmi

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// section is one of a card's, such as Board Temperature.
type section struct {
	title string
	lines []keyed
}

// keyed is a line of a section. One of a block stands below the block's name.
type keyed struct{ block, key, text string }

// metaXGroup is the sections that belong together; a blank line follows them.
type metaXGroup struct {
	flag     string // what asks for them; "" for those of the summary
	since    string // the oldest layout that knows the flag
	sections func(*MetaXCard) []section
}

func metaXGroups() []metaXGroup {
	return []metaXGroup{
		{sections: func(c *MetaXCard) []section {
			return []section{{"Version", words(c.Versions)}}
		}},
		{sections: func(c *MetaXCard) []section {
			return []section{{"Serial Number", words(c.Serials)}}
		}},
		{sections: func(c *MetaXCard) []section {
			return []section{{"Utilization", figures([]Figure{{"GPU", c.GPU}, {"VPUE", c.Encoder}, {"VPUD", c.Decoder}}, "%.0f %%")}}
		}},
		{sections: func(c *MetaXCard) []section {
			hotspot := Figure{fmt.Sprintf("hotspot(sensor%d)", c.Sensor), c.Hotspot}
			return []section{{"Chip Temperature", figures([]Figure{hotspot}, "%6.2f C")}, {"Board Temperature", figures(c.Board, "%6.2f C")}}
		}},
		{sections: func(c *MetaXCard) []section { return supplies("Pmbus", c.Rails, "%6.3f") }},
		{sections: func(c *MetaXCard) []section {
			all := supplies("Board", c.Ways, "%7.3f")
			all[2].lines = append(all[2].lines, figures([]Figure{{"Total", c.Total}, {"Limit", c.Limit}}, "%7.3f W")...)
			return all
		}},
		{sections: func(c *MetaXCard) []section {
			return []section{{"DPM current performance level", figures(c.Levels, "%.0f ")}}
		}},
		{sections: clocks},
		{sections: memories},
		{"--count-ecc", "2.2.8", func(c *MetaXCard) []section {
			return []section{{"ECC Errors", []keyed{
				count("SRAM Correctable", c.ECC.SRAMCorrectable), count("SRAM Uncorrectable", c.ECC.SRAMUncorrectable),
				count("DRAM Correctable", c.ECC.DRAMCorrectable), count("DRAM Uncorrectable", c.ECC.DRAMUncorrectable),
			}}, {"Retired Pages", []keyed{count("Double Bit ECC", c.ECC.RetiredPages)}}}
		}},
		{"--show-ecc-state", "2.2.4", func(c *MetaXCard) []section {
			state := "Disable "
			if c.ECC.Enabled {
				state = "Enable "
			}
			return []section{{"Ecc state", []keyed{{key: "state", text: state}}}}
		}},
		{"--show-clk-tr", "2.2.4", throttles},
		{"--show-pcie", "2.1.6", func(c *MetaXCard) []section {
			return []section{{"Pcie Info", slices.Concat(pcieLink("Current", c.PCIe), pcieLink("Max", c.PCIeMax))}}
		}},
		{"--show-pcie-bandwidth", "2.1.6", func(c *MetaXCard) []section {
			return []section{{"Pcie Bandwidth", figures([]Figure{{"RX", c.PCIeReceive}, {"TX", c.PCIeSend}}, "%.0f MBytes/s")}}
		}},
		{"--show-hbm-bandwidth", "2.2.4", func(c *MetaXCard) []section {
			return []section{{"Hbm Bandwidth", figures([]Figure{{"throughput", c.HBM}}, "%.0f MBytes/s")}}
		}},
	}
}

func words(all []Word) []keyed {
	var lines []keyed
	for _, w := range all {
		lines = append(lines, keyed{key: w.Name, text: w.Text + " "})
	}
	return lines
}

// figures prints each number in a format with its unit.
func figures(all []Figure, format string) []keyed {
	var lines []keyed
	for _, f := range all {
		text := notPrinted
		if !math.IsNaN(f.Value) {
			text = fmt.Sprintf(format, f.Value)
		}
		lines = append(lines, keyed{key: f.Name, text: text})
	}
	return lines
}

func count(key string, n uint64) keyed { return keyed{key: key, text: strconv.FormatUint(n, 10) + " "} }

func supplies(of string, all []Supply, format string) []section {
	volts, amperes, watts := make([]Figure, len(all)), make([]Figure, len(all)), make([]Figure, len(all))
	for i, s := range all {
		volts[i], amperes[i], watts[i] = Figure{s.Name, s.Volts}, Figure{s.Name, s.Amperes}, Figure{s.Name, s.Watt}
	}
	return []section{
		{of + " Voltage", figures(volts, format+" V")}, {of + " Current", figures(amperes, format+" A")}, {of + " Power", figures(watts, format+" W")},
	}
}

func clocks(c *MetaXCard) []section {
	var lines []keyed
	for _, clock := range c.Clocks {
		line := figures([]Figure{{clock.Name, clock.MHz}}, "%.0f MHz")[0]
		line.block = clock.Block
		lines = append(lines, line)
	}
	return []section{{"Clocks", lines}}
}

func memories(c *MetaXCard) []section {
	var lines []keyed
	for _, m := range c.Memories {
		lines = append(lines, figures([]Figure{{m.Name + " total", m.Total}, {m.Name + " used", m.Used}}, "%.0f KB")...)
		lines = append(lines, figures([]Figure{{m.Name + " usage", math.Round(1000*m.Used/m.Total) / 10}}, "%v %%")...)
	}
	return []section{{"Memory", lines}}
}

func throttles(c *MetaXCard) []section {
	var lines []keyed
	for _, t := range c.Throttles {
		text := "Not Active "
		if t.Active {
			text = "Active "
		}
		lines = append(lines, keyed{key: t.Reason, text: text})
	}
	return []section{{"Xcore Clocks Throttle Reason", lines}}
}

func pcieLink(which string, p PCIeLink) []keyed {
	speed := figures([]Figure{{which + " Speed", p.Speed}}, "%.0f GT/s")
	return append(speed, keyed{key: which + " Width", text: fmt.Sprintf("x%d ", p.Width)})
}

// UnknownFlag returns the first argument that the layout's tool does not know, "" when
// it knows them all.
func (l MetaXLayout) UnknownFlag(args []string) string {
	groups := metaXGroups()
	for _, arg := range args {
		i := slices.IndexFunc(groups, func(g metaXGroup) bool { return g.flag != "" && g.flag == arg })
		if i < 0 || l.generation() < generation(groups[i].since) {
			return arg
		}
	}
	return ""
}

// KnowsJSON reports whether the layout's tool has -j.
func (l MetaXLayout) KnowsJSON() bool { return l.generation() >= generation("2.2.8") }

func (l MetaXLayout) generation() int { return generation(l.Version) }

// generation is the place of a version among those of the layouts.
func generation(version string) int {
	return slices.IndexFunc(MetaXLayouts(), func(l MetaXLayout) bool { return l.Version == version })
}

// PrintSummary writes what the tool prints for -s.
func (l MetaXLayout) PrintSummary(w io.Writer, cards []MetaXCard, at time.Time) error {
	return l.printGroups(w, cards, at, func(g metaXGroup) bool { return g.flag == "" })
}

// PrintFlags writes what the tool prints for flags that it knows, in its own order.
func (l MetaXLayout) PrintFlags(w io.Writer, flags []string, cards []MetaXCard, at time.Time) error {
	return l.printGroups(w, cards, at, func(g metaXGroup) bool { return slices.Contains(flags, g.flag) })
}

func (l MetaXLayout) printGroups(w io.Writer, cards []MetaXCard, at time.Time, isAsked func(metaXGroup) bool) error {
	x := &box{}
	l.preamble(x, at)
	x.line("%-50s: %d", "Attached GPUs", len(cards))
	for i := range cards {
		c := &cards[i]
		x.line("GPU#%s  %s  %s", c.Device, c.Name, c.BusID)
		for _, g := range metaXGroups() {
			if isAsked(g) {
				printSections(x, g.sections(c))
				x.line("")
			}
		}
	}
	x.line("End of Log")
	return x.flush(w)
}

func printSections(x *box, all []section) {
	const colon = 50
	for _, s := range all {
		x.line("    %s", s.title)
		block := ""
		for _, k := range s.lines {
			indent := strings.Repeat(" ", 8)
			if k.block != "" {
				if k.block != block {
					x.line("%s%s", indent, k.block)
					block = k.block
				}
				indent = strings.Repeat(" ", 12)
			}
			x.line("%-*s: %s", colon, indent+k.key, k.text)
		}
	}
}
