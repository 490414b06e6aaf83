package show

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Markdown writes a report as a document: what was run, the sweep as a table of
// one column a step, and the checks and warnings of each step.
func Markdown(w io.Writer, r *result.Report) error {
	var p page
	run := firstRun(r)
	p.line("# Load test of %s", markdown(cmp.Or(run.Model, words.Unknown)))
	p.line("")
	p.runFacts(r)
	for _, note := range r.Notes() {
		p.line("")
		p.line("**Warning:** %s", markdown(note))
	}
	p.markdownCapacity(r)
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

// markdownCapacity is the answer of a search, where there was one.
func (p *page) markdownCapacity(r *result.Report) {
	if r.Capacity == nil {
		return
	}
	p.line("")
	p.line("## Capacity")
	p.line("")
	p.line("%s.", markdown(Answer(r)))
	for _, g := range CapacityGrids(r) {
		p.line("")
		head := g.Head()
		rule := make([]string, len(head))
		for i := range head {
			head[i], rule[i] = markdown(head[i]), "---:"
		}
		p.markdownRow(head)
		p.markdownRow(rule)
		for _, row := range g.Rows {
			p.markdownRow(row)
		}
	}
}

func (p *page) runFacts(r *result.Report) {
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
			{"Load generator", run.Host},
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
	arguments := make([]string, len(command))
	for i, argument := range command {
		arguments[i] = words.Clean(argument)
	}
	return shellquote.Join(arguments...)
}

// markdownTable has a row for each figure, with the names and in the order that
// evalscope-perf's users know first.
func (p *page) markdownTable(r *result.Report) {
	names, rule := []string{"Metric"}, []string{"---"}
	for i := range r.Steps {
		names, rule = append(names, markdown(r.Steps[i].Name)), append(rule, "---:")
	}
	p.markdownRow(names)
	p.markdownRow(rule)
	columns := result.Ordered(slices.Concat(result.MainColumns(reportPercentiles(r)), sweepColumns(r)),
		"request_throughput_rps", "latency_s", "output_throughput_tok_s", "failed", "failure_ratio", "attempted", "canceled",
		"configured_concurrency", "achieved_concurrency_whole", "achieved_concurrency_steady", "steady_request_throughput_rps",
		"steady_output_throughput_tok_s", "rate_rps", "achieved_rate_rps", "request_goodput_rps", "good_ratio")
	for _, c := range columns {
		cells := []string{c.Row}
		for i := range r.Steps {
			cells = append(cells, markdownCell(c, &r.Steps[i]))
		}
		p.markdownRow(cells)
	}
}

func (p *page) markdownRow(cells []string) { p.line("| %s |", strings.Join(cells, " | ")) }

// markdownCell has two digits after the point, as the tables that people keep.
func markdownCell(c result.Column, s *result.Step) string {
	text := cell(c, s, &s.Whole)
	if c.Fine || c.Unit == result.Count || text == words.Unknown {
		return text
	}
	v, _ := c.Value(s, &s.Whole)
	return strconv.FormatFloat(v*c.Unit.Scale(), 'f', 2, 64)
}

func (p *page) markdownStep(s *result.Step) {
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
	text = words.Clean(text)
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
	for _, r := range words.Clean(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#|~&!$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
