package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// jsonTrace is a Trace as JSON: its fields by their tags, and its chunks and lags,
// an object for each of which would be most of a log.
type jsonTrace struct {
	*traceFields
	// Reasoning are the runs of reasoning chunks: the first's index and the one
	// after the last's.
	Reasoning [][2]int `json:"reasoning,omitempty"`
	// Gaps are the chunks' instants: the first since Started, each other since the
	// one before.
	Gaps   []time.Duration `json:"chunks_ns,omitempty"`
	Tokens []int32         `json:"tokens,omitempty"` // of each chunk, or of none
	Lags   []time.Duration `json:"lags_ns,omitempty"`
}

type traceFields Trace // without its methods

// AppendJSON appends the trace as a JSON object. What is zero, empty or nil is left
// out. The chunks are lists at its end: "chunks_ns", their instants, the first since
// Started and each other since the one before; "tokens" where any has some; before
// both "reasoning", the runs of reasoning chunks as pairs of indexes, the second of
// them excluded. Text that is not UTF-8 is repaired. It fails for a time that JSON
// cannot hold, of the year 10000.
func (t *Trace) AppendJSON(dst []byte) ([]byte, error) {
	head, err := json.Marshal(jsonTrace{traceFields: (*traceFields)(t), Reasoning: reasoningRuns(t.Chunks)})
	if err != nil {
		return nil, err
	}
	const digits = 11 // of a number in the lists
	dst = slices.Grow(dst, len(head)+digits*(len(t.Chunks)+len(t.Lags)))
	dst = append(dst, head[:len(head)-1]...)
	before := time.Duration(0)
	dst = appendList(dst, "chunks_ns", t.Chunks, func(c Chunk) int64 {
		gap := c.At - before
		before = c.At
		return int64(gap)
	})
	if slices.ContainsFunc(t.Chunks, func(c Chunk) bool { return c.Tokens != 0 }) {
		dst = appendList(dst, "tokens", t.Chunks, func(c Chunk) int64 { return int64(c.Tokens) })
	}
	dst = appendList(dst, "lags_ns", t.Lags, func(d time.Duration) int64 { return int64(d) })
	return append(dst, '}'), nil
}

// MarshalJSON implements [json.Marshaler].
func (t Trace) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil) }

// UnmarshalJSON reads what AppendJSON wrote. An empty list comes back as nil.
func (t *Trace) UnmarshalJSON(data []byte) error {
	*t = Trace{}
	w := jsonTrace{traceFields: (*traceFields)(t)}
	if !w.readListsByHand(data) {
		*t = Trace{}
		w = jsonTrace{traceFields: (*traceFields)(t)}
		if err := json.Unmarshal(data, &w); err != nil {
			return err
		}
	}
	chunks, err := w.chunks()
	if err != nil {
		return err
	}
	t.Chunks, t.Lags = chunks, w.Lags
	return nil
}

// readListsByHand reads a trace whose lists stand at its end as they are written,
// without a blank, and reports whether it is such a one: encoding/json takes ten times as
// long, and a report reads a million of them. What stands before the lists is an
// object without them, or the whole is no object.
func (w *jsonTrace) readListsByHand(data []byte) bool {
	at := bytes.Index(data, []byte(`,"chunks_ns":[`))
	if at < 0 || string(bytes.TrimSpace(data[:at])) == "{" { // nothing stands before the comma
		return false
	}
	rest := data[at:]
	gaps, rest := cutList[time.Duration](rest, `,"chunks_ns":[`)
	tokens, rest := cutList[int32](rest, `,"tokens":[`)
	lags, rest := cutList[time.Duration](rest, `,"lags_ns":[`)
	if string(rest) != "}" || json.Unmarshal(slices.Concat(data[:at], rest), w) != nil {
		return false
	}
	w.Gaps = gaps
	if tokens != nil {
		w.Tokens = tokens
	}
	if lags != nil {
		w.Lags = lags
	}
	return true
}

// chunks puts the lists together; they must fit each other.
func (w *jsonTrace) chunks() ([]Chunk, error) {
	n := len(w.Gaps)
	if len(w.Tokens) != 0 && len(w.Tokens) != n {
		return nil, fmt.Errorf("%d chunks have %d numbers of tokens", n, len(w.Tokens))
	}
	if n == 0 && len(w.Reasoning) == 0 {
		return nil, nil
	}
	chunks := make([]Chunk, n)
	at := time.Duration(0)
	for i, gap := range w.Gaps {
		at += gap
		chunks[i].At = at
	}
	for i, k := range w.Tokens {
		chunks[i].Tokens = k
	}
	end := 0
	for _, run := range w.Reasoning {
		if run[0] < end || run[1] <= run[0] || run[1] > n {
			return nil, fmt.Errorf("reasoning from chunk %d to %d of %d", run[0], run[1], n)
		}
		for end = run[0]; end < run[1]; end++ {
			chunks[end].Reasoning = true
		}
	}
	return chunks, nil
}

func reasoningRuns(chunks []Chunk) [][2]int {
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

// appendList adds a member to an object, if list has anything in it.
func appendList[T any](dst []byte, name string, list []T, number func(T) int64) []byte {
	if len(list) == 0 {
		return dst
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, `"`+name+`":[`...)
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, number(v), 10)
	}
	return append(dst, ']')
}

// cutList reads a list of integers that begins with prefix, and returns what
// follows it; all of data where there is none.
func cutList[T ~int32 | ~int64](data []byte, prefix string) (list []T, rest []byte) {
	rest, ok := bytes.CutPrefix(data, []byte(prefix))
	end := bytes.IndexByte(rest, ']')
	if !ok || end < 0 {
		return nil, data
	}
	text := rest[:end]
	list = make([]T, 0, bytes.Count(text, []byte{','})+1)
	for {
		v, n := leadingInteger(text)
		if n == 0 || int64(T(v)) != v {
			return nil, data
		}
		list = append(list, T(v))
		if n == len(text) {
			return list, rest[end+1:]
		}
		if text[n] != ',' {
			return nil, data
		}
		text = text[n+1:]
	}
}

// leadingInteger reads the integer that data begins with and says how long it
// is: 0 where there is none in the form of JSON, or one of more than 18 digits.
func leadingInteger(data []byte) (value int64, n int) {
	const safe = 18 // digits that always fit
	first := 0
	if len(data) > 0 && data[0] == '-' {
		first = 1
	}
	n = first
	for n < len(data) && data[n]-'0' <= 9 {
		value = value*10 + int64(data[n]-'0')
		n++
	}
	digits := n - first
	if digits == 0 || digits > safe || digits > 1 && data[first] == '0' {
		return 0, 0
	}
	if first == 1 {
		value = -value
	}
	return value, n
}
