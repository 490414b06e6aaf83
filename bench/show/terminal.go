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
// are those of vLLM's block, as --percentile-metrics has them.
func Print(w io.Writer, format string, r *result.Report, metrics []string) error {
	var l lines
	switch format {
	case "head":
		l.head(r)
	case "summary":
		l.summary(r)
	case "capacity":
		return Capacity(w, r)
	case "json":
		return JSON(w, r)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		switch format {
		case "vllm":
			l.vllm(s, metrics)
		case "evalscope":
			l.evalscope(s)
		case "checks":
			l.checks(s)
		}
	}
	return l.writeTo(w)
}

// head writes what was run, where and when: figures that are pasted somewhere should say
// whose they are.
func (l *lines) head(r *result.Report) {
	for _, text := range headings(r) {
		l.line("%s", text)
	}
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

// summary writes the sweep as one table, the warnings, and the [Answer].
func (l *lines) summary(r *result.Report) {
	l.line("")
	l.table(summaryTable(r))
	if r.Objectives.Any() {
		l.line("good: %s", r.Objectives)
	}
	l.warnings(warnings(r))
	l.line("")
	l.line("%s", Answer(r))
}

// checks writes what says how far the figures of a step can be trusted.
func (l *lines) checks(s *result.Step) {
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
}
