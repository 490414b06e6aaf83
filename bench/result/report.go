// Package result turns the logs of load tests into figures.
package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Report is what is known of one run, or of several that were one load.
type Report struct {
	Runs        []runlog.Run      // one for each log
	Steps       []Step            // in the order in which they were run
	Complete    bool              // false when a log has no end: its run was killed
	Damaged     int               // lines that could not be read, such as the last of such a run
	NotRun      []string          // names of the steps that the first run had planned and did not come to
	Objectives  runlog.Objectives // those that the goodput was counted by
	Percentiles []float64         // that were asked for, in the order given, or 99
}

// Step is the report of one load level.
type Step struct {
	runlog.Step   `json:"load"` // Concurrency, MaxConcurrency, Rate and Requests of all machines
	Label         runlog.Label  `json:"name"`
	Conversations int           `json:"conversations,omitempty"`   // begun, 0 of a load that is none
	TurnsNotSent  int           `json:"turns_not_sent,omitempty"`  // of conversations that ended before
	AtModelLength int           `json:"at_model_length,omitempty"` // conversations that ended at the model's length
	Machines      int           `json:"machines"`                  // logs that took part
	// ClocksWithin is how far the clocks of machines that were led may be apart, in seconds; 0 of one machine.
	ClocksWithin float64        `json:"clocks_within,omitempty"`
	Lost         []int          `json:"lost,omitempty"` // ranks of machines that were lost during the step
	Void         *Void          `json:"void,omitempty"` // nil where the load was what was asked for
	Account      runlog.Account `json:"account"`
	// FailedAs is what the first failure of each reason said: the HTTP status and the server's or system's words.
	FailedAs map[openai.Reason]string `json:"failed_as,omitempty"`
	Stop     runlog.Stop              `json:"stop"`  // empty when the log ended before the step did
	Whole    Figures                  `json:"whole"` // of the whole step, ramp and drain included
	// Steady is without ramp and drain, see [Window]. Nil when the load never was
	// steady, with the reason in NotSteady, a clause such as "no request succeeded".
	Steady      *Figures            `json:"steady"`
	NotSteady   string              `json:"not_steady,omitempty"`
	Percentiles []float64           `json:"-"`               // the report's
	Turns       []Turn              `json:"turns,omitempty"` // of Steady where there is one
	Cache       *Cache              `json:"cache,omitempty"` // nil where nothing is known
	Checks      Checks              `json:"checks"`
	Dataset     runlog.DatasetCount `json:"dataset"`
	Cards       []Card              `json:"cards"`  // as sampled during the step, empty without an exporter
	Joules      Value               `json:"joules"` // of Serving during Whole
	Server      *ServerSample       `json:"server"` // nil without the server's metrics
	// Objectives are what a search for the capacity goes by, or what the step is judged by: of Steady where there is one.
	Objectives []ObjectiveResult `json:"-"`
	Warnings   []string          `json:"warnings"` // one sentence each: what makes a figure doubtful, and what to do
	// ClientLimit says how the load generator was what limited the step, Short by how much
	// the load was less than the step is named by: clauses, empty where it was not.
	ClientLimit string   `json:"-"`
	Short       string   `json:"-"`
	Timeline    Timeline `json:"-"`
	// SLO are Objectives of a run that is judged by them.
	SLO []ObjectiveResult `json:"slo,omitempty"`
}

// SteadyOrWhole are the figures of the steady part where there is one, else of the whole step.
func (s *Step) SteadyOrWhole() *Figures { return cmp.Or(s.Steady, &s.Whole) }

// JoulesPerToken is the energy of an output token.
func (s *Step) JoulesPerToken() Value {
	if s.Whole.OutputTokens <= 0 {
		return Unknown()
	}
	return s.Joules / Value(s.Whole.OutputTokens)
}

// Figures are the figures of one window. Rates count what happened inside it;
// latencies are those of the requests sent inside it, whenever they ended.
type Figures struct {
	Window    Window         `json:"window"`
	Account   runlog.Account `json:"account"`   // of the requests sent inside the window
	Completed int            `json:"completed"` // successful requests that ended inside it
	// PromptTokens are of Completed. OutputTokens are those of successful requests that came
	// inside the window, each chunk being taken to bring the same share.
	PromptTokens int64 `json:"prompt_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// The throughputs are a second of the window.
	RequestThroughput float64 `json:"request_throughput"` // Completed
	OutputThroughput  float64 `json:"output_throughput"`  // tokens
	TotalThroughput   float64 `json:"total_throughput"`   // prompt and output tokens
	// Goodput and Good are not known without objectives.
	Goodput Value `json:"goodput,omitzero"` // good requests that ended inside the window, a second
	Good    Value `json:"good,omitzero"`    // good requests of Account
	// PeakOutputThroughput is the most output tokens in any second of the window, or their
	// mean where that is more, as in a window of less than a second.
	PeakOutputThroughput float64       `json:"peak_output_throughput"`
	PeakConcurrency      int           `json:"peak_concurrency"` // the most requests, or conversations, in flight at once
	Distributions        Distributions `json:"distributions"`
}

// Void is why a step says nothing of the server.
type Void struct {
	Reason string `json:"reason"`
	Ranks  []int  `json:"ranks"` // of machines
}

// Distributions are by the key of their [Measure]; one without samples is missing.
type Distributions map[Key]Distribution

// GoodRatio is the share of good requests among those of Account that ended by themselves: a failed one is not good.
func (f *Figures) GoodRatio() Value { return f.Good / Value(f.Account.Succeeded+f.Account.Failures()) }

// Of is the distribution of a measure, without samples where there were none.
func (f *Figures) Of(key Key) Distribution { return f.Distributions[key] }

// median is in seconds, 0 without samples.
func (f *Figures) median(key Key) float64 {
	p, _ := f.Of(key).At(median)
	return p.Value
}

// ObjectiveResult is a figure of a step that has an objective.
type ObjectiveResult struct {
	openai.Objective
	Value Value `json:"value"` // in seconds, of failures a share
	// AtLeast is true where Value falls among requests that were still waiting when they ended.
	AtLeast bool  `json:"at_least,omitempty"`
	Met     bool  `json:"met"` // Value is known, and within its limit
	Error   Value `json:"-"`   // half of the 95 % confidence interval
}

// Excess is the figure over its limit: more than 1 is a miss. It is infinite where requests
// never got what the objective bounds, however short they waited.
func (r ObjectiveResult) Excess() float64 {
	if r.AtLeast {
		return math.Inf(1)
	}
	return float64(r.Value) / r.Limit
}

// objectiveResults are the figures of a window that have objectives, and the share of failures.
func objectiveResults(objectives []openai.Objective, f *Figures, failures *runlog.Account) []ObjectiveResult {
	var all []ObjectiveResult
	for _, o := range objectives {
		r := ObjectiveResult{Objective: o, Value: Unknown(), Error: Unknown()}
		if n := float64(failures.Succeeded + failures.Failures()); o.Measure == openai.Failures && n > 0 {
			share := failures.FailureRatio()
			r.Value, r.Error = Value(share), Value(confidence*math.Sqrt(share*(1-share)/n))
		} else if p, ok := f.Of(o.Measure).At(o.Percentile); ok {
			r.Value, r.AtLeast, r.Error = Value(p.Value), p.AtLeast, p.Error
		}
		r.Met = r.Excess() <= 1
		all = append(all, r)
	}
	return all
}

// assumedBlock is how many tokens a block of a prefix cache has where nothing tells, as in vLLM on most cards.
const assumedBlock = 16

// Cache says how many of the prompts' tokens a prefix cache could have served, and did. What is not known is nil.
type Cache struct {
	BlockSize    int  `json:"block_size"`         // tokens
	BlockAssumed bool `json:"block_size_assumed"` // neither the server nor the user named it
	// Possible is what a perfect cache would have served, in whole blocks and by the order of sending. Usage is by
	// that of the answers. Server is by the server's counters, where they are of this program's requests alone.
	Possible *Hits `json:"possible"`
	Usage    *Hits `json:"usage"`
	Server   *Hits `json:"server"`
}

// Hits are tokens of prompts that came from a prefix cache, of so many.
type Hits struct {
	Tokens int64   `json:"tokens"`
	Of     int64   `json:"of"`
	Ratio  float64 `json:"ratio"`
}

func newHits(tokens, of int64) *Hits {
	if of == 0 {
		return nil
	}
	return &Hits{Tokens: tokens, Of: of, Ratio: float64(tokens) / float64(of)}
}

// newCache is nil where nothing is known. Only whole blocks are possible, without a prompt's last token, which is
// always computed. The usage of vLLM leaves out 0 hits: such prompts count too.
func (d *stepData) newCache() *Cache {
	run := &d.parts[0].run
	c := Cache{BlockSize: cmp.Or(run.BlockSize, assumedBlock), BlockAssumed: run.BlockSize == 0}
	if c.BlockAssumed && slices.ContainsFunc(d.requests, func(q request) bool { return q.cached%assumedBlock != 0 }) {
		c.BlockSize = 1 // as llama.cpp, whose cache knows no blocks
	}
	if d.prefixesKnown() {
		tokens, prompts := 0, 0
		for i := range d.requests {
			q := &d.requests[i]
			tokens += max(0, min(q.shared, q.prompt-1)) / c.BlockSize * c.BlockSize
			prompts += q.prompt
		}
		c.Possible = newHits(int64(tokens), int64(prompts))
	}
	if d.Checks.CacheKnown {
		c.Usage = newHits(d.Checks.CachedTokens, d.Checks.PromptTokens)
	}
	if v := d.Server; v != nil && v.TTFTOurs && v.PrefixHits.Known() && v.PrefixQueries.Known() {
		c.Server = newHits(int64(v.PrefixHits), int64(v.PrefixQueries))
	}
	if c.Possible == nil && c.Served() == nil {
		return nil
	}
	return &c
}

// prefixesKnown reports whether the requests have all of [runlog.Request.SharedTokens]. Of prompts that an earlier
// step sent too, or of a file whose texts nobody counted, only a part is in it.
func (d *stepData) prefixesKnown() bool {
	run := &d.parts[0].run
	switch kind := dataset.Kind(run.Dataset); {
	case kind == dataset.Replay:
		return true
	case run.DatasetPath == "":
		isMade := kind == dataset.MultiTurn || kind == dataset.Prefix || kind == dataset.Random
		return isMade && (!run.ReusePrompts || d.Index == 0)
	case kind == dataset.MultiTurn:
		return d.Stop != "" && d.Dataset.SharedUnknown == 0
	}
	return run.ReusePrompts && d.Dataset.SharedUnknown == 0 &&
		slices.ContainsFunc(d.requests, func(q request) bool { return q.shared > 0 })
}

// Served is by the usage of each request, or else by the server's counters.
func (c *Cache) Served() *Hits {
	if c == nil {
		return nil
	}
	return cmp.Or(c.Usage, c.Server)
}
