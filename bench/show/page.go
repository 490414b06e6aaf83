package show

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// pageView is what the template shows: texts from anywhere, which it escapes, and drawings, which it takes as they are.
type pageView struct {
	Title    string
	Headings []string
	Commands []string
	Good     string // what a good request meets
	Answer   string
	Warnings []string
	Tables   []Table
	Pictures []*Picture
	Steps    []stepView
}

// Page writes a report as one HTML file that needs no script, no network and no other file.
func Page(w io.Writer, r *result.Report) error {
	v := pageView{
		Title: Clean("Load test of " + r.Runs[0].Model), Headings: headings(r), Good: r.Objectives.String(),
		Answer: Answer(r), Warnings: warnings(r), Pictures: Pictures(r),
		Tables: withRows(
			levelTable(r), objectiveTable(r), summaryTable(r), sweepTable(r, "Steady part", func(s *result.Step) *result.Figures { return s.Steady }, windowKeys(r)), failureTable(r),
		),
	}
	for i := range r.Runs {
		v.Commands = append(v.Commands, Clean(shellquote.Join(r.Runs[i].Command...)))
	}
	for i := range r.Steps {
		v.Steps = append(v.Steps, newStepView(&r.Steps[i]))
	}
	var b bytes.Buffer // so that a page is whole or not begun
	if err := pageTemplate.Execute(&b, v); err != nil {
		return fmt.Errorf("making page: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}
