package result

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Key is a [Measure]'s name in JSON and CSV.
type Key string

// The measures that are told of by name.
const (
	TTFT           Key = "ttft"         // until the first text
	FirstAnswer    Key = "first_answer" // until the first text that is not reasoning
	TPOT           Key = "tpot"
	ITL            Key = "itl" // gaps between chunks of text
	E2E            Key = "e2el"
	E2EFromPlanned Key = "e2el_from_planned" // from when the request was due
	Queue          Key = "client_queue"      // waiting under a bound on concurrency
	Lateness       Key = "lateness"          // of the client itself
	Setup          Key = "setup"             // resolve, connect and TLS, of new connections
	PromptLength   Key = "prompt_length"
	OutputLength   Key = "output_length"
)

// Kind says what a [Measure]'s samples are.
type Kind int

// The kinds, in the order in which JSON has them.
const (
	Latency Kind = iota
	FromDue      // a latency from when the request was due, the wait in this program included
	Client       // a wait of this program's own
	Length       // tokens
)

// Measure is one distribution of [Figures]. All kinds but [Length] are in seconds.
type Measure struct {
	Key  Key
	Name string // in tables
	Kind Kind
	// Main measures are in every table, in comparisons and in the picture of latencies.
	Main   bool
	sample func(*samples, *sent)
}

// Measures are all there are, in the order of tables. A row here is all that a new one
// takes, unless it has an objective, see [Objectives.Of].
func Measures() []Measure {
	return []Measure{
		{TTFT, "TTFT", Latency, true, once(openai.TTFT)},
		{"ttft_from_planned", "TTFT from due", FromDue, false, fromDue(openai.TTFT)},
		{FirstAnswer, "first answer", Latency, false, once(openai.FirstAnswer)},
		{TPOT, "TPOT", Latency, true, once(openai.TPOT)},
		{ITL, "ITL", Latency, true, each(openai.ITLs)},
		{"token_itl", "ITL a token", Latency, false, each(openai.TokenITLs)},
		{E2E, "E2E", Latency, true, once(openai.E2E)},
		{E2EFromPlanned, "E2E from due", FromDue, false, fromDue(openai.E2E)},
		{Queue, "client queue", Client, false, queueTime},
		{Lateness, "client lateness", Client, false, func(s *samples, r *sent) { s.add(int64(r.late - r.Queued)) }},
		{Setup, "connection set-up", Client, false, setupTime},
		{PromptLength, "prompt", Length, false, promptLength},
		{OutputLength, "output", Length, false, outputLength},
	}
}

// Main are the measures that every table, comparison and picture of latencies has.
func Main() []Measure {
	return slices.DeleteFunc(Measures(), func(m Measure) bool { return !m.Main })
}

// ShownFor reports whether tables of a step show the measure. What there is no sample
// of is left out, and what repeats another: latencies from when a request was due in a
// closed loop, first answers where no model reasons.
func (m Measure) ShownFor(s *Step) bool {
	d := s.Whole.Of(m.Key)
	switch {
	case m.Kind == FromDue && s.Arrival == runlog.ArrivalClosed:
		return false
	case m.Key == FirstAnswer:
		first := s.Whole.Of(TTFT)
		return d.Count > 0 && (d.Count != first.Count || d.Mean != first.Mean)
	}
	return d.Count > 0
}

// unit is how many of a sample's units make one of the report's: samples are kept as
// integers, of nanoseconds or of tokens.
func (m Measure) unit() float64 {
	if m.Kind == Length {
		return perToken
	}
	return perSecond
}

// sent is a request that was sent.
type sent struct {
	*runlog.Request
	late    time.Duration // since it was due
	bounded bool          // requests wait in this program for their turn
}

// once samples what is there once for a request.
func once(of func(*openai.Trace) (time.Duration, bool)) func(*samples, *sent) {
	return func(s *samples, r *sent) {
		if d, ok := of(&r.Trace); ok {
			s.add(int64(d))
		}
	}
}

func fromDue(of func(*openai.Trace) (time.Duration, bool)) func(*samples, *sent) {
	return func(s *samples, r *sent) {
		if d, ok := of(&r.Trace); ok {
			s.add(int64(d + r.late))
		}
	}
}

func each(of func(*openai.Trace) []time.Duration) func(*samples, *sent) {
	return func(s *samples, r *sent) {
		for _, d := range of(&r.Trace) {
			s.add(int64(d))
		}
	}
}

func queueTime(s *samples, r *sent) {
	if r.bounded {
		s.add(int64(r.Queued))
	}
}

func setupTime(s *samples, r *sent) {
	if p := &r.Trace.Phases; madeConnection(&r.Trace) {
		s.add(int64(p.Resolve + p.Connect + p.TLS))
	}
}

func promptLength(s *samples, r *sent) {
	if n := promptTokens(r.Request); n > 0 && r.Trace.Failure == nil {
		s.add(int64(n))
	}
}

func outputLength(s *samples, r *sent) {
	if r.Trace.Failure == nil {
		tokens, _ := openai.OutputTokens(&r.Trace)
		s.add(int64(tokens))
	}
}

// madeConnection reports whether the request had to make its own connection, and got
// it.
func madeConnection(t *openai.Trace) bool { return !t.Reused && t.Phases.Connect > 0 }

// promptTokens is the length of the prompt as the server counted it, else as the
// dataset made it, 0 when neither tells.
func promptTokens(r *runlog.Request) int {
	if u := r.Trace.Usage; u != nil && u.PromptTokens > 0 {
		return u.PromptTokens
	}
	return r.ExpectedTokens
}

// recorder keeps the samples of the requests that were sent in some span.
type recorder struct {
	measures []Measure
	samples  []samples // of each measure
	one      sent      // the request that is taken
}

func newRecorder(limit int) *recorder {
	all := Measures()
	r := &recorder{measures: all, samples: make([]samples, len(all))}
	for i := range r.samples {
		r.samples[i].limit = limit
	}
	return r
}

// take adds all samples that a request gives.
func (c *recorder) take(r *runlog.Request, bounded bool) {
	late := max(0, r.Trace.Started.Sub(planned(&r.Trace)))
	c.one = sent{r, late, bounded}
	for i := range c.measures {
		c.measures[i].sample(&c.samples[i], &c.one)
	}
}

// join adds the samples of o, which is of no more use then.
func (c *recorder) join(o *recorder) {
	for i := range c.samples {
		c.samples[i].join(&o.samples[i])
		o.samples[i] = samples{}
	}
}

// p99 is in seconds. It is of a distribution that was summed up.
func (c *recorder) p99(key Key) (seconds float64, ok bool) {
	return c.samples[c.index(key)].p99()
}

// index is where a measure's samples are, -1 for one that is not known.
func (c *recorder) index(key Key) int {
	return slices.IndexFunc(c.measures, func(m Measure) bool { return m.Key == key })
}

func (c *recorder) distributions(ps []float64) Distributions {
	all := Distributions{}
	for i, m := range c.measures {
		if c.samples[i].n > 0 {
			all[m.Key] = c.samples[i].distribution(ps, m.unit())
		}
	}
	return all
}

// Of is the distribution of a measure, without samples where there were none.
func (f *Figures) Of(key Key) Distribution { return f.Distributions[key] }

// MarshalJSON writes the distributions behind the other figures, each by its key.
func (f Figures) MarshalJSON() ([]byte, error) {
	type plain Figures
	text, err := json.Marshal(plain(f))
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(text, []byte("}")))
	all := Measures()
	slices.SortStableFunc(all, func(a, b Measure) int { return int(a.Kind - b.Kind) })
	for _, m := range all {
		d, err := json.Marshal(f.Of(m.Key))
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"` + string(m.Key) + `":`)
		b.Write(d)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
