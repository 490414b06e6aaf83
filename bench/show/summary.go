package show

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// What a summary has room for, so that one of eight steps fits a terminal of 40 lines.
const (
	mostDoubts     = 5
	mostDoubtLines = 3
)

// Summary writes a report on one screen: the sweep as one table, what makes a figure
// doubtful, and the [Answer]. It is at most 100 columns wide, and 40 lines long for
// eight steps: columns that do not fit are left out, and so are doubts beyond the
// first five.
func Summary(w io.Writer, r *result.Report) error {
	var p page
	g := stepGrid(r, "", summaryColumns(r))
	g.shorten()
	g.cut(1 + fitting(g.widths(), 1, 0))
	p.line("")
	p.line("Whole steps, ramp and drain included; latencies in ms")
	g.write(&p, 0)
	if r.Objectives.Any() {
		p.line("good: %s", r.Objectives)
	}
	p.doubts(r)
	p.line("")
	for _, line := range wrap(Answer(r), pageWidth) {
		p.line("%s", line)
	}
	return p.writeTo(w)
}

// summaryColumns are the most telling first.
func summaryColumns(r *result.Report) []result.Column {
	shown := reportPercentiles(r)
	high := shown[len(shown)-1]
	var keys []string
	for _, m := range result.Main() {
		if m.Key == result.TTFT || m.Key == result.TPOT {
			keys = append(keys, m.PercentileColumn(median).Key)
		}
		if m.Key != result.ITL {
			keys = append(keys, m.PercentileColumn(high).Key)
		}
	}
	keys = slices.Concat([]string{"achieved_concurrency_whole", "request_throughput_rps", "output_throughput_tok_s", "failure_ratio", "good_ratio"}, keys)
	keys = append(keys, "energy_joules_per_output_token")
	columns := result.Ordered(slices.Concat(sweepColumns(r), result.MainColumns([]float64{median, high})), keys...)
	return slices.DeleteFunc(columns, func(c result.Column) bool { return !slices.Contains(keys, c.Key) })
}

// cut leaves out what comes after so many columns.
func (g *Grid) cut(columns int) {
	for _, lines := range [][][]string{g.Heads, g.Rows} {
		for i := range lines {
			lines[i] = lines[i][:columns]
		}
	}
}

// Doubt is a warning and the numbers of the steps that it is about, none for all.
type Doubt struct {
	Text  string // with the figures of the last of the steps
	Steps []int
}

// varying is what differs between the same warning about two steps.
var varying = regexp.MustCompile(`\([^)]*\)|[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?(?:[nµm]?s)?`)

// Doubts are the notes and then the warnings of the steps, each kind once.
func Doubts(r *result.Report, kind func(warning string) string) []Doubt {
	var all []Doubt
	for _, text := range r.Notes() {
		all = append(all, Doubt{Text: text})
	}
	at := map[string]int{}
	for i := range r.Steps {
		for _, text := range r.Steps[i].Warnings {
			n, known := at[kind(text)]
			if !known {
				n = len(all)
				at[kind(text)] = n
				all = append(all, Doubt{})
			}
			all[n] = Doubt{text, append(all[n].Steps, i)}
		}
	}
	return all
}

func (p *page) doubts(r *result.Report) {
	if names := NotRun(r); names != "" {
		p.line("%s", fit("not run: "+names, pageWidth-1))
	}
	all := Doubts(r, func(text string) string { return varying.ReplaceAllString(text, "0") })
	if len(all) > 0 {
		p.line("")
	}
	for i, d := range all {
		if i == mostDoubts {
			p.line("! %s more: see --format checks", words.Counted(len(all)-i, "doubt"))
			return
		}
		p.doubt(d, r.Steps)
	}
}

func (p *page) doubt(d Doubt, steps []result.Step) {
	names := make([]string, len(d.Steps))
	for i, n := range d.Steps {
		names[i] = words.Clean(steps[n].Name)
	}
	text := words.Clean(d.Text)
	switch n := len(names); {
	case n == 0 || len(steps) == 1:
	case n == 1:
		text = names[0] + ": " + text
	case n == len(steps):
		text = "all steps (shown: " + names[n-1] + "): " + text
	default:
		text = fit(strings.Join(names, ", "), pageWidth/2) + " (shown: " + names[n-1] + "): " + text
	}
	const mark = "! "
	lines := wrap(text, pageWidth-len(mark))
	if len(lines) > mostDoubtLines {
		lines = lines[:mostDoubtLines]
		lines[mostDoubtLines-1] = fit(lines[mostDoubtLines-1]+" …", pageWidth-len(mark)-1)
	}
	p.behind(mark, lines)
}
