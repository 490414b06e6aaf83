package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// jsonTrace is a Trace as JSON: its fields by their tags, and its chunks and lags as lists
// at its end, since an object for each would be most of a log.
type jsonTrace struct {
	*traceFields
	// Reasoning are the runs of reasoning chunks: the first's index and the one after
	// the last's.
	Reasoning [][2]int `json:"reasoning,omitempty"`
	// Gaps are the chunks' instants: the first since Started, each other since the one
	// before.
	Gaps   []time.Duration `json:"chunks_ns,omitempty"`
	Tokens []int32         `json:"tokens,omitempty"` // of each chunk, or of none
	Lags   []time.Duration `json:"lags_ns,omitempty"`
}

type traceFields Trace // without its methods

// MarshalJSON implements [json.Marshaler]. What is zero, empty or nil is left out.
func (t Trace) MarshalJSON() ([]byte, error) {
	w := jsonTrace{traceFields: (*traceFields)(&t), Lags: t.Lags}
	before, counted := time.Duration(0), false
	for i, c := range t.Chunks {
		w.Gaps = append(w.Gaps, c.At-before)
		w.Tokens = append(w.Tokens, c.Tokens)
		before, counted = c.At, counted || c.Tokens != 0
		switch {
		case !c.Reasoning:
		case i > 0 && t.Chunks[i-1].Reasoning:
			w.Reasoning[len(w.Reasoning)-1][1] = i + 1
		default:
			w.Reasoning = append(w.Reasoning, [2]int{i, i + 1})
		}
	}
	if !counted {
		w.Tokens = nil
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote. An empty list comes back as nil.
func (t *Trace) UnmarshalJSON(data []byte) error {
	*t = Trace{}
	w := jsonTrace{traceFields: (*traceFields)(t)}
	if !w.readAsWritten(data) {
		*t = Trace{}
		w = jsonTrace{traceFields: (*traceFields)(t)}
		if err := json.Unmarshal(data, &w); err != nil {
			return err
		}
	}
	t.Lags = w.Lags
	var err error
	t.Chunks, err = w.chunks()
	return err
}

// readAsWritten reads a trace whose lists stand at its end as MarshalJSON writes them, and
// reports whether it is such a one: encoding/json takes ten times as long, and a report
// reads a million of them.
func (w *jsonTrace) readAsWritten(data []byte) bool {
	at := bytes.Index(data, []byte(`,"chunks_ns":[`))
	if at <= len("{") {
		return false
	}
	rest := data[at:]
	w.Gaps, rest = cutList[time.Duration](rest, `,"chunks_ns":[`)
	w.Tokens, rest = cutList[int32](rest, `,"tokens":[`)
	w.Lags, rest = cutList[time.Duration](rest, `,"lags_ns":[`)
	return string(rest) == "}" && json.Unmarshal(slices.Concat(data[:at], rest), w) == nil
}

// cutList reads a list of integers that begins with prefix, and returns what follows it;
// all of data where there is none.
func cutList[T ~int32 | ~int64](data []byte, prefix string) (list []T, rest []byte) {
	rest, ok := bytes.CutPrefix(data, []byte(prefix))
	end := bytes.IndexByte(rest, ']')
	if !ok || end < 0 {
		return nil, data
	}
	list = make([]T, 0, bytes.Count(rest[:end], []byte{','})+1)
	for number := range bytes.SplitSeq(rest[:end], []byte{','}) {
		v, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || int64(T(v)) != v {
			return nil, data
		}
		list = append(list, T(v))
	}
	return list, rest[end+1:]
}

// chunks puts the lists together; they must fit each other.
func (w *jsonTrace) chunks() ([]Chunk, error) {
	n := len(w.Gaps)
	if len(w.Tokens) != 0 && len(w.Tokens) != n {
		return nil, fmt.Errorf("%d chunks have %d numbers of tokens", n, len(w.Tokens))
	}
	chunks := slices.Grow([]Chunk(nil), n)
	at := time.Duration(0)
	for i, gap := range w.Gaps {
		at += gap
		chunks = append(chunks, Chunk{At: at})
		if len(w.Tokens) > 0 {
			chunks[i].Tokens = w.Tokens[i]
		}
	}
	for _, run := range w.Reasoning {
		if run[0] < 0 || run[1] > n {
			return nil, fmt.Errorf("reasoning from chunk %d to %d of %d", run[0], run[1], n)
		}
		for i := run[0]; i < run[1]; i++ {
			chunks[i].Reasoning = true
		}
	}
	return chunks, nil
}
