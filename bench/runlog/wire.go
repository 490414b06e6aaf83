package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
)

// encode makes a record's line.
func encode(r Record) ([]byte, error) {
	if r.Request == nil || r != (Record{Request: r.Request}) {
		line, err := json.Marshal(r)
		return append(line, '\n'), err
	}
	// The same text without encoding/json looking through the trace twice.
	type fields Request
	head, err := json.Marshal(struct {
		*fields
		Trace *struct{} `json:"trace,omitempty"` // in place of the trace: nothing
	}{fields: (*fields)(r.Request)})
	if err != nil {
		return nil, err
	}
	line := append([]byte(requestStart), head[:len(head)-1]...)
	if line, err = r.Request.Trace.AppendJSON(append(line, traceStart...)); err != nil {
		return nil, err
	}
	return append(line, requestEnd+"\n"...), nil
}

// What stands around a request and before its trace, which comes last.
const requestStart, traceStart, requestEnd = `{"request":`, `,"trace":`, `}}`

var errTwoKinds = errors.New("a line of two kinds")

// decode reads one line. A record of a kind that is not known is the zero one.
func decode(line []byte) (Record, error) {
	// Nearly all lines are requests: those are not looked through twice.
	if q, ok := requestAsWritten(line); ok {
		return Record{Request: q}, nil
	}
	var rec Record
	if err := json.Unmarshal(line, &rec); err != nil {
		return Record{}, err
	}
	kinds := 0
	for _, set := range []bool{
		rec.Run != nil, rec.Step != nil, rec.Request != nil, rec.Sample != nil, rec.StepEnd != nil, rec.RunEnd != nil,
	} {
		if set {
			kinds++
		}
	}
	if kinds > 1 {
		return Record{}, errTwoKinds
	}
	return rec, nil
}

// requestAsWritten reads a request that is laid out as encode does it, and returns
// false for any other line: what stands before the trace, and the trace, are objects
// of their own then.
func requestAsWritten(line []byte) (*Request, bool) {
	body, starts := bytes.CutPrefix(line, []byte(requestStart))
	body, ends := bytes.CutSuffix(body, []byte(requestEnd))
	head, trace, found := bytes.Cut(body, []byte(traceStart))
	if !starts || !ends || !found || string(bytes.TrimSpace(head)) == "{" {
		return nil, false
	}
	q := new(Request)
	ok := json.Unmarshal(slices.Concat(head, []byte{'}'}), q) == nil && q.Trace.UnmarshalJSON(trace) == nil
	return q, ok
}

type seriesFields Series // without its methods

// jsonSeries is a [Series] whose value may be no number.
type jsonSeries struct {
	*seriesFields
	Value number `json:"value"`
}

// MarshalJSON writes NaN and the infinities, which JSON does not know and
// metrics do, as Prometheus does: "NaN", "+Inf", "-Inf".
func (s Series) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonSeries{(*seriesFields)(&s), number(s.Value)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Series) UnmarshalJSON(data []byte) error {
	*s = Series{}
	w := jsonSeries{seriesFields: (*seriesFields)(s)}
	err := json.Unmarshal(data, &w)
	s.Value = float64(w.Value)
	return err
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
