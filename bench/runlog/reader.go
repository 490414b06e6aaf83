package runlog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// maxLine bounds one line, in bytes: about three million chunks.
const maxLine = 64 << 20

// Reader reads a log line by line; it keeps no more than one of them.
type Reader struct {
	name    string
	file    io.Closer
	lines   *bufio.Scanner
	run     Run
	damaged int
}

// Open opens a log. It fails when the file does not begin with a run, or one of a later
// [Schema].
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading traces: %w", err)
	}
	r := &Reader{name: path, file: file, lines: bufio.NewScanner(file)}
	r.lines.Buffer(nil, maxLine)
	if err := r.begin(); err != nil {
		file.Close()
		return nil, fmt.Errorf("reading traces %s: %w", path, err)
	}
	return r, nil
}

var (
	errNoLog  = errors.New("no log of accelbench: the first line does not say what was run")
	errSecond = errors.New("a second run begins in the same file: keep each in a folder of its own")
)

// begin reads the first line.
func (r *Reader) begin() error {
	if !r.lines.Scan() {
		return cmp.Or(cause(r.lines.Err()), errNoLog)
	}
	// The schema alone comes first: a later one may have changed all the rest.
	var first struct {
		Run *struct {
			Schema int `json:"schema"`
		} `json:"run"`
	}
	line := r.lines.Bytes()
	if json.Unmarshal(line, &first) != nil || first.Run == nil || first.Run.Schema < 1 {
		return errNoLog
	}
	if s := first.Run.Schema; s > Schema {
		return fmt.Errorf("it was written by a later version (schema %d, this one reads %d): use that version", s, Schema)
	}
	rec, err := decode(line)
	if err != nil {
		return err
	}
	r.run = *rec.Run
	return nil
}

// Run is the first line.
func (r *Reader) Run() Run { return r.run }

// Next returns the next record after the first line, and io.EOF after the last.
// Nothing in it is used again. Lines that cannot be read are skipped and counted,
// see [Reader.Damaged]; so are keys, and records of a kind, that this version
// does not know, without being counted. Any error other than io.EOF means that
// the rest of the log is lost.
func (r *Reader) Next() (Record, error) {
	for r.lines.Scan() {
		line := bytes.TrimSpace(r.lines.Bytes())
		if len(line) == 0 {
			continue
		}
		rec, err := decode(line)
		switch {
		case err != nil:
			r.damaged++
		case rec.Run != nil:
			return Record{}, fmt.Errorf("reading traces %s: %w", r.name, errSecond)
		case rec != Record{}:
			return rec, nil
		}
	}
	if err := r.lines.Err(); err != nil {
		return Record{}, fmt.Errorf("reading traces %s: %w", r.name, cause(err))
	}
	return Record{}, io.EOF
}

// Damaged is how many lines so far could not be read: the last one of a run that
// was killed while it wrote, as a rule.
func (r *Reader) Damaged() int { return r.damaged }

// Close closes the file, which was only read.
func (r *Reader) Close() { _ = r.file.Close() }

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
	if !starts || !ends || !found || len(head) < len(`{"a":0`) {
		return nil, false
	}
	q := new(Request)
	ok := json.Unmarshal(slices.Concat(head, []byte{'}'}), q) == nil && q.Trace.UnmarshalJSON(trace) == nil
	return q, ok
}
