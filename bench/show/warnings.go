package show

import (
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// figures are what the same warning about two steps differs in.
var figures = regexp.MustCompile(`\([^)]*\)|[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?(?:[nµm]?s)?`)

// warnings are those of the report, then those of its steps. Those of several steps that
// differ only in their figures are one, after the names of the steps and with the figures
// of the last.
func warnings(r *result.Report) []string {
	all := r.Notes()
	if len(r.NotRun) > 0 {
		all = append(all, clean("Not run: "+strings.Join(r.NotRun, ", ")))
	}
	var kinds []string
	names, texts := map[string][]string{}, map[string]string{}
	for i := range r.Steps {
		for _, text := range r.Steps[i].Warnings {
			kind := figures.ReplaceAllString(text, "0")
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			names[kind], texts[kind] = append(names[kind], r.Steps[i].Name), text
		}
	}
	for _, kind := range kinds {
		text := texts[kind]
		if len(r.Steps) > 1 {
			text = strings.Join(names[kind], ", ") + ": " + text
		}
		all = append(all, clean(text))
	}
	return all
}
