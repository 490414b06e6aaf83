package openai

import (
	"encoding/json"
	"slices"
	"time"

	fastjson "github.com/segmentio/encoding/json"
)

// jsonTrace is a Trace as JSON. Its chunks are lists: an object for each would be most of a log.
type jsonTrace struct {
	*traceFields
	// Reasoning are the runs of reasoning chunks, each from an index to before another.
	Reasoning [][2]int `json:"reasoning,omitempty"`
	// Textless are the indexes of chunks without text. A log from before they were kept has none, and who reads this
	// one without knowing of them takes them for text. Early logs have a number under textless.
	Textless []int `json:"textless_chunks,omitempty"`
	// Gaps are from Started to the first chunk, and from each to the next.
	Gaps   []int64 `json:"chunks_ns,omitempty"`
	Tokens []int64 `json:"tokens,omitempty"`  // of each chunk, or of none
	Lags   []int64 `json:"lags_ns,omitempty"` // of reads, in logs of 0.1.0
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
		if c.Textless {
			w.Textless = append(w.Textless, i)
		}
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

// UnmarshalJSON reads what MarshalJSON wrote, and the list of lags that 0.1.0 wrote. An empty list comes back as nil.
func (t *Trace) UnmarshalJSON(data []byte) error {
	*t = Trace{}
	w := jsonTrace{traceFields: (*traceFields)(t)}
	if err := fastjson.Unmarshal(data, &w); err != nil {
		return err
	}
	at := time.Duration(0)
	t.Chunks = slices.Grow(t.Chunks, len(w.Gaps))
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
	for _, i := range w.Textless {
		if 0 <= i && i < len(t.Chunks) {
			t.Chunks[i].Textless = true
		}
	}
	for _, lag := range w.Lags {
		t.Lag.add(time.Duration(lag))
	}
	return nil
}
