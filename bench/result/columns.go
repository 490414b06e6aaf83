package result

import (
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Unit says what a [Column]'s value is, and so how it is written.
type Unit int

// The units. Shares are of 0 to 1 and shown as percent, latencies seconds and shown as
// milliseconds.
const (
	Number Unit = iota
	Count
	Share
	Milliseconds
	Seconds
	RequestRate
	TokenRate
	Joules
)

// Scale is from the unit to what is shown.
func (u Unit) Scale() float64 {
	switch u {
	case Share:
		return 100
	case Milliseconds:
		return 1e3
	}
	return 1
}

// String is the unit of the value itself, as a comparison's JSON has it.
func (u Unit) String() string {
	return [...]string{Share: "ratio", Milliseconds: "s", Seconds: "s", RequestRate: "req/s", TokenRate: "tok/s", Joules: "J"}[u]
}

// Column is one figure of a step, or of a window of it, and what it is called in each
// form of a report. It is shown in those for which it has a name. A row in one of the
// tables below is all that a new one takes.
type Column struct {
	Key   string // in CSV, with the unit
	NoCSV bool
	// Head and Below are the two lines above it in a sweep's tables of the terminal and
	// the page, Row is its name in that of Markdown.
	Head, Below, Row string
	// Label is its name in the tables of one step and of a comparison, Metric that in a
	// comparison's JSON.
	Label, Metric  string
	HigherIsBetter bool
	Unit           Unit
	Steady         bool // a sweep's tables show it of the steady part too
	Fine           bool // Markdown writes as many digits as matter, else two after the point
	// When says which steps it is for: where no step is, a sweep's tables leave it out.
	// Nil for all.
	When func(*Step) bool
	// Value is of a step and one of its windows, and whether it is known. Of what is no
	// number there is a Text.
	Value func(*Step, *Figures) (v float64, known bool)
	Text  func(*Step) string
}

// StepColumns are about the load and what became of its requests.
func StepColumns() []Column {
	columns := []Column{
		{Key: "step", Text: func(s *Step) string { return s.Name }},
		{Key: "started", Text: func(s *Step) string { return s.Started.Format(time.RFC3339Nano) }},
		{Key: "arrival", Text: func(s *Step) string { return string(s.Arrival) }},
		{Key: "concurrency", Unit: Count, Value: positive(func(s *Step) float64 { return float64(s.Concurrency) })},
		{Key: "max_concurrency", Unit: Count, Value: positive(func(s *Step) float64 { return float64(s.MaxConcurrency) })},
		{Key: "rate_rps", Row: "Rate, configured (req/s)", When: hasRate, Value: positive(func(s *Step) float64 { return s.Rate })},
		{Key: "burstiness", Value: positive(func(s *Step) float64 { return s.Burstiness })},
		{Key: "repeat", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Repeat) })},
		{Key: "machines", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Machines) })},
		{Key: "stop", Text: func(s *Step) string { return string(s.Stop) }},
		{Key: "attempted", Head: "attempted", Row: "Attempted", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Account.Attempted) })},
		{Key: "succeeded", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Account.Succeeded) })},
		{Key: "failed", Head: "failed", Row: "Failures", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Account.Failures()) })},
		{Key: "canceled", Head: "canceled", Row: "Canceled", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Account.Canceled) })},
		{
			Key: "failure_ratio", Head: "failed", Below: "%", Row: "Failures (%)", Label: "failures, %", Metric: "failure_ratio", Unit: Share,
			Value: ofStep(func(s *Step) float64 { return s.Account.FailureRatio() }),
		},
	}
	for _, reason := range openai.Reasons() {
		if reason != openai.ReasonCanceled {
			columns = append(columns, Column{Key: "failed_" + string(reason), Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Account.Failed[reason]) })})
		}
	}
	return columns
}

// WindowColumns are about a window of a step.
func WindowColumns() []Column {
	return []Column{
		{Key: "duration_s", Label: "duration (s)", Value: ofWindow(func(f *Figures) float64 { return f.Window.Duration().Seconds() })},
		{Key: "prompt_tokens", Label: "prompt tokens", Unit: Count, Value: ofWindow(func(f *Figures) float64 { return float64(f.PromptTokens) })},
		{Key: "output_tokens", Label: "output tokens", Unit: Count, Value: ofWindow(func(f *Figures) float64 { return float64(f.OutputTokens) })},
		{
			Key: "request_throughput_rps", Head: "requests", Below: "/s", Row: "QPS", Steady: true, Label: "requests/s", Metric: "request_throughput", HigherIsBetter: true,
			Unit: RequestRate, Value: ofWindow(func(f *Figures) float64 { return f.RequestThroughput }),
		},
		{
			Key: "request_goodput_rps", Head: "good", Below: "/s", Row: "Goodput (req/s)", Label: "good requests/s", Metric: "goodput", HigherIsBetter: true,
			Unit: RequestRate, Fine: true, When: hasGoodput, Value: func(_ *Step, f *Figures) (float64, bool) { return pointed(f.Goodput) },
		},
		{
			Key: "good_ratio", Head: "good", Below: "%", Row: "Good (%)", Label: "good of those sent in it", Unit: Share, When: hasGoodput,
			Value: func(_ *Step, f *Figures) (float64, bool) { return f.GoodRatio() },
		},
		{
			Key: "output_throughput_tok_s", Head: "output", Below: "tok/s", Row: "Throughput (tok/s)", Steady: true, Label: "output tokens/s", Metric: "output_throughput", HigherIsBetter: true,
			Unit: TokenRate, Value: ofWindow(func(f *Figures) float64 { return f.OutputThroughput }),
		},
		{Key: "total_throughput_tok_s", Label: "all tokens/s", Value: ofWindow(func(f *Figures) float64 { return f.TotalThroughput })},
		{Key: "peak_output_throughput_tok_s", Label: "peak output tokens/s", Value: ofWindow(func(f *Figures) float64 { return f.PeakOutputThroughput })},
		{Key: "peak_concurrency", Label: "most in flight", Unit: Count, Value: ofWindow(func(f *Figures) float64 { return float64(f.PeakConcurrency) })},
		{Key: "sent", NoCSV: true, Label: "requests sent in it", Unit: Count, Value: ofWindow(func(f *Figures) float64 { return float64(f.Account.Attempted) })},
		{Key: "sent_failure_ratio", NoCSV: true, Label: "failed of these", Unit: Share, Value: ofWindow(func(f *Figures) float64 { return f.Account.FailureRatio() })},
		{Key: "completed", NoCSV: true, Label: "completed in it", Unit: Count, Value: ofWindow(func(f *Figures) float64 { return float64(f.Completed) })},
		{
			Key: "latency_s", NoCSV: true, Head: "latency", Below: "mean s", Row: "Latency (s)", Unit: Seconds,
			Value: func(_ *Step, f *Figures) (float64, bool) { return f.Of(E2E).Mean, f.Of(E2E).Count > 0 },
		},
	}
}

// CheckColumns are about how far the figures can be trusted, and the cards' energy.
func CheckColumns() []Column {
	return []Column{
		{Key: "configured_concurrency", NoCSV: true, Row: "In flight, users or bound", Unit: Count, Value: positive(func(s *Step) float64 { return float64(s.Checks.Configured) })},
		{Key: "achieved_concurrency", Value: ofStep(func(s *Step) float64 { return s.Checks.Achieved })},
		{Key: "achieved_concurrency_whole", Head: "in flight", Below: "mean", Row: "In flight, mean", Value: ofStep(func(s *Step) float64 { return s.Checks.AchievedWhole })},
		{
			Key: "achieved_concurrency_steady", NoCSV: true, Row: "In flight, mean, steady",
			Value: func(s *Step, _ *Figures) (float64, bool) { return s.Checks.Achieved, s.Steady != nil },
		},
		{Key: "achieved_rate_rps", Row: "Rate, achieved (req/s)", When: hasRate, Value: ofStep(func(s *Step) float64 { return s.Checks.AchievedRate })},
		LagColumn(50),
		LagColumn(99),
		{Key: "kernel_clock_ratio", Unit: Share, Value: ofStep(func(s *Step) float64 { return s.Checks.KernelClock })},
		{Key: "prefix_cache_hit_ratio", Unit: Share, Value: func(s *Step, _ *Figures) (float64, bool) { return s.Checks.CacheHitRatio(), s.Checks.CacheKnown }},
		{Key: "new_connections", Unit: Count, Value: ofStep(func(s *Step) float64 { return float64(s.Checks.NewConnections) })},
		{Key: "client_cpu_cores", Value: positive(func(s *Step) float64 { return s.Checks.ClientCPU })},
		{Key: "bad_records", Unit: Count, Value: ofDataset(func(d *runlog.DatasetCount) int { return d.BadLine })},
		{Key: "too_long_records", Unit: Count, Value: ofDataset(func(d *runlog.DatasetCount) int { return d.TooLong })},
		{Key: "skipped_records", Unit: Count, Value: ofDataset(func(d *runlog.DatasetCount) int { return d.Skipped })},
		{Key: "estimated_answers", Unit: Count, Value: ofDataset(func(d *runlog.DatasetCount) int { return d.Estimated })},
		{Key: "dataset_begun_again", Unit: Count, Value: ofDataset(func(d *runlog.DatasetCount) int { return d.Passes })},
		{Key: "energy_joules", Value: func(s *Step, _ *Figures) (float64, bool) { return pointed(s.Joules) }},
		{
			Key: "energy_joules_per_output_token", Head: "J per", Below: "token", Row: "Energy (J/token)", Label: "J/output token", Metric: "joules_per_output_token",
			Unit: Joules, Fine: true, When: hasEnergy, Value: func(s *Step, _ *Figures) (float64, bool) { return s.JoulesPerToken() },
		},
		{Key: "warnings", Text: func(s *Step) string { return strings.Join(s.Warnings, "; ") }},
	}
}

// LagColumn is a percentile of the client's own delay.
func LagColumn(p float64) Column {
	name := "p" + words.Percentile(p)
	return Column{
		Key: "client_lag_" + name + "_ms", Unit: Milliseconds,
		Value: func(s *Step, _ *Figures) (float64, bool) { return s.Checks.ClientLag.known(p) },
	}
}

// Columns are the number of samples, the mean, the percentiles and the maximum of a
// measure in seconds.
func (m Measure) Columns(percentiles []float64) []Column {
	of := func(suffix string, unit Unit, value func(Distribution) float64) Column {
		return Column{Key: string(m.Key) + suffix, Unit: unit, Value: func(_ *Step, f *Figures) (float64, bool) {
			d := f.Of(m.Key)
			return value(d), d.Count > 0 || unit == Count
		}}
	}
	columns := []Column{
		of("_count", Count, func(d Distribution) float64 { return float64(d.Count) }),
		of("_mean_ms", Milliseconds, func(d Distribution) float64 { return d.Mean }),
	}
	for _, p := range percentiles {
		columns = append(columns, m.PercentileColumn(p))
	}
	return append(columns, of("_max_ms", Milliseconds, func(d Distribution) float64 { return d.Max }))
}

// PercentileColumn is one percentile of a measure in seconds.
func (m Measure) PercentileColumn(p float64) Column {
	name := "p" + words.Percentile(p)
	return Column{
		Key: string(m.Key) + "_" + name + "_ms", Head: m.Name, Below: name, Row: m.Name + " " + name + " (ms)",
		Label: m.Name + " " + name + ", ms", Metric: string(m.Key) + "_" + name, Unit: Milliseconds,
		Value: func(_ *Step, f *Figures) (float64, bool) { return f.Of(m.Key).known(p) },
	}
}

// MainColumns are percentiles of the measures that every table shows.
func MainColumns(percentiles []float64) []Column {
	var columns []Column
	for _, m := range Main() {
		for _, p := range percentiles {
			columns = append(columns, m.PercentileColumn(p))
		}
	}
	return columns
}

// Ordered puts those of columns first that keys name, in their order.
func Ordered(columns []Column, keys ...string) []Column {
	rank := func(c Column) int {
		if i := slices.Index(keys, c.Key); i >= 0 {
			return i
		}
		return len(keys)
	}
	columns = slices.Clone(columns)
	slices.SortStableFunc(columns, func(a, b Column) int { return rank(a) - rank(b) })
	return columns
}

// known is the percentile p, and whether there is one.
func (d Distribution) known(p float64) (float64, bool) {
	v, ok := d.At(p)
	return v, ok && d.Count > 0
}

func ofStep(value func(*Step) float64) func(*Step, *Figures) (float64, bool) {
	return func(s *Step, _ *Figures) (float64, bool) { return value(s), true }
}

// positive is not known where it is 0.
func positive(value func(*Step) float64) func(*Step, *Figures) (float64, bool) {
	return func(s *Step, _ *Figures) (float64, bool) { return value(s), value(s) > 0 }
}

func ofWindow(value func(*Figures) float64) func(*Step, *Figures) (float64, bool) {
	return func(_ *Step, f *Figures) (float64, bool) { return value(f), true }
}

func ofDataset(count func(*runlog.DatasetCount) int) func(*Step, *Figures) (float64, bool) {
	return func(s *Step, _ *Figures) (float64, bool) { return float64(count(&s.Dataset)), s.DatasetKnown }
}

func pointed(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

func hasRate(s *Step) bool    { return s.Rate > 0 }
func hasGoodput(s *Step) bool { return s.Whole.Goodput != nil }

func hasEnergy(s *Step) bool {
	_, known := s.JoulesPerToken()
	return known
}
