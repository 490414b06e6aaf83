package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

const (
	bufferSize = 4 << 10  // that of the transport: more is hardly filled at once
	maxLine    = 1 << 20  // bytes of one line
	maxBody    = 64 << 20 // bytes of one response, decoded
)

// eventReader finds server-sent events in bytes that come in any pieces. An event is out
// as soon as the blank line that ends it is in.
type eventReader struct {
	lines *bufio.Scanner
	data  []byte // the data lines of the pending event, joined by \n
	size  int    // bytes of all lines so far
}

func newEventReader(r io.Reader) *eventReader {
	e := &eventReader{lines: bufio.NewScanner(r)}
	e.lines.Buffer(make([]byte, bufferSize), maxLine)
	e.lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		if e.size += n; e.size > maxBody {
			err = protocolFailure("a body of more than %d bytes", maxBody)
		}
		return n, line, err
	})
	return e
}

// next returns the data of the next event, which is never empty and valid until the next
// call. With an error, [io.EOF] at a clean end, comes the data of an event that has begun.
// Bytes that are no event stream are a [Failure].
func (e *eventReader) next() ([]byte, error) {
	e.data = e.data[:0]
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if len(line) == 0 && len(e.data) > 0 {
			return e.data, nil
		}
		if err := e.addLine(line); err != nil {
			return nil, err
		}
	}
	switch err := e.lines.Err(); {
	case err == nil:
		return e.data, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, protocolFailure("a line of more than %d bytes", maxLine)
	default:
		return e.data, err
	}
}

func (e *eventReader) addLine(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "", "event", "id", "retry": // the first is a comment
		return nil
	case "data":
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, bytes.TrimSpace(value)...)
		return nil
	}
	if err := e.lines.Err(); err != nil {
		return err // half a line
	}
	if bytes.HasPrefix(line, []byte("<")) || bytes.HasPrefix(line, []byte("{")) || !utf8.Valid(line) {
		return protocolFailure("not an event stream: %s", line)
	}
	return &Failure{Reason: ReasonStreamError, Detail: string(line)} // as MindIE and xLLM send their errors
}
