package show

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// mostNamedSteps is how many steps of one warning are named; more are counted.
const mostNamedSteps = 4

// figures are what the same warning about two steps differs in. The 4 of http_4xx is none.
var figures = regexp.MustCompile(`\b[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?(?:[nµm]?s\b)?`)

// warning is one warning about one or more steps, in their order.
type warning struct {
	kind  string // the text without its figures
	texts []string
	steps []string
}

// warnings are those of the report, then those of its steps. Those of several steps that
// differ only in their figures are one, with the figures of the last.
func warnings(r *result.Report) []string {
	all := r.Notes()
	if len(r.NotRun) > 0 {
		all = append(all, clean("Not run: "+strings.Join(r.NotRun, ", ")))
	}
	var kinds []*warning
	for i := range r.Steps {
		for _, text := range r.Steps[i].Warnings {
			kind := figures.ReplaceAllString(text, "0")
			at := slices.IndexFunc(kinds, func(w *warning) bool { return w.kind == kind })
			if at < 0 {
				at = len(kinds)
				kinds = append(kinds, &warning{kind: kind})
			}
			w := kinds[at]
			w.texts, w.steps = append(w.texts, text), append(w.steps, r.Steps[i].Name)
		}
	}
	for _, w := range kinds {
		all = append(all, clean(w.text(len(r.Steps))))
	}
	return all
}

// text is the warning behind the names of its steps, of so many in all, and of the one
// whose figures are shown where they differ.
func (w *warning) text(steps int) string {
	last := len(w.texts) - 1
	text, name := w.texts[last], w.steps[last]
	if steps == 1 {
		return text
	}
	names := strings.Join(w.steps, ", ")
	if len(w.steps) > mostNamedSteps {
		names = fmt.Sprintf("in %d of %d steps", len(w.steps), steps)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(w.texts)))) > 1 {
		return fmt.Sprintf("%s (figures of %s): %s", names, name, text)
	}
	return names + ": " + text
}
