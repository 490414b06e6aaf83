package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// CSV writes one row a step, as RFC 4180 has it, under a row of names with the
// units in them: _s, _ms, _rps (requests a second), _tok_s (tokens a second),
// _ratio (0 to 1). First the run and the load, then the account with a column
// for every reason of a failure, the rates and latencies of the whole step, the
// same names begun with steady_ for its steady part, and the checks. There is a
// column for each percentile that any step holds. A cell is empty where nothing
// is known. A text that a spreadsheet would take for a formula is begun with an
// apostrophe.
func CSV(w io.Writer, r *Report) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.UseCRLF = true
	cols := csvColumns(r)
	row := make([]string, len(cols))
	for i, col := range cols {
		row[i] = col.name
	}
	_ = c.Write(row) // into memory: it cannot fail
	for i := range r.Steps {
		for k, col := range cols {
			row[k] = col.text(&r.Steps[i])
		}
		_ = c.Write(row)
	}
	c.Flush()
	_, err := b.WriteTo(w)
	return err
}

type csvColumn struct {
	name string
	text func(*Step) string
}

func csvColumns(r *Report) []csvColumn {
	run := firstRun(r)
	cols := []csvColumn{
		{"model", func(*Step) string { return csvText(run.Model) }},
		{"dataset", func(*Step) string { return csvText(run.Dataset) }},
		{"step", func(s *Step) string { return csvText(s.Name) }},
		{"started", func(s *Step) string { return s.Started.Format(time.RFC3339Nano) }},
		{"arrival", func(s *Step) string { return csvText(string(s.Arrival)) }},
		{"concurrency", func(s *Step) string { return csvCount(s.Concurrency) }},
		{"max_concurrency", func(s *Step) string { return csvCount(s.MaxConcurrency) }},
		{"rate_rps", func(s *Step) string { return csvNumber(s.Rate, s.Rate > 0) }},
		{"burstiness", func(s *Step) string { return csvNumber(s.Burstiness, s.Burstiness > 0) }},
		{"repeat", func(s *Step) string { return strconv.Itoa(s.Repeat) }},
		{"machines", func(s *Step) string { return strconv.Itoa(s.Machines) }},
		{"stop", func(s *Step) string { return csvText(string(s.Stop)) }},
		{"attempted", func(s *Step) string { return strconv.Itoa(s.Account.Attempted) }},
		{"succeeded", func(s *Step) string { return strconv.Itoa(s.Account.Succeeded) }},
		{"failed", func(s *Step) string { return strconv.Itoa(s.Account.Failures()) }},
		{"canceled", func(s *Step) string { return strconv.Itoa(s.Account.Canceled) }},
		{"failure_ratio", func(s *Step) string { return csvNumber(s.Account.FailureRatio(), true) }},
	}
	for _, reason := range openai.Reasons() {
		if reason != openai.ReasonCanceled {
			cols = append(cols, csvColumn{"failed_" + string(reason), func(s *Step) string {
				return strconv.Itoa(s.Account.Failed[reason])
			}})
		}
	}
	cols = append(cols, csvFigures("", heldPercentiles(r), func(s *Step) *Figures { return &s.Whole })...)
	cols = append(cols, csvFigures("steady_", heldPercentiles(r), func(s *Step) *Figures { return s.Steady })...)
	return append(cols, csvChecks()...)
}

// csvFigures are the columns of one window; of returns nil where a step has no
// such.
func csvFigures(prefix string, percentiles []float64, of func(*Step) *Figures) []csvColumn {
	var cols []csvColumn
	add := func(name string, text func(*Figures) string) {
		cols = append(cols, csvColumn{prefix + name, func(s *Step) string {
			if f := of(s); f != nil {
				return text(f)
			}
			return ""
		}})
	}
	add("duration_s", func(f *Figures) string { return csvNumber(f.Window.Duration().Seconds(), true) })
	add("prompt_tokens", func(f *Figures) string { return strconv.FormatInt(f.PromptTokens, 10) })
	add("output_tokens", func(f *Figures) string { return strconv.FormatInt(f.OutputTokens, 10) })
	add("request_throughput_rps", func(f *Figures) string { return csvNumber(f.RequestThroughput, true) })
	add("request_goodput_rps", func(f *Figures) string { return csvPointer(f.Goodput) })
	add("good_ratio", func(f *Figures) string { return csvNumber(f.GoodRatio()) })
	add("output_throughput_tok_s", func(f *Figures) string { return csvNumber(f.OutputThroughput, true) })
	add("total_throughput_tok_s", func(f *Figures) string { return csvNumber(f.TotalThroughput, true) })
	add("peak_output_throughput_tok_s", func(f *Figures) string { return csvNumber(f.PeakOutputThroughput, true) })
	add("peak_concurrency", func(f *Figures) string { return strconv.Itoa(f.PeakConcurrency) })
	for _, m := range quantities() {
		if m.kind == ofText {
			continue
		}
		add(m.key+"_count", func(f *Figures) string { return strconv.FormatInt(m.of(f).Count, 10) })
		add(m.key+"_mean_ms", func(f *Figures) string { return csvMillis(m.of(f).Mean, m.of(f)) })
		for _, p := range percentiles {
			add(m.key+"_p"+percentileName(p)+"_ms", func(f *Figures) string { return csvPercentile(m.of(f), p) })
		}
		add(m.key+"_max_ms", func(f *Figures) string { return csvMillis(m.of(f).Max, m.of(f)) })
	}
	return cols
}

func csvChecks() []csvColumn {
	return []csvColumn{
		{"achieved_concurrency", func(s *Step) string { return csvNumber(s.Checks.Achieved, true) }},
		{"achieved_concurrency_whole", func(s *Step) string { return csvNumber(s.Checks.AchievedWhole, true) }},
		{"achieved_rate_rps", func(s *Step) string { return csvNumber(s.Checks.AchievedRate, true) }},
		{"client_lag_p50_ms", func(s *Step) string { return csvPercentile(s.Checks.ClientLag, 50) }},
		{"client_lag_p99_ms", func(s *Step) string { return csvPercentile(s.Checks.ClientLag, 99) }},
		{"kernel_clock_ratio", func(s *Step) string { return csvNumber(s.Checks.KernelClock, true) }},
		{"prefix_cache_hit_ratio", func(s *Step) string {
			return csvNumber(share(s.Checks.CachedTokens, s.Checks.PromptTokens), s.Checks.CacheKnown)
		}},
		{"new_connections", func(s *Step) string { return strconv.Itoa(s.Checks.NewConnections) }},
		{"client_cpu_cores", func(s *Step) string { return csvNumber(s.Checks.ClientCPU, s.Checks.ClientCPU > 0) }},
		{"bad_records", csvDataset(func(d *runlog.DatasetCount) int { return d.BadLine })},
		{"too_long_records", csvDataset(func(d *runlog.DatasetCount) int { return d.TooLong })},
		{"skipped_records", csvDataset(func(d *runlog.DatasetCount) int { return d.Skipped })},
		{"estimated_answers", csvDataset(func(d *runlog.DatasetCount) int { return d.Estimated })},
		{"dataset_begun_again", csvDataset(func(d *runlog.DatasetCount) int { return d.Passes })},
		{"energy_joules", func(s *Step) string { return csvPointer(s.Joules) }},
		{"energy_joules_per_output_token", func(s *Step) string { return csvNumber(s.JoulesPerToken()) }},
		{"warnings", func(s *Step) string { return csvText(strings.Join(s.Warnings, "; ")) }},
	}
}

func csvNumber(v float64, known bool) string {
	if !known || number(v) == noFigure {
		return ""
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

func csvCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func csvDataset(of func(*runlog.DatasetCount) int) func(*Step) string {
	return func(s *Step) string {
		if !s.DatasetKnown {
			return ""
		}
		return strconv.Itoa(of(&s.Dataset))
	}
}

func csvPointer(v *float64) string {
	if v == nil {
		return ""
	}
	return csvNumber(*v, true)
}

// csvMillis writes a value of d in milliseconds.
func csvMillis(seconds float64, d Distribution) string { return csvNumber(seconds*1e3, d.Count > 0) }

func csvPercentile(d Distribution, p float64) string {
	v, ok := d.At(p)
	return csvNumber(v*1e3, ok && d.Count > 0)
}

func csvText(text string) string {
	text = clean(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
