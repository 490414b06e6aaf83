// Package show writes a report as text, pictures and files: one table of columns, and
// the forms of other tools.
package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Formats are the names of the forms in which [Print] writes a report.
var Formats = []string{"head", "summary", "capacity", "vllm", "evalscope", "checks", "json"}

// Print writes r in one of the [Formats], where that is of a step once for each. Metrics
// are those of vLLM's block.
func Print(w io.Writer, format string, r *result.Report, metrics []string) error {
	switch format {
	case "head":
		return Head(w, r)
	case "summary":
		return Summary(w, r)
	case "capacity":
		return Capacity(w, r)
	case "json":
		return JSON(w, r)
	}
	for i := range r.Steps {
		if err := printStep(w, format, &r.Steps[i], metrics); err != nil {
			return err
		}
	}
	return nil
}

func printStep(w io.Writer, format string, s *result.Step, metrics []string) error {
	switch format {
	case "vllm":
		return VLLM(w, s, metrics)
	case "evalscope":
		return Evalscope(w, s)
	}
	return Checks(w, s)
}

// Head writes what was run, where and when: figures that are pasted somewhere should say
// whose they are.
func Head(w io.Writer, r *result.Report) error {
	var l lines
	for _, text := range headings(r) {
		l.line("%s", text)
	}
	return l.writeTo(w)
}

// headings say what was run, a line for each log.
func headings(r *result.Report) []string {
	var all []string
	for i := range r.Runs {
		run := &r.Runs[i]
		text := fmt.Sprintf("%s at %s (%s), %s, from %s on %s, accelbench %s", run.Model, run.URL, run.API,
			strings.TrimSpace(run.Dataset+" "+run.DatasetPath), run.Host, run.Started.Format(time.DateTime), run.Version)
		if run.Side != "" {
			text += ", side " + run.Side
		}
		all = append(all, clean(text))
	}
	return all
}

// Summary writes the sweep as one table, the warnings, and the [Answer].
func Summary(w io.Writer, r *result.Report) error {
	var l lines
	l.line("")
	l.table(summaryTable(r))
	if r.Objectives.Any() {
		l.line("good: %s", r.Objectives)
	}
	l.warnings(warnings(r))
	l.line("")
	l.line("%s", Answer(r))
	return l.writeTo(w)
}

// Checks writes what says how far the figures of a step can be trusted.
func Checks(w io.Writer, s *result.Step) error {
	var l lines
	v := newStepView(s)
	l.line("")
	l.line("Checks, %s", v.Heading)
	for _, text := range v.Facts {
		l.line("  %s", text)
	}
	for _, t := range v.Tables {
		l.line("")
		l.table(t)
	}
	l.warnings(v.Warnings)
	return l.writeTo(w)
}
