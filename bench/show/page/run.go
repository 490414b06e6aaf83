package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// timeLayout is how instants are shown, in the zone of the log.
const timeLayout = "2006-01-02 15:04:05 -07:00"

func title(r *result.Report) string {
	if models := distinct(r, func(run *runlog.Run) string { return run.Model }); len(models) > 0 {
		return "Load test of " + strings.Join(models, ", ")
	}
	return "Load test"
}

// runFacts are what the logs say of their runs, each value once.
func runFacts(r *result.Report) []show.Fact {
	var all []show.Fact
	for _, f := range []struct {
		name string
		of   func(*runlog.Run) string
	}{
		{"Model", func(run *runlog.Run) string { return run.Model }},
		{"Endpoint", func(run *runlog.Run) string { return run.URL }},
		{"API", func(run *runlog.Run) string { return string(run.API) }},
		{"Started", func(run *runlog.Run) string { return run.Started.Format(timeLayout) }},
		{"Load from", func(run *runlog.Run) string { return fmt.Sprintf("%s (%d cores)", run.Host, run.GOMAXPROCS) }},
		{"Data set", datasetText},
		{"Seed", func(run *runlog.Run) string { return strconv.FormatUint(run.Seed, 10) }},
		{"A good request has a", func(*runlog.Run) string { return r.Objectives.String() }},
		{"Side", func(run *runlog.Run) string { return run.Side }},
		{"Metadata", metadata},
		{"accelbench", func(run *runlog.Run) string { return run.Version }},
		{"Run", func(run *runlog.Run) string { return run.ID }},
	} {
		if values := distinct(r, f.of); len(values) > 0 {
			all = append(all, show.Fact{Name: f.name, Text: strings.Join(values, ", ")})
		}
	}
	return all
}

// distinct are the values of the runs, each once and none empty.
func distinct(r *result.Report, of func(*runlog.Run) string) []string {
	var all []string
	for i := range r.Runs {
		if v := of(&r.Runs[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
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

// commands are the command lines as a shell would take them.
func commands(r *result.Report) []string {
	return distinct(r, func(run *runlog.Run) string { return shellquote.Join(run.Command...) })
}
