package show

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

//go:embed page.html
var pageSource string

// What draws the charts, and its licence, which has to go with it.
var (
	//go:embed page.js
	pageScript string
	//go:embed uplot/uPlot.iife.min.js
	uPlotScript string
	//go:embed uplot/uPlot.min.css
	uPlotStyle string
	//go:embed uplot/LICENSE
	uPlotLicence string
)

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// pageView is what the template shows: texts and figures from anywhere, which it escapes, and the one script, by the
// digest of which the browser knows it from any other.
type pageView struct {
	Title    string
	Headings []string
	Commands []string
	Good     string // what a good request meets
	Answer   string
	Warnings []string
	Tables   []Table
	Steps    []stepView
	Charts   []charts // over the load, then of each step
	Style    template.CSS
	Script   template.JS
	Digest   string
}

// charts are those that have an axis and a cursor in common.
type charts struct {
	Axis   string  `json:"axis"`
	IsLog  bool    `json:"isLog,omitempty"`
	X      numbers `json:"x"`
	Steady numbers `json:"steady,omitempty"` // where the steady part begins and ends
	Note   string  `json:"note,omitempty"`
	Charts []chart `json:"charts"`
}

type chart struct {
	Title  string  `json:"title"`       // with the unit
	X      numbers `json:"x,omitempty"` // where it has not those of all
	Lines  []line  `json:"lines"`
	Limits []mark  `json:"limits,omitempty"` // objectives
	Mark   *mark   `json:"mark,omitempty"`   // a load
}

// line has values at those of X that At names, or at each. With Low and High they are means of repeats.
type line struct {
	Name   string  `json:"name"`
	Form   string  `json:"form,omitempty"` // dot, cross or, empty, line
	At     []int   `json:"at,omitempty"`
	Values numbers `json:"values"`
	Low    numbers `json:"low,omitempty"`
	High   numbers `json:"high,omitempty"`
}

type mark struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// numbers have three decimals in JSON, of milliseconds a microsecond, and null where nothing is known.
type numbers []float64

// MarshalJSON implements [json.Marshaler].
func (n numbers) MarshalJSON() ([]byte, error) {
	all := make([]result.Value, len(n))
	for i, v := range n {
		all[i] = result.Value(math.Round(v*1000) / 1000)
	}
	return json.Marshal(all)
}

// Page writes a report as one HTML file that needs no network and no other file, and without scripts lacks its charts.
func Page(w io.Writer, r *result.Report) error {
	script := "/*\n" + uPlotLicence + "\n*/\n" + uPlotScript + pageScript
	digest := sha256.Sum256([]byte(script))
	v := pageView{
		Style: template.CSS(uPlotStyle), Script: template.JS(script), Digest: base64.StdEncoding.EncodeToString(digest[:]),
		Title: Clean("Load test of " + r.Runs[0].Model), Headings: headings(r), Good: r.Objectives.String(),
		Answer: Answer(r), Warnings: warnings(r), Charts: []charts{{}},
		Tables: withRows(
			levelTable(r), objectiveTable(r), summaryTable(r), sweepTable(r, "Steady part", func(s *result.Step) *result.Figures { return s.Steady }, windowKeys(r)), failureTable(r),
		),
	}
	if over := overLoad(r); len(over.X) > 1 {
		v.Charts[0] = over
	}
	for i := range r.Runs {
		if r.Runs[i].Rank == 0 { // else it is the leader's
			v.Commands = append(v.Commands, Clean(shellquote.Join(r.Runs[i].Command...)))
		}
	}
	requests := 0
	for i := range r.Steps {
		requests += len(r.Steps[i].Timeline.Requests)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		v.Steps = append(v.Steps, newStepView(s))
		v.Charts = append(v.Charts, overTime(r, s, max(10, maxPoints*len(s.Timeline.Requests)/max(requests, maxPoints))))
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
}

func newJSONStep(s *result.Step) jsonStep {
	j := jsonStep{Step: *s, FailureRatio: s.Account.FailureRatio(), PerToken: s.JoulesPerToken()}
	j.Cards, j.Warnings = append([]result.Card{}, s.Cards...), append([]string{}, s.Warnings...)
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
		j.Steps[i] = newJSONStep(&r.Steps[i])
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}
