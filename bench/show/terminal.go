// Package show writes a report as text, pictures and files, and in the forms of other tools.
package show

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Formats are the names of the forms in which [Print] writes a report.
var Formats = []string{"head", "summary", "vllm", "evalscope", "checks", "json"}

// Print writes r in one of the [Formats], once for each step where the form is of a step. Metrics are those of vLLM's
// block, as --percentile-metrics has them.
func Print(w io.Writer, format string, r *result.Report, metrics []string) error {
	var l lines
	switch format {
	case "head":
		l.line("%s", strings.Join(headings(r), "\n"))
	case "summary":
		l.summary(r)
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
			v := newStepView(s)
			l.line("\nChecks, %s", v.Heading)
			for _, text := range v.Facts {
				l.line("  %s", text)
			}
			for _, t := range v.Tables {
				l.table(t)
			}
			l.warnings(v.Warnings)
		}
	}
	_, err := io.WriteString(w, l.String())
	return err
}

// headings say what was run, where and when, a line for each load, so that pasted figures say whose they are.
func headings(r *result.Report) []string {
	var all []string
	for _, run := range r.Runs {
		from := run.Host
		if run.Machines > 0 {
			within := slices.MaxFunc(r.Steps, func(a, b result.Step) int { return cmp.Compare(a.ClocksWithin, b.ClocksWithin) }).ClocksWithin
			from = fmt.Sprintf("%d machines, clocks within %.2g ms,", run.Machines, 1e3*within)
		}
		all = append(all, Clean(fmt.Sprintf("%s at %s (%s), %s, from %s on %s, accelbench %s", run.Model, run.URL, run.API,
			strings.TrimSpace(run.Dataset+" "+run.DatasetPath), from, run.Started.Format(time.DateTime), run.Version)))
		if run.Machines > 0 {
			break
		}
	}
	return all
}

// summary writes the sweep or the levels of a search for the capacity, the warnings, and the [Answer].
func (l *lines) summary(r *result.Report) {
	l.table(withRows(levelTable(r), summaryTable(r))[0])
	if len(r.Objectives) > 0 {
		l.line("good: %s", r.Objectives)
	}
	for _, t := range withRows(objectiveTable(r), failureTable(r)) {
		l.table(t)
	}
	for i := range r.Steps {
		s, subject := &r.Steps[i], "cache"
		if len(r.Steps) > 1 {
			subject += " at " + s.Label.Long
		}
		if text := cacheText(s.Cache); text != "" {
			l.line("%s: %s", subject, text)
		}
	}
	l.warnings(warnings(r))
	l.line("\n%s", Answer(r))
}

func (l *lines) warnings(all []string) {
	if len(all) > 0 {
		l.line("")
	}
	for _, text := range all {
		l.line("! %s", text)
	}
}

// figuresIn are what the same warning about two steps differs in. \b leaves the 4 of http_4xx alone.
var figuresIn = regexp.MustCompile(`\b[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?(?:[nµm]?s\b)?`)

// warnings are those of the report, then those of its steps. Of those that differ only in figures there is the last,
// behind the names of all steps that have one.
func warnings(r *result.Report) []string {
	var all []string
	if !r.Complete {
		all = append(all, "A log has no end: its run was killed or still goes on, and the requests then in flight are not in the report.")
	}
	if r.Damaged > 0 {
		all = append(all, fmt.Sprintf("Lines of the logs that could not be read and are not in the report: %d.", r.Damaged))
	}
	if len(r.NotRun) > 0 {
		all = append(all, Clean(fmt.Sprintf("Steps that were not run: %s.", strings.Join(r.NotRun, ", "))))
	}
	var kinds []string // texts without their figures
	names, last := map[string][]string{}, map[string]string{}
	for i := range r.Steps {
		for _, text := range r.Steps[i].Warnings {
			kind := figuresIn.ReplaceAllString(text, "0")
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			names[kind] = append(names[kind], r.Steps[i].Label.Short)
			last[kind] = text
		}
	}
	for _, kind := range kinds {
		all = append(all, Clean(strings.Join(names[kind], ", ")+": "+last[kind]))
	}
	return all
}

// unknown stands where there is no figure.
const unknown = "-"

// Clean makes text from outside fit for a line of a terminal.
func Clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text))
}

const maxNamePart = 80 // bytes of each part of a file name; file systems allow 255

var unsafeInNames = regexp.MustCompile(`[^\pL\pN._-]`)

// FileName makes name fit to be a part of a file name: letters of any script, digits and ._- alone, nothing at its
// start that hides the file or looks like a flag, and 80 bytes at most. It is fallback where nothing of name is left.
func FileName(name, fallback string) string {
	name = strings.Trim(unsafeInNames.ReplaceAllString(name, "_"), "._-")
	return cmp.Or(strings.ToValidUTF8(name[:min(len(name), maxNamePart)], ""), fallback)
}

// Table has a first column of names, and columns of figures, - where not known. Its texts hold no control characters.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
	IsText  bool // columns of texts, which begin on the left
}

type lines struct{ strings.Builder }

func (l *lines) line(format string, args ...any) {
	fmt.Fprintf(l, format, args...)
	l.WriteByte('\n')
}

func withRows(tables ...Table) []Table {
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 0 || len(t.Head) < 2 })
}

// table writes below an empty line. The words of a head stand below each other: a column is as wide as its figures.
func (l *lines) table(t Table) {
	var rows [][]string
	for column, text := range t.Head {
		for i, word := range strings.Fields(text) {
			if i == len(rows) {
				rows = append(rows, make([]string, len(t.Head)))
			}
			rows[i][column] = word
		}
	}
	rows = append(rows, t.Rows...)

	width := 0 // of the names
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row[0]))
	}
	flags := tabwriter.AlignRight
	if t.IsText {
		flags = 0
	}
	l.line("\n%s", t.Caption)
	w := tabwriter.NewWriter(l, 0, 0, 2, ' ', flags)
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s\t%s\t\n", width, row[0], strings.Join(row[1:], "\t"))
	}
	_ = w.Flush() // into memory: it cannot fail
}
