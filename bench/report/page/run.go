package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report/render"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// timeLayout is how instants are shown, in the zone of the log.
const timeLayout = "2006-01-02 15:04:05 -07:00"

func title(r *report.Report) string {
	if models := distinct(r, func(run *runlog.Run) string { return run.Model }); models != "" {
		return "Load test of " + models
	}
	return "Load test"
}

// runFacts are what the logs say of their runs, each value once.
func runFacts(r *report.Report) []render.Fact {
	var all []render.Fact
	add := func(name, text string) {
		if text != "" {
			all = append(all, render.Fact{Name: name, Text: text})
		}
	}
	add("Model", distinct(r, func(run *runlog.Run) string { return run.Model }))
	add("Endpoint", distinct(r, func(run *runlog.Run) string { return run.URL }))
	add("API", distinct(r, func(run *runlog.Run) string { return string(run.API) }))
	add("Started", distinct(r, func(run *runlog.Run) string { return run.Started.Format(timeLayout) }))
	add("Load from", distinct(r, func(run *runlog.Run) string {
		return fmt.Sprintf("%s (%d cores)", run.Host, run.GOMAXPROCS)
	}))
	add("Data set", distinct(r, datasetText))
	add("Seed", distinct(r, func(run *runlog.Run) string { return strconv.FormatUint(run.Seed, 10) }))
	add("A good request has a", r.Objectives.String())
	add("Label", distinct(r, func(run *runlog.Run) string { return run.Label }))
	add("Side", distinct(r, func(run *runlog.Run) string { return run.Side }))
	add("Metadata", distinct(r, metadata))
	add("accelbench", distinct(r, func(run *runlog.Run) string { return run.Version }))
	add("Run", distinct(r, func(run *runlog.Run) string { return run.ID }))
	return all
}

func distinct(r *report.Report, of func(*runlog.Run) string) string {
	var all []string
	for i := range r.Runs {
		if v := of(&r.Runs[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

func datasetText(run *runlog.Run) string {
	parts := []string{run.Dataset}
	if run.DatasetPath != "" {
		parts = append(parts, run.DatasetPath)
	}
	if run.ReusePrompts {
		parts = append(parts, "prompts reused: the server may have cached them")
	}
	return strings.Join(parts, ", ")
}

func metadata(run *runlog.Run) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(run.Metadata)) {
		all = append(all, k+"="+run.Metadata[k])
	}
	return strings.Join(all, ", ")
}

// commands are the command lines as a shell would take them, each once.
func commands(r *report.Report) []string {
	var all []string
	for _, run := range r.Runs {
		if c := shellquote.Join(run.Command...); c != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// warning is one sentence and the steps that it is about, none for all.
type warning struct {
	Text  string
	Steps []stepRef
}

type stepRef struct{ Name, ID string }

// warnings are those of the report, then those of the steps, each text once.
func warnings(r *report.Report) []warning {
	var all []warning
	for _, text := range r.Notes() {
		all = append(all, warning{Text: text})
	}
	at := map[string]int{}
	for i := range r.Steps {
		for _, text := range r.Steps[i].Warnings {
			n, ok := at[text]
			if !ok {
				n = len(all)
				at[text] = n
				all = append(all, warning{Text: text})
			}
			all[n].Steps = append(all[n].Steps, stepRef{Name: r.Steps[i].Heading(), ID: stepID(i)})
		}
	}
	return all
}
