package openai

import (
	"bytes"
	"strings"
)

const (
	maxLine = 1 << 20  // bytes of one line, and of the joined data of one event
	maxBody = 64 << 20 // bytes of one response, decoded
)

// decoder finds server-sent events in bytes that come in any pieces. It holds
// back what is incomplete and nothing else, so an event is out as soon as the
// blank line that ends it is in.
type decoder struct {
	// event takes the data of one event, which is never empty and valid during the
	// call, and reports whether more is wanted.
	event   func(data []byte) (more bool)
	maxLine int
	maxBody int

	begun   bool   // the first line is behind
	line    []byte // the start of a line whose end is not in yet
	data    []byte // the data lines of the pending event, joined by \n
	lines   int    // how many there are
	body    int    // bytes seen
	known   bool   // a line of this format was seen
	unknown bool   // a line of an unknown field was seen
}

// write takes the next bytes. It returns false when no more are wanted, with a
// failure when that is because the bytes are no event stream.
func (d *decoder) write(p []byte) (more bool, _ *Failure) {
	over := len(p) > d.maxBody-d.body
	if over {
		p = p[:d.maxBody-d.body]
	}
	d.body += len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(d.line)+len(line) > d.maxLine {
			return false, protocolFailure("a line of more than %d bytes", d.maxLine)
		}
		p = rest
		if !ended {
			d.line = append(d.line, line...)
			break
		}
		if len(d.line) > 0 {
			d.line = append(d.line, line...)
			line = d.line
		}
		more, failure := d.oneLine(line)
		d.line = d.line[:0]
		if !more || failure != nil {
			return false, failure
		}
	}
	if over {
		return false, protocolFailure("a body of more than %d bytes", d.maxBody)
	}
	return true, nil
}

// oneLine takes a line without its line feed.
func (d *decoder) oneLine(line []byte) (more bool, _ *Failure) {
	if !d.begun {
		d.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return d.dispatch(), nil
	}
	name, value, colon := bytes.Cut(line, []byte(":"))
	switch {
	case string(name) == "data":
		d.known = true
		return true, d.addData(bytes.TrimPrefix(value, []byte(" ")))
	case colon && len(name) == 0, isField(name):
		d.known = true
	case colon && isFieldName(name):
		d.unknown = true
	case len(bytes.TrimSpace(line)) == 0:
		// Padding that keeps a connection alive.
	default:
		return false, protocolFailure("not an event stream: %s", line)
	}
	return true, nil
}

func (d *decoder) addData(value []byte) *Failure {
	if len(d.data)+len(value)+1 > d.maxLine {
		return protocolFailure("an event of more than %d bytes", d.maxLine)
	}
	if d.lines > 0 {
		d.data = append(d.data, '\n')
	}
	d.data = append(d.data, value...)
	d.lines++
	return nil
}

// dispatch hands the pending event over, if there is one.
func (d *decoder) dispatch() (more bool) {
	data := bytes.TrimSpace(d.data)
	d.data, d.lines = d.data[:0], 0
	return len(data) == 0 || d.event(data)
}

// end takes the rest of a stream that stopped inside a line or before a blank
// line. It returns the data of the pending event, if there is any, and whether
// the line was cut before it could be told what it was.
func (d *decoder) end() (data []byte, cut bool, _ *Failure) {
	if len(d.line) > 0 {
		if strings.HasPrefix("data", string(d.line)) {
			return nil, true, nil
		}
		if _, failure := d.oneLine(d.line); failure != nil {
			return nil, false, failure
		}
	}
	return bytes.TrimSpace(d.data), false, nil
}

// isField reports whether name is a field of the format beside data, which may come
// without a colon.
func isField(name []byte) bool {
	switch string(name) {
	case "event", "id", "retry":
		return true
	}
	return false
}

// isFieldName reports whether name has the form of a field: a line of text with a colon
// somewhere is none.
func isFieldName(name []byte) bool {
	for _, c := range name {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
