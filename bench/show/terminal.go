// Package show writes a report as text, pictures and files: one table of columns, and
// the forms of other tools.
package show

import (
	"io"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Format is one form in which a report is printed.
type Format struct {
	Name  string // as --format has it
	Write func(io.Writer, *result.Report, VLLMOptions) error
}

// Formats are all there are.
func Formats() []Format {
	return []Format{
		{"head", forReport(Head)},
		{"summary", forReport(Summary)},
		{"capacity", forReport(Capacity)},
		{"vllm", forSteps(VLLM)},
		{"evalscope", forSteps(func(w io.Writer, s *result.Step, _ VLLMOptions) error { return Evalscope(w, s) })},
		{"checks", forSteps(func(w io.Writer, s *result.Step, _ VLLMOptions) error { return Checks(w, s) })},
		{"table", forReport(Sweep)},
		{"json", forReport(JSON)},
		{"csv", forReport(CSV)},
	}
}

// FormatNames are the names of [Formats].
func FormatNames() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

func forReport(write func(io.Writer, *result.Report) error) func(io.Writer, *result.Report, VLLMOptions) error {
	return func(w io.Writer, r *result.Report, _ VLLMOptions) error { return write(w, r) }
}

func forSteps(write func(io.Writer, *result.Step, VLLMOptions) error) func(io.Writer, *result.Report, VLLMOptions) error {
	return func(w io.Writer, r *result.Report, o VLLMOptions) error {
		for i := range r.Steps {
			if err := write(w, &r.Steps[i], o); err != nil {
				return err
			}
		}
		return nil
	}
}

// Head writes what was run, where and when, a line for each log: figures that are
// pasted somewhere should say whose they are.
func Head(w io.Writer, r *result.Report) error {
	var l lines
	for i := range r.Runs {
		run := &r.Runs[i]
		l.line("%s at %s (%s), %s, from %s on %s, accelbench %s", clean(run.Model), clean(run.URL), clean(string(run.API)),
			clean(datasetText(run)), clean(run.Host), run.Started.Format(time.DateTime), clean(run.Version))
		if run.Side != "" {
			l.line("side %s", clean(run.Side))
		}
	}
	return l.writeTo(w)
}

func datasetText(run *runlog.Run) string {
	return strings.TrimSpace(run.Dataset + " " + run.DatasetPath)
}

// Summary writes the sweep as one table, the warnings, and the [Answer].
func Summary(w io.Writer, r *result.Report) error {
	var l lines
	l.line("")
	l.table(summaryTable(r))
	l.objectives(r)
	l.warnings(r)
	l.line("")
	l.line("%s", Answer(r))
	return l.writeTo(w)
}

// Sweep writes every table over the steps.
func Sweep(w io.Writer, r *result.Report) error {
	var l lines
	for _, t := range sweepTables(r) {
		l.line("")
		l.table(t)
	}
	l.objectives(r)
	l.warnings(r)
	return l.writeTo(w)
}

func (l *lines) objectives(r *result.Report) {
	if r.Objectives.Any() {
		l.line("good: %s", r.Objectives)
	}
}

// Checks writes what says how far the figures of a step can be trusted: its settings,
// its figures over the whole of it and its steady part, cards, server and warnings.
func Checks(w io.Writer, s *result.Step) error {
	var l lines
	l.line("")
	l.line("Checks, %s", clean(s.Heading()))
	for _, f := range Facts(s) {
		l.line("  %-20s %s", f.Name, f.Text)
	}
	for _, t := range stepTables(s) {
		l.line("")
		l.table(t)
	}
	for _, text := range s.Warnings {
		l.line("! %s", clean(text))
	}
	return l.writeTo(w)
}
