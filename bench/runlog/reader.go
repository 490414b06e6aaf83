package runlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine bounds one line, in bytes: about three million chunks.
const maxLine = 64 << 20

// Reader reads a log line by line; it keeps no more than one of them.
type Reader struct {
	name    string
	file    io.Closer
	lines   *bufio.Scanner
	line    int // that was read last, from 1
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
	errEmpty  = errors.New("the file is empty: its run was stopped before it began")
	errNoLog  = errors.New("no log of accelbench: the first line does not say what was run")
	errSecond = errors.New("a second run begins in the same file: keep each in a folder of its own")
)

// begin reads the first line.
func (r *Reader) begin() error {
	line, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return errEmpty
	case errors.Is(err, bufio.ErrTooLong):
		return errNoLog
	case err != nil:
		return cause(err)
	}
	// The schema alone comes first: a later one may have changed all the rest.
	var first struct {
		Run *struct {
			Schema int `json:"schema"`
		} `json:"run"`
	}
	if json.Unmarshal(line, &first) != nil || first.Run == nil || first.Run.Schema < 1 {
		return errNoLog
	}
	if s := first.Run.Schema; s > Schema {
		return fmt.Errorf("it was written by a later version (schema %d, this one reads %d): use that version", s, Schema)
	}
	rec, err := decode(line)
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
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
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return Record{}, io.EOF
		}
		if err != nil {
			return Record{}, r.fail(cause(err))
		}
		if len(line) == 0 {
			continue
		}
		rec, err := decode(line)
		switch {
		case err != nil:
			r.damaged++
		case rec.Run != nil:
			return Record{}, r.fail(errSecond)
		case rec != Record{}:
			return rec, nil
		}
	}
}

// Damaged is how many lines so far could not be read: the last one of a run that
// was killed while it wrote, as a rule.
func (r *Reader) Damaged() int { return r.damaged }

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

func (r *Reader) fail(err error) error {
	return fmt.Errorf("reading traces %s: line %d: %w", r.name, r.line, err)
}

// next is the next line without blanks around it, valid until the next call, and io.EOF
// after the last.
func (r *Reader) next() ([]byte, error) {
	r.line++
	if r.lines.Scan() {
		return bytes.TrimSpace(r.lines.Bytes()), nil
	}
	if err := r.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}
