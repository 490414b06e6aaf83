package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// jsonTrace is a Trace as JSON: its fields by their tags, and its chunks as lists, since an
// object for each would be most of a log.
type jsonTrace struct {
	*traceFields
	// Reasoning are the runs of reasoning chunks: the first's index and the one after
	// the last's.
	Reasoning [][2]int `json:"reasoning,omitempty"`
	// Gaps are the chunks' instants: the first since Started, each other since the one
	// before.
	Gaps   integers `json:"chunks_ns,omitempty"`
	Tokens integers `json:"tokens,omitempty"`  // of each chunk, or of none
	Lags   integers `json:"lags_ns,omitempty"` // of each read, as 0.1.0 kept them
}

type traceFields Trace // without its methods

// MarshalJSON implements [json.Marshaler]. What is zero, empty or nil is left out.
func (t Trace) MarshalJSON() ([]byte, error) {
	w := jsonTrace{traceFields: (*traceFields)(&t)}
	before, counted := time.Duration(0), false
	for i, c := range t.Chunks {
		w.Gaps = append(w.Gaps, int64(c.At-before))
		w.Tokens = append(w.Tokens, int64(c.Tokens))
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
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	at := time.Duration(0)
	for i, gap := range w.Gaps {
		at += time.Duration(gap)
		t.Chunks = append(t.Chunks, Chunk{At: at})
		if i < len(w.Tokens) {
			t.Chunks[i].Tokens = int32(w.Tokens[i])
		}
	}
	for _, run := range w.Reasoning {
		for i := max(0, run[0]); i < min(run[1], len(t.Chunks)); i++ {
			t.Chunks[i].Reasoning = true
		}
	}
	for _, lag := range w.Lags {
		t.Lag.add(time.Duration(lag))
	}
	return nil
}

// integers are a JSON list, which encoding/json alone takes ten times as long to read: a
// report reads a hundred million of them.
type integers []int64

// UnmarshalJSON reads a list of integers, or null.
func (l *integers) UnmarshalJSON(data []byte) error {
	*l = make(integers, 0, bytes.Count(data, []byte{','})+1)
	for number := range bytes.FieldsFuncSeq(data, func(r rune) bool { return strings.ContainsRune("[, \n]", r) }) {
		v, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil {
			return fmt.Errorf("reading a list of integers: %w", err)
		}
		*l = append(*l, v)
	}
	return nil
}
