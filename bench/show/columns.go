package show

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Unit is how a [Column]'s value is shown.
type Unit struct {
	Base    string  // of the value itself: seconds for milliseconds, a ratio for a share
	symbol  string  // in tables
	scale   float64 // from one to the other, 0 for 1
	isCount bool
}

// The units.
var (
	Number         = Unit{}
	Count          = Unit{isCount: true}
	Tokens         = Unit{symbol: "tokens"}
	Share          = Unit{Base: "ratio", symbol: "%", scale: 100}
	Milliseconds   = Unit{Base: "s", symbol: "ms", scale: 1000}
	Seconds        = Unit{Base: "s", symbol: "s"}
	RequestRate    = Unit{Base: "req/s", symbol: "req/s"}
	TokenRate      = Unit{Base: "tok/s", symbol: "tok/s"}
	JoulesPerToken = Unit{Base: "J", symbol: "J/token"}
)

// Text writes a value in the unit that is shown, without naming it, with as many digits as matter, and - for NaN.
func (u Unit) Text(v float64) string {
	v = u.scaled(v)
	decimals := 0
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return unknown
	case u.isCount, a == 0:
	case a < 0.1:
		decimals = min(1-int(math.Floor(math.Log10(a))), 9)
	case a < 10:
		decimals = 2
	case a < 1000:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func (u Unit) scaled(v float64) float64 { return v * cmp.Or(u.scale, 1) }

// Column is one figure of a step, or of a window of it.
type Column struct {
	Key            string // unique, and the name of the figure in the JSON of a comparison
	Head           string // in tables, without the unit
	Unit           Unit
	Compared       bool // by a comparison of runs
	HigherIsBetter bool
	// One of these is set: estimate is the figure of a window with what is known of its error.
	value    func(*result.Step, *result.Figures) float64
	estimate func(*result.Figures) result.Percentile
}

// Value is the figure of a step, or of a window of it; NaN where it is not known.
func (c Column) Value(s *result.Step, window *result.Figures) float64 {
	if c.estimate != nil {
		return c.estimate(window).Value
	}
	return c.value(s, window)
}

// Title is the head with its unit: "TTFT p99 (ms)".
func (c Column) Title() string {
	if c.Unit.symbol == "" {
		return c.Head
	}
	return c.Head + " (" + c.Unit.symbol + ")"
}

// text is the figure of a window, - where it is not known or there is no such window: "104", "> 10000".
func (c Column) text(s *result.Step, window *result.Figures) string {
	if window == nil {
		return unknown
	}
	text := c.Unit.Text(c.Value(s, window))
	if c.estimate != nil && c.estimate(window).AtLeast && text != unknown {
		return "> " + text
	}
	return text
}

func titles(columns []Column) []string {
	var all []string
	for _, c := range columns {
		all = append(all, c.Title())
	}
	return all
}

func texts(columns []Column, s *result.Step, window *result.Figures) []string {
	var all []string
	for _, c := range columns {
		all = append(all, c.text(s, window))
	}
	return all
}

// Columns are all there are: of a window the rates and the figures of each measure, then those of a step as a whole.
func Columns(percentiles ...float64) []Column {
	columns := slices.Clone(rateColumns)
	for _, m := range result.Measures() {
		columns = append(columns, measureColumns(m, percentiles)...)
	}
	return slices.Concat(columns, requestColumns, checkColumns)
}

// Pick returns the columns with the given keys, in the order of the keys.
func Pick(columns []Column, keys ...string) []Column {
	var picked []Column
	for _, key := range keys {
		if i := slices.IndexFunc(columns, func(c Column) bool { return c.Key == key }); i >= 0 {
			picked = append(picked, columns[i])
		}
	}
	return picked
}

var requestColumns = []Column{
	{Key: "attempted", Head: "requests", Unit: Count, value: func(s *result.Step, _ *result.Figures) float64 { return float64(s.Account.Attempted) }},
	{Key: "failure_ratio", Head: "failures", Unit: Share, Compared: true, value: func(s *result.Step, _ *result.Figures) float64 { return s.Account.FailureRatio() }},
	{Key: "joules_per_output_token", Head: "energy", Unit: JoulesPerToken, Compared: true, value: func(s *result.Step, _ *result.Figures) float64 { return float64(s.JoulesPerToken()) }},
}

var checkColumns = []Column{
	{Key: "achieved_concurrency", Head: "in flight, steady mean", value: func(s *result.Step, _ *result.Figures) float64 { return s.Checks.Achieved }},
	{Key: "achieved_rate", Head: "rate achieved (/s)", value: func(s *result.Step, _ *result.Figures) float64 { return s.Checks.AchievedRate }},
	{Key: "client_lag", Head: "client lag mean", Unit: Milliseconds, value: func(s *result.Step, _ *result.Figures) float64 { return nonZero(s.Checks.ClientLag) }},
	{Key: "client_lag_max", Head: "client lag max", Unit: Milliseconds, value: func(s *result.Step, _ *result.Figures) float64 { return nonZero(s.Checks.MostLag) }},
	{Key: "kernel_clock_ratio", Head: "kernel time stamps", Unit: Share, value: func(s *result.Step, _ *result.Figures) float64 { return s.Checks.KernelClock }},
	{Key: "client_cpu_cores", Head: "client CPU cores", value: func(s *result.Step, _ *result.Figures) float64 { return nonZero(s.Checks.ClientCPU) }},
	{Key: "resent", Head: "sent again", Unit: Count, value: func(s *result.Step, _ *result.Figures) float64 { return nonZero(float64(s.Checks.Resent)) }},
	{Key: "tokens_without_chunk", Head: "tokens without a chunk", Unit: Share, value: func(s *result.Step, _ *result.Figures) float64 { return nonZero(s.Checks.TokensWithoutChunk) }},
	{Key: "prompt_asked", Head: "made prompt, asked for", Unit: Tokens, value: func(s *result.Step, _ *result.Figures) float64 {
		return float64(s.Checks.Prompts.AimedTokens) / float64(s.Checks.Prompts.Counted)
	}},
	{Key: "prompt_template", Head: "made prompt, added by the server", Unit: Tokens, value: func(s *result.Step, _ *result.Figures) float64 {
		return nonZero(float64(s.Checks.Prompts.TemplateTokens))
	}},
	{Key: "prompt_counted", Head: "made prompt, counted", Unit: Tokens, value: func(s *result.Step, _ *result.Figures) float64 {
		return float64(s.Checks.Prompts.CountedTokens) / float64(s.Checks.Prompts.Counted)
	}},
	{Key: "skipped_records", Head: "skipped records", Unit: Count, value: func(s *result.Step, _ *result.Figures) float64 {
		return nonZero(float64(s.Dataset.Skipped + s.Dataset.TooLong))
	}},
}

var rateColumns = []Column{
	{Key: "duration", Head: "duration", Unit: Seconds, value: func(_ *result.Step, f *result.Figures) float64 { return f.Window.Duration().Seconds() }},
	{Key: "request_throughput", Head: "requests", Unit: RequestRate, Compared: true, HigherIsBetter: true, value: func(_ *result.Step, f *result.Figures) float64 { return f.RequestThroughput }},
	{Key: "goodput", Head: "good requests", Unit: RequestRate, Compared: true, HigherIsBetter: true, value: func(_ *result.Step, f *result.Figures) float64 { return float64(f.Goodput) }},
	{Key: "good_ratio", Head: "good", Unit: Share, value: func(_ *result.Step, f *result.Figures) float64 { return float64(f.GoodRatio()) }},
	{Key: "prompt_tokens", Head: "prompt tokens", Unit: Count, value: func(_ *result.Step, f *result.Figures) float64 { return float64(f.PromptTokens) }},
	{Key: "output_tokens", Head: "output tokens", Unit: Count, value: func(_ *result.Step, f *result.Figures) float64 { return float64(f.OutputTokens) }},
	{Key: "output_throughput", Head: "output", Unit: TokenRate, Compared: true, HigherIsBetter: true, value: func(_ *result.Step, f *result.Figures) float64 { return f.OutputThroughput }},
	{Key: "total_throughput", Head: "prompt and output", Unit: TokenRate, value: func(_ *result.Step, f *result.Figures) float64 { return f.TotalThroughput }},
	{Key: "peak_output_throughput", Head: "peak output", Unit: TokenRate, value: func(_ *result.Step, f *result.Figures) float64 { return f.PeakOutputThroughput }},
	{Key: "peak_concurrency", Head: "most in flight", Unit: Count, value: func(_ *result.Step, f *result.Figures) float64 { return float64(f.PeakConcurrency) }},
}

// measureColumns are the figures of a measure: the number of samples, the mean, the percentiles and the maximum.
func measureColumns(m result.Measure, percentiles []float64) []Column {
	unit := Milliseconds
	if m.Kind == result.Length {
		unit = Tokens
	}
	column := func(name string, unit Unit, estimate func(result.Distribution) result.Percentile) Column {
		ofMeasure := func(f *result.Figures) result.Percentile {
			d := f.Of(m.Key)
			if d.Count == 0 { // percentiles of those who waited are known nevertheless
				d.Mean, d.Max = math.NaN(), math.NaN()
			}
			return estimate(d)
		}
		return Column{
			Key: string(m.Key) + "_" + name, Head: m.Name + " " + name, Unit: unit, estimate: ofMeasure,
		}
	}
	columns := []Column{
		column("samples", Count, func(d result.Distribution) result.Percentile {
			return result.Percentile{Value: nonZero(float64(d.Count))}
		}),
		column("mean", unit, func(d result.Distribution) result.Percentile {
			return result.Percentile{Value: d.Mean, Error: d.MeanError}
		}),
	}
	for _, p := range percentiles {
		c := column(percentileName(p), unit, func(d result.Distribution) result.Percentile {
			q, ok := d.At(p)
			if !ok {
				q.Value = math.NaN()
			}
			if float64(q.Independent)*(1-p/100) < 1 { // of few samples the interval ends at the largest
				q.Error = 0
			}
			return q
		})
		c.Compared = m.Kind == result.Usual || m.Kind == result.OfTurns
		columns = append(columns, c)
	}
	return append(columns, column("max", unit, func(d result.Distribution) result.Percentile {
		return result.Percentile{Value: d.Max}
	}))
}

func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'f', -1, 64) }

// nonZero is NaN for 0, which is not worth a line.
func nonZero(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

// measured is a gauge whose figures are NaN where it has no samples.
func measured(g result.Gauge) result.Gauge {
	if g.Samples == 0 {
		return result.Gauge{Mean: math.NaN(), Max: math.NaN()}
	}
	return g
}
