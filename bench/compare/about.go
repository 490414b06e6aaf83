package compare

import (
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func aboutSides(sides []Side, levels []level) []About {
	abouts := make([]About, 0, len(sides))
	for i, s := range sides {
		runs := 0
		for _, l := range levels {
			runs = max(runs, len(l.runs[i]))
		}
		abouts = append(abouts, About{
			Name:    s.Name,
			Runs:    runs,
			Model:   list(ofRuns(s, func(r runlog.Run) string { return r.Model })),
			Dataset: list(ofRuns(s, datasetOf)),
			Server:  strings.Join(ofRuns(s, serverOf), " or "),
		})
	}
	return abouts
}

func notStartedOf(sides []Side) []NotStarted {
	var without []NotStarted
	for _, s := range sides {
		if run := s.NotStarted; run != nil {
			without = append(without, NotStarted{Side: s.Name, Server: serverOf(*run), Binding: run.Server.Binding, Reason: run.Server.NotStarted})
		}
	}
	return without
}

// serverOf is the command of a side's server and where the kernel lets it run.
func serverOf(r runlog.Run) string {
	if r.Server == nil {
		return ""
	}
	parts := words.List{strings.TrimPrefix(r.Server.Command, r.Side+"=")}
	parts.If(r.Server.CPUs != "", "CPUs %s", r.Server.CPUs)
	parts.If(r.Server.Mems != "", "nodes %s", r.Server.Mems)
	parts.If(r.Server.Policy != "", "memory policy %s", r.Server.Policy)
	return parts.String()
}

// ofRuns are the distinct values over the runs of a side.
func ofRuns(s Side, of func(runlog.Run) string) []string {
	var values []string
	for _, r := range s.Reports {
		for _, run := range r.Runs {
			values = append(values, of(run))
		}
	}
	return distinct(values)
}

func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}

// list is a few values as text.
func list(values []string) string {
	const most = 5
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "(unknown)"
	}
	if len(values) > most {
		return strings.Join(values[:most], " and ") + " and more"
	}
	return strings.Join(values, " and ")
}
