package show

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Unit is how a [Column]'s value is shown.
type Unit int

// The units.
const (
	Number Unit = iota
	Count
	Share
	Milliseconds
	Seconds
	RequestRate
	TokenRate
	JoulesPerToken
)

var units = [...]struct {
	base  string  // unit of the value itself
	shown string  // unit in tables
	scale float64 // from one to the other
}{
	Number:         {"", "", 1},
	Count:          {"", "", 1},
	Share:          {"ratio", "%", 100},
	Milliseconds:   {"s", "ms", 1000},
	Seconds:        {"s", "s", 1},
	RequestRate:    {"req/s", "req/s", 1},
	TokenRate:      {"tok/s", "tok/s", 1},
	JoulesPerToken: {"J", "J/token", 1},
}

// String is the unit of values as they are: seconds for milliseconds, a ratio for a share.
func (u Unit) String() string { return units[u].base }

// Shown is the unit in tables.
func (u Unit) Shown() string { return units[u].shown }

// Scale is from the value to what is shown.
func (u Unit) Scale() float64 { return units[u].scale }

// Text writes a value in the unit that is shown, without naming it, and - for NaN.
func (u Unit) Text(v float64) string {
	if u == Count {
		return formatCount(v)
	}
	return formatNumber(v * u.Scale())
}

// Column is one figure of a step, or of a window of it.
type Column struct {
	Key            string // unique, and the name of the figure in the JSON of a comparison
	Head           string // in tables, without the unit
	Unit           Unit
	Compared       bool // by a comparison of runs
	HigherIsBetter bool
	// Value takes a window of the step; NaN where it is not known.
	Value func(*result.Step, *result.Figures) float64
}

// Title is the head with its unit: "TTFT p99 (ms)".
func (c Column) Title() string {
	if unit := c.Unit.Shown(); unit != "" {
		return c.Head + " (" + unit + ")"
	}
	return c.Head
}

// text is the figure of a window, - where it is not known or there is no such window.
func (c Column) text(s *result.Step, window *result.Figures) string {
	if window == nil {
		return unknown
	}
	return c.Unit.Text(c.Value(s, window))
}

// StepColumns are figures of a step as a whole: what became of its requests, how far
// its figures can be trusted, and the cards.
func StepColumns() []Column { return slices.Concat(requestColumns, checkColumns, cardColumns) }

// WindowColumns are figures of one window of a step: rates, then for each latency the
// number of samples, the mean, the given percentiles and the maximum.
func WindowColumns(percentiles []float64) []Column {
	columns := slices.Clone(rateColumns)
	for _, m := range result.Measures() {
		if m.Kind != result.Length {
			columns = append(columns, measureColumns(m, percentiles)...)
		}
	}
	return columns
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
	{Key: "attempted", Head: "requests", Unit: Count, Value: stepValue(func(s *result.Step) float64 { return float64(s.Account.Attempted) })},
	{Key: "failure_ratio", Head: "failures", Unit: Share, Compared: true, Value: stepValue(func(s *result.Step) float64 { return s.Account.FailureRatio() })},
}

var checkColumns = []Column{
	{Key: "achieved_concurrency", Head: "in flight, steady mean", Value: stepValue(func(s *result.Step) float64 { return s.Checks.Achieved })},
	{Key: "achieved_rate", Head: "rate achieved", Unit: RequestRate, Value: stepValue(func(s *result.Step) float64 { return s.Checks.AchievedRate })},
	{Key: "client_lag_p99", Head: "client lag p99", Unit: Milliseconds, Value: stepValue(func(s *result.Step) float64 { return percentile(s.Checks.ClientLag, 99) })},
	{Key: "kernel_clock_ratio", Head: "kernel time stamps", Unit: Share, Value: stepValue(func(s *result.Step) float64 { return s.Checks.KernelClock })},
	{Key: "client_cpu_cores", Head: "client CPU cores", Value: nonZero(func(s *result.Step) float64 { return s.Checks.ClientCPU })},
	{Key: "resent", Head: "sent again", Unit: Count, Value: nonZero(func(s *result.Step) float64 { return float64(s.Checks.Resent) })},
	{Key: "new_connections", Head: "new connections", Unit: Count, Value: stepValue(func(s *result.Step) float64 { return float64(s.Checks.NewConnections) })},
	{Key: "prefix_cache_hit_ratio", Head: "prefix cache hits", Unit: Share, Value: stepValue(cacheHits)},
	{Key: "tokens_per_chunk", Head: "tokens a chunk", Value: nonZero(func(s *result.Step) float64 { return s.Checks.Tokens.PerChunk() })},
	{Key: "skipped_records", Head: "skipped records", Unit: Count, Value: nonZero(func(s *result.Step) float64 { return float64(s.Dataset.Skipped + s.Dataset.TooLong) })},
	{Key: "dataset_begun_again", Head: "data set begun again", Unit: Count, Value: nonZero(func(s *result.Step) float64 { return float64(s.Dataset.Passes) })},
}

var cardColumns = []Column{
	{Key: "card_utilization_ratio", Head: "cards' utilization", Unit: Share, Value: stepValue(cardUtilization)},
	{Key: "card_power_watts", Head: "cards' power (W)", Value: stepValue(cardWatts)},
	{Key: "card_temperature_celsius", Head: "hottest card (°C)", Value: stepValue(hottestCard)},
	{Key: "joules_per_output_token", Head: "energy", Unit: JoulesPerToken, Compared: true, Value: stepValue(joulesPerToken)},
}

var rateColumns = []Column{
	{Key: "duration", Head: "duration", Unit: Seconds, Value: windowValue(func(f *result.Figures) float64 { return f.Window.Duration().Seconds() })},
	{Key: "request_throughput", Head: "requests", Unit: RequestRate, Compared: true, HigherIsBetter: true, Value: windowValue(func(f *result.Figures) float64 { return f.RequestThroughput })},
	{Key: "goodput", Head: "good requests", Unit: RequestRate, Compared: true, HigherIsBetter: true, Value: windowValue(func(f *result.Figures) float64 { return valueOrNaN(f.Goodput) })},
	{Key: "good_ratio", Head: "good", Unit: Share, Value: windowValue(goodRatio)},
	{Key: "prompt_tokens", Head: "prompt tokens", Unit: Count, Value: windowValue(func(f *result.Figures) float64 { return float64(f.PromptTokens) })},
	{Key: "output_tokens", Head: "output tokens", Unit: Count, Value: windowValue(func(f *result.Figures) float64 { return float64(f.OutputTokens) })},
	{Key: "output_throughput", Head: "output", Unit: TokenRate, Compared: true, HigherIsBetter: true, Value: windowValue(func(f *result.Figures) float64 { return f.OutputThroughput })},
	{Key: "total_throughput", Head: "prompt and output", Unit: TokenRate, Value: windowValue(func(f *result.Figures) float64 { return f.TotalThroughput })},
	{Key: "peak_output_throughput", Head: "peak output", Unit: TokenRate, Value: windowValue(func(f *result.Figures) float64 { return f.PeakOutputThroughput })},
	{Key: "peak_concurrency", Head: "most in flight", Unit: Count, Value: windowValue(func(f *result.Figures) float64 { return float64(f.PeakConcurrency) })},
}

// measureColumns are the figures of a measure: the number of samples, the mean, the
// percentiles and the maximum.
func measureColumns(m result.Measure, percentiles []float64) []Column {
	return slices.Concat([]Column{
		measureColumn(m, "samples", func(d result.Distribution) float64 { return float64(d.Count) }),
		measureColumn(m, "mean", func(d result.Distribution) float64 { return d.Mean }),
	}, percentileColumns(m, percentiles), []Column{
		measureColumn(m, "max", func(d result.Distribution) float64 { return d.Max }),
	})
}

// percentileColumns are what a comparison has of the main measures.
func percentileColumns(m result.Measure, percentiles []float64) []Column {
	var columns []Column
	for _, p := range percentiles {
		c := measureColumn(m, percentileName(p), func(d result.Distribution) float64 { return percentile(d, p) })
		c.Compared = m.Main
		columns = append(columns, c)
	}
	return columns
}

func measureColumn(m result.Measure, name string, value func(result.Distribution) float64) Column {
	unit := Milliseconds
	switch {
	case name == "samples":
		unit = Count
	case m.Kind == result.Length:
		unit = Number
	}
	return Column{
		Key: string(m.Key) + "_" + name, Head: m.Name + " " + name, Unit: unit,
		Value: func(_ *result.Step, f *result.Figures) float64 {
			return orNaN(f.Of(m.Key).Count > 0, value(f.Of(m.Key)))
		},
	}
}

func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'f', -1, 64) }

// percentile is NaN where the distribution does not hold it.
func percentile(d result.Distribution, p float64) float64 {
	v, held := d.At(p)
	return orNaN(held && d.Count > 0, v)
}

func stepValue(value func(*result.Step) float64) func(*result.Step, *result.Figures) float64 {
	return func(s *result.Step, _ *result.Figures) float64 { return value(s) }
}

// nonZero is NaN where it is 0, which is not worth a line.
func nonZero(value func(*result.Step) float64) func(*result.Step, *result.Figures) float64 {
	return func(s *result.Step, _ *result.Figures) float64 { return orNaN(value(s) != 0, value(s)) }
}

func windowValue(value func(*result.Figures) float64) func(*result.Step, *result.Figures) float64 {
	return func(_ *result.Step, f *result.Figures) float64 { return value(f) }
}

// orNaN is v where it is known.
func orNaN(known bool, v float64) float64 {
	if known {
		return v
	}
	return math.NaN()
}

func cacheHits(s *result.Step) float64 { return orNaN(s.Checks.CacheKnown, s.Checks.CacheHitRatio()) }

func joulesPerToken(s *result.Step) float64 {
	v, known := s.JoulesPerToken()
	return orNaN(known, v)
}

func valueOrNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func goodRatio(f *result.Figures) float64 {
	v, known := f.GoodRatio()
	return orNaN(known, v)
}

// servingCards are the cards that serve the endpoint; all of them where none is known to.
func servingCards(s *result.Step) []result.Card {
	if known := s.Serving(); len(known) > 0 {
		return known
	}
	return s.Cards
}

// cardUtilization is the mean over the cards that serve.
func cardUtilization(s *result.Step) float64 {
	return stat.Mean(cardValues(s, func(c result.Card) float64 { return gaugeMean(c.Utilization) }), nil)
}

// cardWatts is the sum over the cards that serve: of too few it would be too small.
func cardWatts(s *result.Step) float64 {
	return orNaN(len(s.Cards) > 0, floats.Sum(cardValues(s, func(c result.Card) float64 { return gaugeMean(c.Watts) })))
}

func hottestCard(s *result.Step) float64 {
	return slices.Max(append(cardValues(s, func(c result.Card) float64 { return gaugeMax(c.Celsius) }), math.Inf(-1)))
}

func cardValues(s *result.Step, value func(result.Card) float64) []float64 {
	var all []float64
	for _, c := range servingCards(s) {
		all = append(all, value(c))
	}
	return all
}

func gaugeMean(g result.Gauge) float64 { return orNaN(g.Samples > 0, g.Mean) }

func gaugeMax(g result.Gauge) float64 { return orNaN(g.Samples > 0, g.Max) }
