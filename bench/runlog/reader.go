package runlog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// maxLine bounds one line, in bytes: about three million chunks.
const maxLine = 64 << 20

var errNoLog = errors.New("no log of accelbench: the first line does not say what was run")

// Read hands each record of a log to take, the run first, until take returns an error.
// damaged is how many lines could not be read: the last one of a run that was killed while
// it wrote, as a rule. A file that does not begin with a run, or one of a later [Schema],
// is refused. Kinds and keys that this version does not know are passed over.
func Read(path string, take func(Record) error) (damaged int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		rec, broken := decode(lines.Bytes())
		if n == 1 {
			if err := checkFirst(rec.Run, broken); err != nil {
				return 0, err
			}
		}
		if broken != nil {
			damaged++
			continue
		}
		if err := take(rec); err != nil {
			return damaged, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if n == 0 {
		return 0, cmp.Or(lines.Err(), errNoLog)
	}
	return damaged, lines.Err()
}

// checkFirst says why a log cannot be read that begins with run, broken where its line was.
func checkFirst(run *Run, broken error) error {
	switch {
	case run == nil || run.Schema < 1:
		return errNoLog
	case run.Schema > Schema:
		return fmt.Errorf("it was written by a later version (schema %d, this one reads %d): use that version", run.Schema, Schema)
	case broken != nil:
		return fmt.Errorf("line 1: it does not say what was run: %w", broken)
	}
	return nil
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

// decodeRequest reads a request as it is written: what stands before the trace, and the
// trace, are objects of their own then, and encoding/json does not look through the trace
// twice. It returns false for any other line.
func decodeRequest(line []byte) (*Request, bool) {
	body, starts := bytes.CutPrefix(line, []byte(`{"request":`))
	body, ends := bytes.CutSuffix(body, []byte(`}}`))
	head, trace, found := bytes.Cut(body, []byte(`,"trace":`))
	if !starts || !ends || !found {
		return nil, false
	}
	q := new(Request)
	ok := json.Unmarshal(slices.Concat(head, []byte{'}'}), q) == nil && q.Trace.UnmarshalJSON(trace) == nil
	return q, ok
}
