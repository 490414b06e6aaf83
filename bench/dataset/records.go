package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxRecord bounds one record, in bytes.
const maxRecord = 4 << 20

// openRegular opens a file to be read more than once. Anything but a regular
// file is refused unopened: opening a pipe waits for its writer.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, errors.New("is a directory, must be a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file: it may have to be read more than once, so save it to one first")
	case info.Size() == 0:
		return nil, errors.New("is empty")
	}
	return os.Open(path)
}

// readingError names the file, once.
func readingError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("reading data set %s: %w", path, err)
}

// unpacked returns what r holds, decompressed where it begins like gzip.
func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if head, _ := in.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return in, nil
	}
	return gzip.NewReader(in)
}

// records reads a file record by record: lines, or the elements of a JSON array.
// It splits them itself: json.Decoder holds an element whole, however large, and
// cannot go on behind a broken one.
type records struct {
	max   int // bytes of a record
	in    *bufio.Reader
	buf   []byte
	array bool
	ended bool // the array is closed
	n     int  // of the current line or element, from 1
	bytes int  // read so far
}

func newRecords(limit int) *records {
	return &records{max: limit, in: bufio.NewReaderSize(nil, 64<<10)}
}

// reset starts a file. Plain text is never an array.
func (r *records) reset(src io.Reader, text bool) {
	r.in.Reset(src)
	r.array, r.ended, r.n, r.bytes = false, false, 0, 0
	if head, _ := r.in.Peek(3); string(head) == "\uFEFF" {
		r.skip(3)
	}
	head, _ := r.in.Peek(512)
	blank := len(head) - len(bytes.TrimLeft(head, " \t\r\n"))
	if !text && blank < len(head) && head[blank] == '[' {
		r.array = true
		r.skip(blank + 1)
	}
}

// unit is what a record is called here, where is the current one's place.
func (r *records) unit() string {
	if r.array {
		return "element"
	}
	return "line"
}

func (r *records) where() string { return fmt.Sprintf("%s %d", r.unit(), r.n) }

// next returns the next record, without blanks around it and valid until the
// next call. It returns io.EOF at the end and a leftOut error for a record over
// the limit; no other error can be read past.
func (r *records) next(ctx context.Context) ([]byte, error) {
	for {
		if r.ended {
			return nil, r.rest(ctx)
		}
		whole, err := r.read(ctx)
		if err != nil {
			return nil, err
		}
		record := bytes.TrimSpace(r.buf)
		switch {
		case !whole:
			return nil, bad("larger than %d bytes", r.max)
		case len(record) == 0 && (!r.array || r.ended && r.n == 1): // a blank line, or []
		default:
			return record, nil
		}
	}
}

// read reads the next line or element into buf and reports whether it fits.
func (r *records) read(ctx context.Context) (whole bool, err error) {
	r.n++
	r.buf, whole = r.buf[:0], true
	start := r.bytes
	var scan elementScan
	for {
		part, err := r.peek(ctx)
		switch {
		case errors.Is(err, io.EOF) && r.array:
			return false, fmt.Errorf("%s, which begins at byte %d: the file ends before the array does", r.where(), start)
		case errors.Is(err, io.EOF) && r.bytes > start:
			return whole, nil // a last line without an end
		case errors.Is(err, io.EOF):
			r.n--
			return false, io.EOF
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			return false, fmt.Errorf("%s: %w", r.where(), err)
		}
		end := bytes.IndexByte(part, '\n')
		if r.array {
			end = scan.end(part)
		}
		if end < 0 {
			whole = whole && r.keep(part)
			r.skip(len(part))
			continue
		}
		whole = whole && r.keep(part[:end])
		r.ended = r.array && part[end] == ']'
		r.skip(end + 1)
		return whole, nil
	}
}

// peek returns what is in the buffer, at least a byte.
func (r *records) peek(ctx context.Context) ([]byte, error) {
	if ctx.Err() != nil { // a few kilobytes of gzip hold hours of nothing
		return nil, ctx.Err()
	}
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	return r.in.Peek(r.in.Buffered())
}

// skip goes on behind n bytes that are in the buffer.
func (r *records) skip(n int) {
	n, _ = r.in.Discard(n)
	r.bytes += n
}

// elementScan is where in an element of an array its bytes so far have led.
type elementScan struct {
	depth             int
	inString, escaped bool
}

// end returns where in part the comma or bracket is that ends the element, −1
// when it goes on.
func (s *elementScan) end(part []byte) int {
	for i, c := range part {
		switch {
		case s.inString:
			s.inString = c != '"' || s.escaped
			s.escaped = c == '\\' && !s.escaped
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth == 0 && c == ']' {
				return i
			}
			s.depth = max(0, s.depth-1)
		case c == ',' && s.depth == 0:
			return i
		}
	}
	return -1
}

// keep adds to the record and reports whether it still fits.
func (r *records) keep(part []byte) bool {
	if len(r.buf)+len(part) > r.max {
		return false
	}
	r.buf = append(r.buf, part...)
	return true
}

// rest returns io.EOF when nothing follows the array.
func (r *records) rest(ctx context.Context) error {
	for {
		part, err := r.peek(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("after the array: %w", err)
		}
		blank := len(part) - len(bytes.TrimLeft(part, " \t\r\n"))
		r.skip(blank)
		if blank < len(part) {
			return fmt.Errorf("byte %d: the array has ended, but something follows: one file holds one array", r.bytes+1)
		}
	}
}
