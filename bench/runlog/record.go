// Package runlog keeps what a load test saw: one JSON line for each request, in
// the order in which they ended, between lines that say what was asked for.
// Reports are made from it and from nothing else, so that they can be made
// again, merged over several machines, and compared.
//
// A log is a file traces.jsonl in a folder of its own. Its lines are written as
// the run goes: a run that is killed loses the requests in flight and nothing
// else. Every line is a JSON object with one key, the kind of the record, and on
// several machines the rank; a reader passes over kinds and keys that it does not
// know. [openai.Trace.MarshalJSON] tells how a request's trace is written.
package runlog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Schema is the version of the format that this package writes and up to which it reads.
const Schema = 1

// FileName is the name of the log in its folder.
const FileName = "traces.jsonl"

// Record is one line: beside Rank, which says whose it is, exactly one of its fields is set.
type Record struct {
	Rank    int      `json:"rank,omitempty"`     // as [Run] has it: the log of a leader has the lines of all machines
	Run     *Run     `json:"run,omitempty"`      // the machine's first line
	Step    *Step    `json:"step,omitempty"`     // before the first request of a step
	Request *Request `json:"request,omitempty"`  // when a request has ended
	Sample  *Sample  `json:"sample,omitempty"`   // of the cards or of the server, during a step
	StepEnd *StepEnd `json:"step_end,omitempty"` // after the last request of a step
	RunEnd  *RunEnd  `json:"run_end,omitempty"`  // its last line
}

// Run says what was run, where and against what.
type Run struct {
	Schema       int        `json:"schema"`
	ID           string     `json:"id"` // random, 16 hex digits
	Started      time.Time  `json:"started"`
	Host         string     `json:"host"`    // of the load generator
	Version      string     `json:"version"` // of accelbench
	Command      []string   `json:"command"` // secrets left out
	URL          string     `json:"url"`     // base URL of the endpoint, without credentials
	API          openai.API `json:"api"`
	Model        string     `json:"model"`
	ModelPath    string     `json:"model_path,omitempty"`   // the model's own name where it is served under another
	Dataset      string     `json:"dataset"`                // its kind: openqa, sharegpt, random, …
	DatasetPath  string     `json:"dataset_path,omitempty"` // its file, empty where it has none
	Seed         uint64     `json:"seed"`
	ReusePrompts bool       `json:"reuse_prompts,omitempty"` // prompts were sent as they are, also again
	BlockSize    int        `json:"block_size,omitempty"`    // tokens of a block of the server's prefix cache, 0 where not known
	// TemplateTokens is what the server adds to a made prompt, such as its chat template, 0 where not known.
	TemplateTokens int `json:"template_tokens,omitempty"`
	// Backend and Metadata are what vLLM's command line calls so; they are only kept.
	Backend  string            `json:"backend,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Objectives and Percentiles are those that were asked for, none where the usual ones were meant.
	Objectives  Objectives `json:"objectives,omitempty"`
	Percentiles []float64  `json:"percentiles,omitempty"`
	Capacity    *Capacity  `json:"capacity,omitempty"` // what chose the steps, nil where they were given
	// SLO are what each step is judged by, none where nothing was asked for.
	SLO []openai.Objective `json:"slo,omitempty"`
	// Side names what is compared, and Server is the process that was started for it, nil where none was.
	Side       string   `json:"side,omitempty"`
	Server     *Server  `json:"server,omitempty"`
	Steps      []string `json:"steps,omitempty"` // the names of all that were planned, see [Label]
	GOMAXPROCS int      `json:"gomaxprocs"`      // cores that the load generator could use
	// Rank and Machines say which of the machines of one load this is, from 0; 0 and 0 of a load of one. All of them have
	// the whole load's steps. AllowFewer is true where those that are left go on when one is lost.
	Rank       int  `json:"rank,omitempty"`
	Machines   int  `json:"machines,omitempty"`
	AllowFewer bool `json:"allow_fewer,omitempty"`
}

// Server is a process that was started to be put under load. What is not known is empty.
type Server struct {
	Command string `json:"command"`           // what binds the server, such as numactl and its flags
	Binding string `json:"binding,omitempty"` // of a comparison of bindings, in words, such as bound to node 0
}

// Arrival says how the requests of a step come.
type Arrival string

// The arrivals.
const (
	ArrivalClosed   Arrival = "closed"   // so many users, each waits for its answer
	ArrivalBurst    Arrival = "burst"    // all at once: an infinite rate
	ArrivalConstant Arrival = "constant" // equal gaps
	ArrivalPoisson  Arrival = "poisson"  // exponential gaps: burstiness 1
	ArrivalGamma    Arrival = "gamma"    // gaps of a gamma distribution
	ArrivalReplay   Arrival = "replay"   // at the instants of the data set
)

// Step is one load at one level: an element of a sweep, or one repeat of it.
type Step struct {
	Index       int       `json:"index"` // in the run, from 0
	Started     time.Time `json:"started"`
	Arrival     Arrival   `json:"arrival"`
	Concurrency int       `json:"concurrency,omitempty"` // users of a closed loop, 0 of any other
	// MaxConcurrency bounds the requests in flight, of a closed loop too; 0 for no bound.
	MaxConcurrency int     `json:"max_concurrency,omitempty"`
	Rate           float64 `json:"rate,omitempty"`       // arrivals a second of an open loop with gaps
	Burstiness     float64 `json:"burstiness,omitempty"` // the shape of gamma gaps: 1 is Poisson, less is burstier
	// Requests and Duration say when requests stop coming, 0 for no limit of that kind. Those
	// of an open loop that are due within Duration are all sent, later where they have to wait.
	Requests        int           `json:"requests,omitempty"`
	Duration        time.Duration `json:"duration_ns,omitempty"`
	RampUp          time.Duration `json:"ramp_up_ns,omitempty"`
	Timeout         time.Duration `json:"timeout_ns,omitempty"`        // of one request, 0 for none
	MaxFailureRatio float64       `json:"max_failure_ratio,omitempty"` // stops the step early, 0 for never
	Warmups         int           `json:"warmups,omitempty"`           // requests before the step, in none of its figures
	Repeat          int           `json:"repeat,omitempty"`            // from 0
	Clock           *Clock        `json:"clock,omitempty"`             // of a machine that is led, nil of others
}

// Clock is how a machine's clock stood to its leader's before a step. The log's instants are the leader's.
type Clock struct {
	Offset      time.Duration `json:"offset_ns"` // to be added to the machine's clock
	Uncertainty time.Duration `json:"uncertainty_ns"`
}

// Request is one request that has ended, well or not.
type Request struct {
	Step int `json:"step"` // [Step.Index]
	Seq  int `json:"seq"`  // in the step, from 0, in the order of planning
	// Queued is how long the request waited in this program under Step.MaxConcurrency.
	// Trace.Started − Trace.Planned − Queued is how late the client itself was.
	Queued time.Duration `json:"queued_ns,omitempty"`
	// Never is true when the request was withdrawn before it was sent: its Trace has no instants.
	Never          bool `json:"never,omitempty"`
	ExpectedTokens int  `json:"expected_tokens,omitempty"` // the prompt's exact length where it was made so
	AimedTokens    int  `json:"aimed_tokens,omitempty"`    // the length asked for, where it is only about that
	Turn           int  `json:"turn,omitempty"`            // of conversation Seq, from 1; 0 of none
	// SharedTokens are tokens at the prompt's start that one sent before had too, as far as is known.
	SharedTokens int          `json:"shared_tokens,omitempty"`
	Trace        openai.Trace `json:"trace"`
}

// Reason is why the request failed, empty for one that succeeded.
func (q *Request) Reason() openai.Reason {
	if q.Trace.Failure == nil {
		return ""
	}
	return q.Trace.Failure.Reason
}

// Source says what a Sample was taken from.
type Source string

// The sources.
const (
	SourceExporter Source = "exporter" // accelerator_exporter: the cards
	SourceServer   Source = "server"   // the model server's own metrics
	SourceClient   Source = "client"   // this program: process_cpu_seconds_total
)

// Sample is what one scrape of one source showed: the series that a report needs.
type Sample struct {
	Step   int       `json:"step"`
	At     time.Time `json:"at"`
	Source Source    `json:"source"`
	Series []Series  `json:"series"`
}

// Series is one value of a [Sample], of a histogram its _sum, its _count or a _bucket.
type Series struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Value  float64           `json:"value"`
}

// Stop says why a step stopped.
type Stop string

// The stops.
const (
	StopRequests     Stop = "requests"      // all requests were sent
	StopDuration     Stop = "duration"      // the time was up
	StopDataset      Stop = "dataset"       // a trace or file came to its end, or the dataset failed
	StopFailureRatio Stop = "failure_ratio" // too many requests failed
	StopInterrupted  Stop = "interrupted"   // the user withdrew the run
	StopUnreachable  Stop = "unreachable"   // none of the last requests came as far as the server
	StopVoid         Stop = "void"          // a machine was lost, so the load was not what was asked for
)

// Early reports whether the stop ends a whole run: more load would only show the same.
func (s Stop) Early() bool {
	return s == StopFailureRatio || s == StopUnreachable || s == StopInterrupted || s == StopVoid
}

// Account says what became of every request. Attempted is the sum of the others.
type Account struct {
	Attempted int                   `json:"attempted"`
	Succeeded int                   `json:"succeeded"`
	Canceled  int                   `json:"canceled"`
	Failed    map[openai.Reason]int `json:"failed,omitempty"` // by reason, openai.ReasonCanceled not among them
	// Unknown are requests of a machine that was lost before it could say what became of them.
	Unknown int `json:"unknown,omitempty"`
}

// Count counts a request that failed for a reason, empty for one that succeeded.
func (a *Account) Count(why openai.Reason) {
	a.Attempted++
	switch why {
	case "":
		a.Succeeded++
	case openai.ReasonCanceled:
		a.Canceled++
	default:
		if a.Failed == nil {
			a.Failed = map[openai.Reason]int{}
		}
		a.Failed[why]++
	}
}

// Failures is the number of failed requests of every reason.
func (a Account) Failures() int { return a.Attempted - a.Succeeded - a.Canceled - a.Unknown }

// FailureRatio is the share of failed requests among those not canceled, 0 for none.
func (a Account) FailureRatio() float64 {
	if n := a.Succeeded + a.Failures(); n > 0 {
		return float64(a.Failures()) / float64(n)
	}
	return 0
}

// Reasons are those of the failures, in alphabetical order.
func (a Account) Reasons() []openai.Reason { return slices.Sorted(maps.Keys(a.Failed)) }

// StepEnd ends a step. Its account is counted apart from the requests' lines, each of which
// was attempted, so that one can be checked against the other.
type StepEnd struct {
	Step  int       `json:"step"`
	Ended time.Time `json:"ended"`
	Stop  Stop      `json:"stop"`
	Lost  []int     `json:"lost,omitempty"` // ranks that were lost by then, in the leader's
	Account
	Dataset DatasetCount `json:"dataset"`
	// TurnsNotSent are those of conversations that ended before: with a failed turn, with
	// the step's time, or at the model's length, as AtModelLength of them did.
	TurnsNotSent  int `json:"turns_not_sent,omitempty"`
	AtModelLength int `json:"at_model_length,omitempty"`
}

// DatasetCount says how a dataset was read.
type DatasetCount struct {
	Prompts   int `json:"prompts"`          // given out
	Passes    int `json:"passes,omitempty"` // times the file was begun again
	TooLong   int `json:"too_long,omitempty"`
	Skipped   int `json:"skipped,omitempty"`   // right but not wanted, such as too short
	Estimated int `json:"estimated,omitempty"` // prompts whose answer's length was estimated from a text
	// SharedUnknown are prompts that may share a start with earlier ones, whose tokens the server did not count.
	SharedUnknown int  `json:"shared_unknown,omitempty"`
	Cut           bool `json:"cut,omitempty"` // a trace goes on behind the last prompt that was asked for
}

// Add adds what another data set counted.
func (c *DatasetCount) Add(d DatasetCount) {
	c.Prompts += d.Prompts
	c.Passes += d.Passes
	c.TooLong += d.TooLong
	c.Skipped += d.Skipped
	c.Estimated += d.Estimated
	c.SharedUnknown += d.SharedUnknown
	c.Cut = c.Cut || d.Cut
}

// RunEnd closes a log whose run came to its end, was interrupted or failed.
type RunEnd struct {
	Ended time.Time `json:"ended"`
	Stop  Stop      `json:"stop"` // of the last step
}

// Level is what a sweep varies: requests a second, or the most that are in flight at once.
func (s Step) Level() float64 {
	return cmp.Or(s.Rate, float64(cmp.Or(s.Concurrency, s.MaxConcurrency)))
}

// At is the first run of the step at another level.
func (s Step) At(level float64) Step {
	s.Repeat = 0
	if s.Arrival == ArrivalClosed {
		s.Concurrency = int(level)
	} else {
		s.Rate = level
	}
	return s
}

// Label is what a step is called. Nothing from outside is in it.
type Label struct {
	// Short is where the level matters: "8" users, "4 req/s", "inf", "replay"; " max 100" is a bound, " #2" the second run.
	Short string
	Long  string // by itself: "8 users", "8 users #2", "all at once", "4 requests/s, at most 100 in flight"
	Load  string // the same for all repeats, with how requests arrive: "4 requests/s, poisson"
	Unit  string // of the level: users or requests/s, conversations or conversations/s
}

// MarshalText is how reports have the label.
func (l Label) MarshalText() ([]byte, error) { return []byte(l.Short), nil }

// Label is that of the step, of conversations or requests.
func (s Step) Label(ofConversations bool) Label {
	users, starts, rate := "users", "requests/s", strconv.FormatFloat(s.Rate, 'g', 6, 64)
	if ofConversations {
		users, starts = "conversations", "conversations/s"
	}
	var l Label
	switch s.Arrival {
	case ArrivalClosed:
		l = Label{Short: strconv.Itoa(s.Concurrency), Unit: users}
		l.Long = l.Short + " " + users
		if s.Concurrency == 1 {
			l.Long = strings.TrimSuffix(l.Long, "s")
		}
	case ArrivalBurst:
		l = Label{Short: "inf", Long: "all at once", Unit: users}
	case ArrivalReplay:
		l = Label{Short: "replay", Long: "replay", Unit: users}
	default:
		l = Label{Short: rate + " req/s", Long: rate + " " + starts, Unit: starts}
	}
	if s.MaxConcurrency > 0 {
		l.Short += fmt.Sprintf(" max %d", s.MaxConcurrency)
		l.Long += fmt.Sprintf(", at most %d in flight", s.MaxConcurrency)
	}
	switch l.Load = l.Long; s.Arrival {
	case ArrivalPoisson, ArrivalConstant:
		l.Load += ", " + string(s.Arrival)
	case ArrivalGamma:
		l.Load += fmt.Sprintf(", burstiness %g", s.Burstiness)
	}
	if s.Repeat > 0 {
		repeat := fmt.Sprintf(" #%d", s.Repeat+1)
		l.Short, l.Long = l.Short+repeat, l.Long+repeat
	}
	return l
}

// The loads that a capacity is searched for, as report.json has them.
const (
	VariableConcurrency = "concurrency"
	VariableRequestRate = "request_rate"
)

// Capacity is the search that chose the steps of a run: a report makes the answer from it and from the steps.
type Capacity struct {
	Variable   string             `json:"variable"`
	From       float64            `json:"from"` // users, or requests a second
	To         float64            `json:"to"`
	Precision  float64            `json:"precision"` // ratio, of users never less than 1
	Repeat     int                `json:"repeat"`    // runs of a level at the edge at most
	Objectives []openai.Objective `json:"objectives"`
	// Grows is true where a level that was too short to tell is run again, twice as long.
	Grows bool `json:"grows,omitempty"`
}

// Objectives are what each good request meets. ITL is held against the mean of a request's
// gaps. In JSON they are nanoseconds by measure: {"ttft_ns":500000000}.
type Objectives []openai.Objective

// MarshalJSON implements [json.Marshaler].
func (o Objectives) MarshalJSON() ([]byte, error) {
	limits := map[string]time.Duration{}
	for _, one := range o {
		limits[string(one.Measure)+"_ns"] = time.Duration(one.Limit * float64(time.Second))
	}
	return json.Marshal(limits)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Objectives) UnmarshalJSON(text []byte) error {
	var limits map[string]time.Duration
	if err := json.Unmarshal(text, &limits); err != nil {
		return err
	}
	*o = nil
	for _, measure := range []openai.Measure{"ttft", "tpot", "itl", "e2el"} {
		if limit, isSet := limits[string(measure)+"_ns"]; isSet {
			*o = append(*o, openai.Objective{Measure: measure, Limit: limit.Seconds()})
		}
	}
	return nil
}

// String says what a good request meets, empty without objectives.
func (o Objectives) String() string {
	var parts []string
	for _, one := range o {
		parts = append(parts, fmt.Sprintf("%s of at most %s", one.Label(), time.Duration(one.Limit*float64(time.Second))))
	}
	return strings.Join(parts, ", ")
}
