package openai

import (
	"bytes"
	"strings"
)

const (
	maxLine = 1 << 20  // bytes of one line, and of the joined data of one event
	maxBody = 64 << 20 // bytes of one response, decoded
)

// decoder finds server-sent events in bytes that come in any pieces. It holds back what
// is incomplete and nothing else, so an event is out as soon as the blank line that ends
// it is in.
type decoder struct {
	// event takes the data of one event, which is never empty and valid during the
	// call, and reports whether more is wanted.
	event func(data []byte) (more bool)

	line []byte // the start of a line whose end is not in yet
	data []byte // the data lines of the pending event, joined by \n
	body int    // bytes seen
}

// write takes the next bytes. It returns false when no more are wanted, with a failure
// when that is because the bytes are no event stream.
func (d *decoder) write(p []byte) (more bool, _ *Failure) {
	if d.body += len(p); d.body > maxBody {
		return false, protocolFailure("a body of more than %d bytes", maxBody)
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(d.line)+len(line) > maxLine {
			return false, protocolFailure("a line of more than %d bytes", maxLine)
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
		more, failure := d.addLine(line)
		d.line = d.line[:0]
		if !more || failure != nil {
			return false, failure
		}
	}
	return true, nil
}

// addLine takes a line without its line feed.
func (d *decoder) addLine(line []byte) (more bool, _ *Failure) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return d.dispatch(), nil
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data":
		return true, d.addData(bytes.TrimPrefix(value, []byte(" ")))
	case "", "event", "id", "retry": // the first is a comment
		return true, nil
	}
	return false, protocolFailure("not an event stream: %s", line)
}

func (d *decoder) addData(value []byte) *Failure {
	if len(d.data)+len(value)+1 > maxLine {
		return protocolFailure("an event of more than %d bytes", maxLine)
	}
	if len(d.data) > 0 {
		d.data = append(d.data, '\n')
	}
	d.data = append(d.data, value...)
	return nil
}

// dispatch hands the pending event over, if there is one.
func (d *decoder) dispatch() (more bool) {
	data := bytes.TrimSpace(d.data)
	d.data = d.data[:0]
	return len(data) == 0 || d.event(data)
}

// end takes the rest of a stream that stopped inside a line or before a blank line. It
// returns the data of the pending event, if there is any, and whether the line was cut
// before it could be recognized.
func (d *decoder) end() (data []byte, cut bool, _ *Failure) {
	if len(d.line) > 0 {
		if strings.HasPrefix("data", string(d.line)) {
			return nil, true, nil
		}
		if _, failure := d.addLine(d.line); failure != nil {
			return nil, false, failure
		}
	}
	return bytes.TrimSpace(d.data), false, nil
}
