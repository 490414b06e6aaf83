package show

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// pageView is what the template shows. Its texts come from anywhere and are escaped by
// the template; only the drawings are taken as they are.
type pageView struct {
	Title    string
	Facts    []Fact
	Commands []string
	Answer   string
	Warnings []string
	Tables   []Table
	Pictures []pagePicture
	Steps    []pageStep
}

type pagePicture struct {
	Title   string
	Drawing template.HTML
}

type pageStep struct {
	Heading  string
	Warnings []string
	Facts    []Fact
	Tables   []Table
}

// Page writes a report as one HTML file that needs nothing else: no script, no network,
// no other file.
func Page(w io.Writer, r *result.Report) error {
	v := pageView{Title: title(r), Facts: runFacts(r), Commands: commands(r), Answer: Answer(r), Tables: reportTables(r)}
	for _, warning := range Warnings(r) {
		v.Warnings = append(v.Warnings, warning.String(r))
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		v.Steps = append(v.Steps, pageStep{clean(s.Heading()), s.Warnings, Facts(s), stepTables(s)})
	}
	var err error
	if v.Pictures, err = pagePictures(r); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return fmt.Errorf("making page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing page: %w", err)
	}
	return nil
}

func pagePictures(r *result.Report) ([]pagePicture, error) {
	var all []pagePicture
	for _, p := range []*Picture{Overview(r), Latency(r), Cards(r)} {
		if p == nil || len(r.Steps) == 0 {
			continue
		}
		drawing, err := p.svg()
		if err != nil {
			return nil, err
		}
		all = append(all, pagePicture{p.Title, drawing})
	}
	return all, nil
}

// reportTables are those of a search for the capacity, and those over the steps.
func reportTables(r *result.Report) []Table {
	if r.Capacity == nil {
		return sweepTables(r)
	}
	return append([]Table{levelTable(r)}, sweepTables(r)...)
}

func title(r *result.Report) string {
	return strings.TrimSuffix("Load test of "+strings.Join(distinct(r, func(run *runlog.Run) string { return run.Model }), ", "), " of ")
}

// runFacts are what the logs say of their runs, each value once.
func runFacts(r *result.Report) []Fact {
	var all []Fact
	for _, f := range []struct {
		name  string
		value func(*runlog.Run) string
	}{
		{"Model", func(run *runlog.Run) string { return run.Model }},
		{"Endpoint", func(run *runlog.Run) string { return run.URL }},
		{"API", func(run *runlog.Run) string { return string(run.API) }},
		{"Started", func(run *runlog.Run) string { return run.Started.Format(time.RFC3339) }},
		{"Load from", func(run *runlog.Run) string { return fmt.Sprintf("%s (%d cores)", run.Host, run.GOMAXPROCS) }},
		{"Data set", datasetText},
		{"Seed", func(run *runlog.Run) string { return strconv.FormatUint(run.Seed, 10) }},
		{"A good request has a", func(*runlog.Run) string { return r.Objectives.String() }},
		{"Side", func(run *runlog.Run) string { return run.Side }},
		{"Metadata", metadataText},
		{"accelbench", func(run *runlog.Run) string { return run.Version }},
		{"Run", func(run *runlog.Run) string { return run.ID }},
	} {
		all = append(all, Fact{f.name, strings.Join(distinct(r, f.value), ", ")})
	}
	return cleanFacts(all)
}

// distinct are the values of the runs, each once and none empty.
func distinct(r *result.Report, value func(*runlog.Run) string) []string {
	var all []string
	for i := range r.Runs {
		if v := clean(value(&r.Runs[i])); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func metadataText(run *runlog.Run) string {
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
