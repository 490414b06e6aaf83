// Package page writes a report as one HTML file that needs nothing else: no
// script, no network, no other file.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report/chart"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report/render"
)

//go:embed page.html
var source string

// view is what the template shows. Its strings come from anywhere and are
// escaped by the template; only the drawings are taken as they are.
type view struct {
	Title    string
	Facts    []render.Fact
	Commands []string
	Warnings []warning
	Sweep    []table
	NotRun   string
	Charts   []charts
	Steps    []step
}

// table has a head of one row. The first cell of a row is its heading.
type table struct {
	Caption string
	Head    []string
	Rows    []row
}

type row struct {
	Link  string // of the heading, without its #; empty for none
	Cells []string
}

// newTable has the lines of a grid's heads in one.
func newTable(g render.Grid) table {
	t := table{Caption: g.Caption}
	for i := range g.Heads[0] {
		var words []string
		for _, line := range g.Heads {
			words = append(words, line[i])
		}
		t.Head = append(t.Head, strings.TrimSpace(strings.Join(words, " ")))
	}
	for _, cells := range g.Rows {
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return t
}

// sweep are the tables of one row a step.
func sweep(r *report.Report) []table {
	var all []table
	for _, g := range render.SweepGrids(r) {
		t := newTable(g)
		for i := range t.Rows {
			t.Rows[i].Link = stepID(i)
		}
		all = append(all, t)
	}
	return all
}

// charts are drawings under one heading.
type charts struct {
	Title    string
	Drawings []template.HTML
}

// Write writes the whole file. An error is one of w.
func Write(w io.Writer, r *report.Report) error {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return fmt.Errorf("reading template of page: %w", err)
	}
	v, err := newView(r)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("making page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing page: %w", err)
	}
	return nil
}

func newView(r *report.Report) (*view, error) {
	v := &view{
		Title: title(r), Facts: runFacts(r), Commands: commands(r), Warnings: warnings(r), Sweep: sweep(r), NotRun: render.NotRun(r),
	}
	for i := range r.Steps {
		v.Steps = append(v.Steps, newStep(i, &r.Steps[i]))
	}
	if len(r.Steps) == 0 {
		return v, nil
	}
	for _, c := range []struct {
		title string
		chart *chart.Chart
	}{
		{"Overview", chart.Overview(r)},
		{"Latency percentiles", chart.Latency(r)},
		{"Cards", chart.Cards(r)},
	} {
		if c.chart == nil {
			continue
		}
		drawn := charts{Title: c.title}
		for _, p := range c.chart.Panels {
			var b bytes.Buffer
			if err := p.WriteSVG(&b); err != nil {
				return nil, err
			}
			drawn.Drawings = append(drawn.Drawings, template.HTML(b.String())) // chart escapes its texts
		}
		v.Charts = append(v.Charts, drawn)
	}
	return v, nil
}
