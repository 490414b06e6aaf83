package page

import (
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report/render"
)

// step is the part of the page about one step.
type step struct {
	ID       string
	Name     string
	Warnings []string
	Facts    []render.Fact
	Tables   []table
}

func stepID(i int) string { return fmt.Sprintf("step-%d", i) }

func newStep(i int, s *report.Step) step {
	grids := append([]render.Grid{render.RateGrid(s)}, render.DistributionGrids(s)...)
	if len(s.Cards) > 0 {
		grids = append(grids, render.CardGrid(s))
	}
	v := step{ID: stepID(i), Name: s.Heading(), Warnings: s.Warnings, Facts: render.Facts(s)}
	for _, g := range grids {
		v.Tables = append(v.Tables, newTable(g))
	}
	return v
}
