package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Markdown writes a report as a document: what was run, the sweep as a table of
// one column a step, and the checks and warnings of each step.
func Markdown(w io.Writer, r *Report) error {
	var p page
	run := firstRun(r)
	p.line("# Load test of %s", markdown(orNone(run.Model)))
	p.line("")
	p.runFacts(r)
	for _, note := range Notes(r) {
		p.line("")
		p.line("**Warning:** %s", markdown(note))
	}
	p.line("")
	p.line("## Sweep")
	p.line("")
	p.markdownTable(r)
	p.line("")
	p.line("Figures of the whole step, ramp and drain included, except where the row says steady. Latencies are those of")
	p.line("successful requests, and of what was seen of a request before it timed out or stalled; failures are in no")
	p.line("throughput.")
	if r.Objectives.Any() {
		p.line("A good request has a %s.", r.Objectives)
	}
	if names := NotRun(r); names != "" {
		p.line("")
		p.line("Not run: %s", markdown(names))
	}
	for i := range r.Steps {
		p.markdownStep(&r.Steps[i])
	}
	return p.writeTo(w)
}

func (p *page) runFacts(r *Report) {
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(r.Runs) > 1 {
			p.line("%sRun %d of %d:", strings.Repeat("\n", min(i, 1)), i+1, len(r.Runs))
			p.line("")
		}
		for _, fact := range []struct{ name, value string }{
			{"Model", run.Model},
			{"Endpoint", run.URL},
			{"API", string(run.API)},
			{"Data set", datasetText(run)},
			{"Load generator", generatorText(run)},
			{"accelbench", run.Version},
			{"Started", run.Started.Format(time.RFC3339)},
			{"Seed", strconv.FormatUint(run.Seed, 10)},
			{"Side", run.Side},
		} {
			if fact.value != "" {
				p.line("- %s: %s", fact.name, code(fact.value))
			}
		}
		if len(run.Command) > 0 {
			p.line("")
			p.fenced("sh", commandLine(run.Command))
		}
	}
}

func datasetText(run *runlog.Run) string {
	if run.DatasetPath == "" {
		return run.Dataset
	}
	return run.Dataset + " " + run.DatasetPath
}

// commandLine quotes a command as a shell reads it.
func commandLine(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = clean(word)
	}
	return shellquote.Join(words...)
}

func (p *page) markdownTable(r *Report) {
	names, rule := []string{"Metric"}, []string{"---"}
	for i := range r.Steps {
		names, rule = append(names, markdown(r.Steps[i].Name)), append(rule, "---:")
	}
	p.markdownRow(names)
	p.markdownRow(rule)
	for _, row := range sweepRows(r) {
		cells := []string{row.name}
		for i := range r.Steps {
			cells = append(cells, row.text(&r.Steps[i]))
		}
		p.markdownRow(cells)
	}
}

func (p *page) markdownRow(cells []string) { p.line("| %s |", strings.Join(cells, " | ")) }

type sweepRow struct {
	name string
	text func(*Step) string
}

func sweepRows(r *Report) []sweepRow {
	rows := []sweepRow{
		{"QPS", func(s *Step) string { return fixed(s.Whole.RequestThroughput, true) }},
		{"Latency (s)", func(s *Step) string { return fixed(s.Whole.E2E.Mean, s.Whole.E2E.Count > 0) }},
		{"Throughput (tok/s)", func(s *Step) string { return fixed(s.Whole.OutputThroughput, true) }},
		{"Failures", func(s *Step) string { return strconv.Itoa(s.Account.Failures()) }},
		{"Failures (%)", func(s *Step) string { return fixed(s.Account.FailureRatio()*100, true) }},
		{"Attempted", func(s *Step) string { return strconv.Itoa(s.Account.Attempted) }},
		{"Canceled", func(s *Step) string { return strconv.Itoa(s.Account.Canceled) }},
		{"In flight, users or bound", func(s *Step) string { return orNone(csvCount(s.Checks.Configured)) }},
		{"In flight, mean", func(s *Step) string { return fixed(s.Checks.AchievedWhole, true) }},
		{"In flight, mean, steady", func(s *Step) string { return fixed(s.Checks.Achieved, s.Steady != nil) }},
		{"QPS, steady", steadyRow(func(f *Figures) float64 { return f.RequestThroughput })},
		{"Throughput, steady (tok/s)", steadyRow(func(f *Figures) float64 { return f.OutputThroughput })},
	}
	if hasRate(r) {
		rows = append(rows,
			sweepRow{"Rate, configured (req/s)", func(s *Step) string { return fixed(s.Rate, s.Rate > 0) }},
			sweepRow{"Rate, achieved (req/s)", func(s *Step) string { return fixed(s.Checks.AchievedRate, true) }})
	}
	if hasGoodput(r) {
		rows = append(rows,
			sweepRow{"Goodput (req/s)", func(s *Step) string { return goodputText(&s.Whole) }},
			sweepRow{"Good (%)", func(s *Step) string {
				v, ok := s.Whole.GoodRatio()
				return fixed(v*100, ok)
			}})
	}
	for _, d := range []struct {
		name string
		of   func(*Figures) Distribution
	}{
		{"TTFT", func(f *Figures) Distribution { return f.TTFT }},
		{"TPOT", func(f *Figures) Distribution { return f.TPOT }},
		{"ITL", func(f *Figures) Distribution { return f.ITL }},
		{"E2E", func(f *Figures) Distribution { return f.E2E }},
	} {
		for _, q := range reportPercentiles(r) {
			rows = append(rows, sweepRow{fmt.Sprintf("%s p%s (ms)", d.name, percentileName(q)), func(s *Step) string {
				v, ok := d.of(&s.Whole).At(q)
				return fixed(v*1e3, ok && d.of(&s.Whole).Count > 0)
			}})
		}
	}
	if hasEnergy(r) {
		rows = append(rows, sweepRow{"Energy (J/token)", energyText})
	}
	return rows
}

func steadyRow(of func(*Figures) float64) func(*Step) string {
	return func(s *Step) string {
		if s.Steady == nil {
			return noFigure
		}
		return fixed(of(s.Steady), true)
	}
}

// fixed writes v with two digits, as the tables people keep do.
func fixed(v float64, known bool) string {
	if !known || number(v) == noFigure {
		return noFigure
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func (p *page) markdownStep(s *Step) {
	p.line("")
	p.line("## %s", markdown(s.Heading()))
	p.line("")
	var checks page
	checks.checks(s)
	p.fenced("text", checks.String())
	for i, text := range s.Warnings {
		if i == 0 {
			p.line("")
		}
		p.line("- **Warning:** %s", markdown(text))
	}
}

// fenced writes a block of text that nothing in it can end.
func (p *page) fenced(language, text string) {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	p.line("%s%s", fence, language)
	p.line("%s", strings.TrimRight(text, "\n"))
	p.line("%s", fence)
}

// code makes text from outside a span of code.
func code(text string) string {
	text = clean(text)
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

func longestRun(text string, mark rune) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != mark {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// markdown makes text from outside a part of a line or of a table's cell: none
// of it means anything to Markdown.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range clean(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#|~&!$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
