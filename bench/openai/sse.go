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

// sseEvent is a server-sent event.
type sseEvent struct {
	data    []byte // its data lines, joined by \n; valid until the next event is read
	isError bool   // its name is error
}

// eventReader reads server-sent events, each as soon as the blank line that ends it is in.
type eventReader struct {
	lines   *bufio.Scanner
	pending sseEvent
	size    int // bytes of all lines so far
}

func newEventReader(r io.Reader) *eventReader {
	e := &eventReader{lines: bufio.NewScanner(r)}
	e.lines.Buffer(make([]byte, bufferSize), maxLine)
	e.lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		if e.size += n; e.size > maxBody {
			err = newFailure(ReasonProtocol, "a body of more than %d bytes", maxBody)
		}
		return n, line, err
	})
	return e
}

// next returns the next event that has data or is an error. With [io.EOF] or another error comes
// the event that has begun. Bytes that are no event stream are a [Failure].
func (e *eventReader) next() (sseEvent, error) {
	e.pending = sseEvent{data: e.pending.data[:0]}
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if len(line) == 0 && (len(e.pending.data) > 0 || e.pending.isError) {
			return e.pending, nil
		}
		if err := e.addLine(line); err != nil {
			return sseEvent{}, err
		}
	}
	switch err := e.lines.Err(); {
	case err == nil:
		return e.pending, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return sseEvent{}, newFailure(ReasonProtocol, "a line of more than %d bytes", maxLine)
	default:
		return e.pending, err
	}
}

func (e *eventReader) addLine(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch event := &e.pending; string(name) {
	case "", "id", "retry": // the first is a comment
	case "event":
		event.isError = string(value) == "error"
	case "data":
		if len(event.data) > 0 {
			event.data = append(event.data, '\n')
		}
		event.data = append(event.data, value...)
	default:
		if err := e.lines.Err(); err != nil {
			return err // half a line
		}
		foreign := bytes.HasPrefix(line, []byte("<")) || bytes.HasPrefix(line, []byte("{")) || !utf8.Valid(line)
		if parsed, _ := parseEvent(line); foreign && !parsed.failed {
			return newFailure(ReasonProtocol, "not an event stream: %s", line)
		}
		return &Failure{Reason: ReasonStreamError, Detail: errorMessage(line)} // as MindIE and xLLM send their errors
	}
	return nil
}
