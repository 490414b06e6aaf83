package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
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
	Tokens []int64 `json:"tokens,omitempty"` // of each chunk, or of none
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
	lists, err := w.read(data)
	if err != nil {
		return err
	}
	at, tokens := time.Duration(0), lists["tokens"]
	t.Chunks = slices.Grow(t.Chunks, len(lists["chunks_ns"]))
	for i, gap := range lists["chunks_ns"] {
		at += time.Duration(gap)
		t.Chunks = append(t.Chunks, Chunk{At: at})
		if i < len(tokens) {
			t.Chunks[i].Tokens = int32(tokens[i])
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
	for _, lag := range lists["lags_ns"] {
		t.Lag.add(time.Duration(lag))
	}
	return nil
}

// read reads all but the long lists, and returns those: encoding/json takes ten times as
// long for them, and a report reads a hundred million numbers.
func (w *jsonTrace) read(data []byte) (lists map[string][]int64, err error) {
	lists = map[string][]int64{"chunks_ns": nil, "tokens": nil, "lags_ns": nil}
	fields := []byte{'{'}
	gjson.ParseBytes(data).ForEach(func(key, value gjson.Result) bool {
		if _, ok := lists[key.Str]; !ok {
			if len(fields) > 1 {
				fields = append(fields, ',')
			}
			fields = append(append(append(fields, key.Raw...), ':'), value.Raw...)
			return true
		}
		numbers := make([]int64, 0, strings.Count(value.Raw, ",")+1)
		for number := range strings.SplitSeq(strings.Trim(value.Raw, "[ \n]"), ",") {
			n, failure := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if failure != nil {
				err = fmt.Errorf("reading a list of integers: %w", failure)
				return false
			}
			numbers = append(numbers, n)
		}
		lists[key.Str] = numbers
		return true
	})
	if err != nil {
		return nil, err
	}
	return lists, json.Unmarshal(append(fields, '}'), w)
}
