// Package page writes a report as one HTML file that needs nothing else: no
// script, no network, no other file.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show/chart"
)

//go:embed page.html
var source string

// view is what the template shows. Its strings come from anywhere and are
// escaped by the template; only the drawings are taken as they are.
type view struct {
	Title    string
	Facts    []show.Fact
	Commands []string
	Warnings []show.Doubt
	Answer   string // of a search for the capacity, else empty
	Capacity []table
	Sweep    []table
	NotRun   string
	Charts   []charts
	Steps    []step
}

// table is a grid; where Linked, each row is of the step with its number.
type table struct {
	show.Grid
	Linked bool
}

// step is the part of the page about one step.
type step struct {
	*result.Step
	Facts  []show.Fact
	Tables []table
}

func newStep(s *result.Step) step {
	grids := append([]show.Grid{show.RateGrid(s)}, show.DistributionGrids(s)...)
	if len(s.Cards) > 0 {
		grids = append(grids, show.CardGrid(s))
	}
	v := step{Step: s, Facts: show.Facts(s)}
	for _, g := range grids {
		v.Tables = append(v.Tables, table{Grid: g})
	}
	return v
}

// charts are drawings under one heading.
type charts struct {
	Title    string
	Drawings []template.HTML
}

// Write writes the whole file. An error is one of w.
func Write(w io.Writer, r *result.Report) error {
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

func newView(r *result.Report) (*view, error) {
	v := &view{
		Title: title(r), Facts: runFacts(r), Commands: commands(r), NotRun: show.NotRun(r),
		Warnings: show.Doubts(r, func(text string) string { return text }),
	}
	if r.Capacity != nil {
		v.Answer = show.Answer(r)
		for _, g := range show.CapacityGrids(r) {
			v.Capacity = append(v.Capacity, table{Grid: g})
		}
	}
	for _, g := range show.SweepGrids(r) {
		v.Sweep = append(v.Sweep, table{g, true})
	}
	for i := range r.Steps {
		v.Steps = append(v.Steps, newStep(&r.Steps[i]))
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
