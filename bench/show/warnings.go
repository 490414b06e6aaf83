package show

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Warning is what makes figures doubtful. Those of several steps that differ only in
// their figures are one, with the figures of the last.
type Warning struct {
	Text  string
	Steps []int // numbers of the steps, none where it is about the whole report
}

// figures are what the same warning about two steps differs in.
var figures = regexp.MustCompile(`\([^)]*\)|[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?(?:[nµm]?s)?`)

// Warnings are those of the report, then those of its steps.
func Warnings(r *result.Report) []Warning {
	var all []Warning
	if len(r.NotRun) > 0 {
		all = append(all, Warning{Text: clean("Not run: " + strings.Join(r.NotRun, ", "))})
	}
	for _, text := range r.Notes() {
		all = append(all, Warning{Text: text})
	}
	known := map[string]int{}
	for i := range r.Steps {
		for _, text := range r.Steps[i].Warnings {
			kind := figures.ReplaceAllString(text, "0")
			n, seen := known[kind]
			if !seen {
				n = len(all)
				known[kind] = n
				all = append(all, Warning{})
			}
			all[n].Text = clean(text)
			all[n].Steps = append(all[n].Steps, i)
		}
	}
	return all
}

// String is the warning, with the names of the steps that it is about where it is not
// about all of r.
func (w Warning) String(r *result.Report) string {
	if len(w.Steps) == 0 || len(r.Steps) == 1 {
		return w.Text
	}
	names := make([]string, len(w.Steps))
	for i, n := range w.Steps {
		names[i] = clean(r.Steps[n].Name)
	}
	if len(names) == 1 {
		return names[0] + ": " + w.Text
	}
	return fmt.Sprintf("%s (figures of %s): %s", strings.Join(names, ", "), names[len(names)-1], w.Text)
}

func (l *lines) warnings(r *result.Report) {
	for i, w := range Warnings(r) {
		if i == 0 {
			l.line("")
		}
		l.line("! %s", w.String(r))
	}
}
