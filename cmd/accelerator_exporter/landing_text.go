package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// textWidth is how wide the page is as text.
const textWidth = 80

// writeText writes the page for a terminal.
func writeText(w io.Writer, v landing) error {
	p := &textPage{}
	p.paragraph("", "accelerator_exporter "+v.Version)
	p.paragraph("", fmt.Sprintf("Times are UTC, now %s. Metrics at %s, process at /-/healthy and /-/ready.", v.Now, v.Metrics))
	p.vendors(v.Vendors)
	p.probes(v.Probes, v.MoreProbes)
	p.collectors(v.Collectors)
	_, err := w.Write(p.Bytes())
	return err
}

// textPage is the page in the making.
type textPage struct{ bytes.Buffer }

// paragraph writes words, broken at the page's width, each line after the indent.
func (p *textPage) paragraph(indent, text string) {
	width := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			p.WriteString(indent)
			width = len(indent)
		case width+1+n > textWidth:
			p.WriteString("\n" + indent)
			width = len(indent)
		default:
			p.WriteString(" ")
			width++
		}
		p.WriteString(word)
		width += n
	}
	p.WriteString("\n")
}

func (p *textPage) heading(text string) {
	fmt.Fprintf(p, "\n%s\n%s\n", text, strings.Repeat("=", len(text)))
}

func (p *textPage) vendors(all []vendorView) {
	p.heading("Cards")
	if len(all) == 0 {
		p.WriteString("none\n")
	}
	for _, v := range all {
		p.paragraph("", v.Name+": "+v.Summary)
		if v.Stale != "" {
			p.paragraph("  ", v.Stale)
		}
		if len(v.Cards) == 0 {
			continue
		}
		t := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  card\tstate\tutil\ttemp\tpower\tmemory\tname")
		for _, c := range v.Cards {
			// What is widest comes last and is cut.
			fmt.Fprintf(t, "  %s\t%.13s\t%s\t%s\t%s\t%s\t%.14s\n", c.Device, c.State, c.Utilization, c.Temperature, c.Power, c.Memory, c.Name)
		}
		_ = t.Flush() // to memory
		if v.More > 0 {
			fmt.Fprintf(p, "  and %d more\n", v.More)
		}
	}
}

func (p *textPage) probes(all []probeView, more int) {
	p.heading("Probes")
	if len(all) == 0 {
		p.WriteString("none\n")
	}
	for _, v := range all {
		p.paragraph("", fmt.Sprintf("%s: %s", v.Target, v.State))
		p.paragraph("  ", fmt.Sprintf("%s, %s, model %s", v.URL, v.API, v.Model))
		for _, line := range []struct{ name, text string }{{"detail", v.Detail}, {"hint", v.Hint}} {
			if line.text != "" {
				p.paragraph("  ", line.name+": "+line.text)
			}
		}
		if v.Good != "" {
			p.paragraph("  ", fmt.Sprintf("TTFT %s, TPOT %s, E2E %s at %s", v.TTFT, v.TPOT, v.E2E, v.Good))
		}
		for _, r := range v.Runs {
			line := fmt.Sprintf("  %-17s %2d x %s", r.When, r.Count, r.Words)
			if utf8.RuneCountInString(line) > textWidth {
				p.paragraph("  ", line)
				continue
			}
			p.WriteString(line + "\n")
		}
	}
	if more > 0 {
		fmt.Fprintf(p, "and %d more\n", more)
	}
}

func (p *textPage) collectors(all []collectorView) {
	p.heading("Collectors")
	if len(all) == 0 {
		p.WriteString("none\n")
	}
	for _, v := range all {
		p.paragraph("", fmt.Sprintf("%s: %s; last success %s, last poll took %s", v.Name, v.State, v.LastSuccess, v.Took))
		if v.Error != "" {
			p.paragraph("  ", "error: "+v.Error)
		}
		if v.Hint != "" {
			p.paragraph("  ", "hint: "+v.Hint)
		}
		for _, w := range v.Warnings {
			p.paragraph("  ", "left out: "+w)
		}
		if v.More > 0 {
			fmt.Fprintf(p, "  and %d more\n", v.More)
		}
	}
}
