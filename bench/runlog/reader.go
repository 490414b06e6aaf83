package runlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
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
	name       string
	file       *os.File
	compressed bool
	in         *bufio.Reader
	longest    int      // bytes of a line
	long       []byte   // a line that in has no room for
	last, next Position // of the line read last, and of the one after it
	run        Run
	damaged    int
}

// Position is where a line of a log begins.
type Position struct {
	Offset int64 // in bytes, of a compressed log unpacked
	Line   int   // how many are before it
}

// Open opens a log, which may be compressed with gzip. It fails when the file
// does not begin with a run, or one of a later [Schema].
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading traces: %w", err)
	}
	r, err := newReader(path, file, maxLine)
	if err != nil {
		file.Close()
		return nil, err
	}
	r.file = file
	return r, nil
}

// OpenAt opens a log as Open does, and goes on at a record whose [Reader.Position] is
// known; the zero Position is before the first.
func OpenAt(path string, at Position) (*Reader, error) {
	r, err := Open(path)
	if err != nil || at == (Position{}) {
		return r, err
	}
	if err := r.skipTo(at); err != nil {
		r.file.Close()
		return nil, r.fail(cause(err))
	}
	return r, nil
}

func (r *Reader) skipTo(at Position) error {
	if r.compressed {
		if _, err := io.CopyN(io.Discard, r.in, at.Offset-r.next.Offset); err != nil {
			return err
		}
	} else {
		if _, err := r.file.Seek(at.Offset, io.SeekStart); err != nil {
			return err
		}
		r.in.Reset(r.file)
	}
	r.next = at
	return nil
}

func newReader(name string, from io.Reader, longest int) (*Reader, error) {
	const room = 64 << 10
	r := &Reader{name: name, in: bufio.NewReaderSize(from, room), longest: longest}
	if magic, _ := r.in.Peek(2); string(magic) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(r.in)
		if err != nil {
			return nil, r.fail(err)
		}
		r.in, r.compressed = bufio.NewReaderSize(unpacked, room), true
	}
	return r, r.begin()
}

var (
	errEmpty   = errors.New("the file is empty: its run was stopped before it began")
	errNoLog   = errors.New("no log of accelbench: the first line does not say what was run")
	errSecond  = errors.New("a second run begins in the same file: keep each in a folder of its own")
	errTooLong = errors.New("line too long")
)

// begin reads the first line.
func (r *Reader) begin() error {
	line, err := r.readLine()
	switch {
	case errors.Is(err, io.EOF):
		return r.fail(errEmpty)
	case errors.Is(err, errTooLong):
		return r.fail(errNoLog)
	case err != nil:
		return r.failInLine(err)
	}
	// The schema alone comes first: a later one may have changed all the rest.
	var first struct {
		Run *struct {
			Schema int `json:"schema"`
		} `json:"run"`
	}
	if json.Unmarshal(line, &first) != nil || first.Run == nil || first.Run.Schema < 1 {
		return r.fail(errNoLog)
	}
	if s := first.Run.Schema; s > Schema {
		return r.fail(fmt.Errorf("it was written by a later version (schema %d, this one reads %d): use that version", s, Schema))
	}
	rec, err := decode(line)
	switch {
	case err != nil:
		return r.failInLine(err)
	case rec.Run == nil:
		return r.fail(errNoLog)
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
		line, err := r.readLine()
		switch {
		case errors.Is(err, io.EOF):
			return Record{}, io.EOF
		case errors.Is(err, errTooLong):
			r.damaged++
			continue
		case err != nil:
			return Record{}, r.failInLine(err)
		case len(line) == 0:
			continue
		}
		rec, err := decode(line)
		switch {
		case err != nil:
			r.damaged++
		case rec.Run != nil:
			return Record{}, r.failInLine(errSecond)
		case rec != Record{}:
			return rec, nil
		}
	}
}

// Position is that of the record that Next returned last.
func (r *Reader) Position() Position { return r.last }

// Damaged is how many lines so far could not be read: the last one of a run that
// was killed while it wrote, as a rule.
func (r *Reader) Damaged() int { return r.damaged }

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

func (r *Reader) fail(err error) error {
	return fmt.Errorf("reading traces %s: %w", r.name, err)
}

func (r *Reader) failInLine(err error) error {
	return r.fail(fmt.Errorf("line %d: %w", r.last.Line+1, cause(err)))
}

// readLine returns the next line without its end, valid until the next call. A
// line over the bound is passed over with errTooLong.
func (r *Reader) readLine() ([]byte, error) {
	r.last = r.next
	r.next.Line++
	line, err := r.piece()
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.readLong(line)
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil // the last line has no end
	}
	if err == nil && len(line) > r.longest {
		err = errTooLong
	}
	return bytes.TrimSpace(line), err
}

// readLong goes on with a line that begins with start, and keeps of it no more
// than shows that it is too long.
func (r *Reader) readLong(start []byte) ([]byte, error) {
	r.long = append(r.long[:0], start...)
	for {
		piece, err := r.piece()
		if len(r.long) <= r.longest {
			r.long = append(r.long, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, err
		}
	}
}

// piece is the next line, or as much of it as there is room for.
func (r *Reader) piece() ([]byte, error) {
	piece, err := r.in.ReadSlice('\n')
	r.next.Offset += int64(len(piece))
	return piece, err
}
