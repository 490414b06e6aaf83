package show

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
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

// jsonSchema is the version of what [JSON] writes. To one version keys are added, and none is renamed or taken away.
const jsonSchema = 1

type jsonReport struct {
	Schema     int               `json:"schema"`
	Program    string            `json:"program"`
	Complete   bool              `json:"complete"`
	Damaged    int               `json:"damaged_lines"`
	Objectives runlog.Objectives `json:"objectives,omitempty"`
	Capacity   *capacity.Result  `json:"capacity,omitempty"`
	Runs       []runlog.Run      `json:"runs"`
	Steps      []jsonStep        `json:"steps"`
	NotRun     []string          `json:"not_run"`
}

// jsonStep is a step, and what is reckoned from it.
type jsonStep struct {
	result.Step
	FailureRatio float64      `json:"failure_ratio"`
	PerToken     result.Value `json:"joules_per_output_token"`
	SLO          []jsonSLO    `json:"slo,omitempty"` // of a run that is judged by objectives
}

type jsonSLO struct {
	openai.Objective
	Value   result.Value `json:"value"`
	AtLeast bool         `json:"at_least,omitempty"` // it falls among those who still waited
	Met     bool         `json:"met"`
}

func newJSONStep(s *result.Step, isJudged bool) jsonStep {
	j := jsonStep{Step: *s, FailureRatio: s.Account.FailureRatio(), PerToken: s.JoulesPerToken()}
	j.Cards, j.Warnings = append([]result.Card{}, s.Cards...), append([]string{}, s.Warnings...)
	for _, o := range s.Objectives {
		if isJudged {
			j.SLO = append(j.SLO, jsonSLO{o.Objective, o.Value, o.AtLeast, o.Met()})
		}
	}
	return j
}

// JSON writes the whole report, indented. Durations are seconds, except where the key ends in _ns, as in "load" and
// "objectives", which are the log's own. What is not known is null.
func JSON(w io.Writer, r *result.Report) error {
	j := jsonReport{
		Schema: jsonSchema, Program: "accelbench", Complete: r.Complete, Damaged: r.Damaged,
		Objectives: r.Objectives, Capacity: capacity.FromReport(r), Runs: r.Runs,
		Steps: make([]jsonStep, len(r.Steps)), NotRun: append([]string{}, r.NotRun...),
	}
	for i := range r.Steps {
		j.Steps[i] = newJSONStep(&r.Steps[i], len(r.Runs[0].SLO) > 0)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}
