package page

import (
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// step is the part of the page about one step.
type step struct {
	ID       string
	Name     string
	Warnings []string
	Facts    []report.Fact
	Tables   []table
}

func stepID(i int) string { return fmt.Sprintf("step-%d", i) }

func newStep(i int, s *report.Step) step {
	grids := append([]report.Grid{report.RateGrid(s)}, report.DistributionGrids(s)...)
	if len(s.Cards) > 0 {
		grids = append(grids, report.CardGrid(s))
	}
	v := step{ID: stepID(i), Name: s.Heading(), Warnings: s.Warnings, Facts: report.Facts(s)}
	for _, g := range grids {
		v.Tables = append(v.Tables, newTable(g))
	}
	return v
}
