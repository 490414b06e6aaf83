package runlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// wireRequest is a [Request] as it stands in the log. What is zero is left out,
// and the trace comes last, see [cutTail].
type wireRequest struct {
	Step           int           `json:"step"`
	Seq            int           `json:"seq"`
	Queued         time.Duration `json:"queued_ns,omitempty"`
	Never          bool          `json:"never,omitempty"`
	ExpectedTokens int           `json:"expected_tokens,omitempty"`
	AimedTokens    int           `json:"aimed_tokens,omitempty"`
	Trace          wireTrace     `json:"trace"`
}

// wireTrace has the names of openai.Trace. Its chunks are three lists, since an
// object for each would be most of the file.
type wireTrace struct {
	RequestID   string             `json:"request_id,omitempty"`
	Model       string             `json:"model,omitempty"`
	Planned     time.Time          `json:"planned,omitzero"`
	Started     time.Time          `json:"started,omitzero"`
	Clock       openai.Clock       `json:"clock,omitempty"`
	Events      int                `json:"events,omitempty"`
	FirstEvent  time.Duration      `json:"first_event_ns,omitempty"`
	FirstAnswer time.Duration      `json:"first_answer_ns,omitempty"`
	Usage       *openai.Usage      `json:"usage,omitempty"`
	TokenSource openai.TokenSource `json:"token_source,omitempty"`
	Textless    int                `json:"textless,omitempty"`
	TokenIDs    int                `json:"token_ids,omitempty"`
	Finish      string             `json:"finish,omitempty"`
	Done        bool               `json:"done,omitempty"`
	Phases      wirePhases         `json:"phases,omitzero"`
	Reused      bool               `json:"reused,omitempty"`
	Status      int                `json:"status,omitempty"`
	End         time.Duration      `json:"end_ns,omitempty"`
	Failure     *openai.Failure    `json:"failure,omitempty"`
	// Reasoning are the runs of reasoning chunks: the first's index and the one
	// after the last's.
	Reasoning [][2]int `json:"reasoning,omitempty"`
	wireTail
}

// wireTail are the long lists. They end the line.
type wireTail struct {
	// Chunks are the chunks' instants: the first since Started, each other since
	// the one before.
	Chunks []time.Duration `json:"chunks_ns,omitempty"`
	Tokens []int32         `json:"tokens,omitempty"` // of each chunk, or of none
	Lags   []time.Duration `json:"lags_ns,omitempty"`
}

type wirePhases struct {
	Resolve time.Duration `json:"resolve_ns,omitempty"`
	Connect time.Duration `json:"connect_ns,omitempty"`
	TLS     time.Duration `json:"tls_ns,omitempty"`
	Send    time.Duration `json:"send_ns,omitempty"`
	Wait    time.Duration `json:"wait_ns,omitempty"`
}

// MarshalJSON writes the request under the names of its fields and of
// openai.Trace's, with three differences. What is zero, empty or nil is left out.
// The chunks are a list "chunks_ns" of their instants, the first since Started
// and each other since the one before; a list "tokens" where any has some; and
// "reasoning", the runs of reasoning chunks as pairs of indexes, the second of
// them excluded. Text that is not UTF-8 is repaired.
func (q Request) MarshalJSON() ([]byte, error) { return q.encode() }

func (q *Request) encode() ([]byte, error) {
	t := &q.Trace
	head, err := json.Marshal(wireRequest{
		Step: q.Step, Seq: q.Seq, Queued: q.Queued, Never: q.Never, ExpectedTokens: q.ExpectedTokens, AimedTokens: q.AimedTokens,
		Trace: wireTrace{
			RequestID: t.RequestID, Model: t.Model, Planned: t.Planned, Started: t.Started, Clock: t.Clock,
			Events: t.Events, FirstEvent: t.FirstEvent, FirstAnswer: t.FirstAnswer,
			Usage: t.Usage, TokenSource: t.TokenSource, Textless: t.Textless, TokenIDs: t.TokenIDs, Finish: t.Finish, Done: t.Done,
			Phases: wirePhases(t.Phases), Reused: t.Reused, Status: t.Status, End: t.End, Failure: t.Failure,
			Reasoning: reasoningRuns(t.Chunks),
		},
	})
	if err != nil {
		return nil, err
	}
	return appendTail(head, wireTail{Chunks: deltas(t.Chunks), Tokens: chunkTokens(t.Chunks), Lags: t.Lags}), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. An empty list comes back as nil.
func (q *Request) UnmarshalJSON(data []byte) error {
	var w wireRequest
	if err := w.decode(data); err != nil {
		return err
	}
	t := &w.Trace
	chunks, err := t.chunks()
	if err != nil {
		return err
	}
	*q = Request{
		Step: w.Step, Seq: w.Seq, Queued: w.Queued, Never: w.Never, ExpectedTokens: w.ExpectedTokens, AimedTokens: w.AimedTokens,
		Trace: openai.Trace{
			RequestID: t.RequestID, Model: t.Model, Planned: t.Planned, Started: t.Started, Clock: t.Clock,
			Events: t.Events, FirstEvent: t.FirstEvent, FirstAnswer: t.FirstAnswer, Chunks: chunks,
			Usage: t.Usage, TokenSource: t.TokenSource, Textless: t.Textless, TokenIDs: t.TokenIDs, Finish: t.Finish, Done: t.Done,
			Phases: openai.Phases(t.Phases), Reused: t.Reused,
			Lags: t.Lags, Status: t.Status, End: t.End, Failure: t.Failure,
		},
	}
	return nil
}

// decode reads the long lists by hand where they are as MarshalJSON writes them:
// encoding/json takes ten times as long, and a report reads a million of them.
func (w *wireRequest) decode(data []byte) error {
	if head, tail, ok := cutTail(data); ok {
		if json.Unmarshal(head, w) == nil && len(w.Trace.Chunks) == 1 {
			w.Trace.Chunks = tail.Chunks
			if tail.Tokens != nil {
				w.Trace.Tokens = tail.Tokens
			}
			if tail.Lags != nil {
				w.Trace.Lags = tail.Lags
			}
			return nil
		}
		*w = wireRequest{}
	}
	return json.Unmarshal(data, w)
}

func deltas(chunks []openai.Chunk) []time.Duration {
	out := make([]time.Duration, len(chunks))
	before := time.Duration(0)
	for i, c := range chunks {
		out[i], before = c.At-before, c.At
	}
	return out
}

func chunkTokens(chunks []openai.Chunk) []int32 {
	var out []int32
	for i, c := range chunks {
		if c.Tokens == 0 {
			continue
		}
		if out == nil {
			out = make([]int32, len(chunks))
		}
		out[i] = c.Tokens
	}
	return out
}

func reasoningRuns(chunks []openai.Chunk) [][2]int {
	var runs [][2]int
	for i, c := range chunks {
		switch {
		case !c.Reasoning:
		case i > 0 && chunks[i-1].Reasoning:
			runs[len(runs)-1][1] = i + 1
		default:
			runs = append(runs, [2]int{i, i + 1})
		}
	}
	return runs
}

// chunks puts the lists together; they must fit each other.
func (t *wireTrace) chunks() ([]openai.Chunk, error) {
	n := len(t.Chunks)
	if len(t.Tokens) != 0 && len(t.Tokens) != n {
		return nil, fmt.Errorf("%d chunks have %d numbers of tokens", n, len(t.Tokens))
	}
	if n == 0 && len(t.Reasoning) == 0 {
		return nil, nil
	}
	chunks := make([]openai.Chunk, n)
	at := time.Duration(0)
	for i, d := range t.Chunks {
		at += d
		chunks[i].At = at
	}
	for i, k := range t.Tokens {
		chunks[i].Tokens = k
	}
	end := 0
	for _, run := range t.Reasoning {
		if run[0] < end || run[1] <= run[0] || run[1] > n {
			return nil, fmt.Errorf("reasoning from chunk %d to %d of %d", run[0], run[1], n)
		}
		for end = run[0]; end < run[1]; end++ {
			chunks[end].Reasoning = true
		}
	}
	return chunks, nil
}

// wireSeries is a [Series] whose value may be no number.
type wireSeries struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Value  number            `json:"value"`
}

// MarshalJSON writes NaN and the infinities, which JSON does not know and
// metrics do, as Prometheus does: "NaN", "+Inf", "-Inf".
func (s Series) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireSeries{s.Name, s.Labels, number(s.Value)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Series) UnmarshalJSON(data []byte) error {
	var w wireSeries
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*s = Series{w.Name, w.Labels, float64(w.Value)}
	return nil
}

type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(n))
}

func (n *number) UnmarshalJSON(data []byte) error {
	text, quoted := bytes.CutPrefix(data, []byte{'"'})
	if !quoted {
		return json.Unmarshal(data, (*float64)(n))
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSuffix(text, []byte{'"'})), 64)
	*n = number(f)
	return err
}
