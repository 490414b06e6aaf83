package runlog

import (
	"bytes"
	"encoding/json"
	"slices"
)

// encode makes a record's line.
func encode(r Record) ([]byte, error) {
	line, err := json.Marshal(r)
	return append(line, '\n'), err
}

// decode reads one line. A record of a kind that is not known is the zero one.
func decode(line []byte) (Record, error) {
	if q, ok := decodeRequest(line); ok {
		return Record{Request: q}, nil
	}
	var rec Record
	err := json.Unmarshal(line, &rec)
	return rec, err
}

// decodeRequest reads a request that is laid out as encode does it: what stands before the
// trace, and the trace, are objects of their own then, and encoding/json does not look
// through the trace twice. It returns false for any other line.
func decodeRequest(line []byte) (*Request, bool) {
	body, starts := bytes.CutPrefix(line, []byte(`{"request":`))
	body, ends := bytes.CutSuffix(body, []byte(`}}`))
	head, trace, found := bytes.Cut(body, []byte(`,"trace":`))
	if !starts || !ends || !found || len(head) < len(`{"a":0`) {
		return nil, false
	}
	q := new(Request)
	ok := json.Unmarshal(slices.Concat(head, []byte{'}'}), q) == nil && q.Trace.UnmarshalJSON(trace) == nil
	return q, ok
}
