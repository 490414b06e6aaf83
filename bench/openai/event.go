package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

const (
	bufferSize = 4 << 10  // that of the transport: more is hardly filled at once
	maxLine    = 1 << 20  // bytes of one line
	maxBody    = 64 << 20 // bytes of one response, decoded
	maxCount   = 1e9      // a token count above it is not believed
	noCount    = -1       // no such number in the event
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

// next returns the next event that has data or is an error. With [io.EOF] or a failed read it also returns
// the event that had begun. Bytes that are no event stream are a [Failure].
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

// event is what one JSON object of a stream says that matters here.
type event struct {
	failed bool         // an error object
	texts  int          // texts of all choices
	delta  bool         // a choice has a delta or a text, be it empty
	answer bool         // text other than reasoning: content, text or a tool call
	finish string       // the finish_reason, "" for none
	usage  gjson.Result // an object where it is there; not to be kept
	tokens int32        // its completion_tokens, noCount for none

	content, reasoning string // the texts, valid as long as the event's data
	from, to           int    // the last text in the data, as it stands there
}

// pattern is an event that has one text, from what stands before it to what stands behind.
type pattern struct {
	head, tail []byte
	event      event
}

// parse returns what parseEvent does, but does not parse an event that differs from the one before in its text alone.
func (p *pattern) parse(data []byte) (event, bool) {
	end := len(data) - len(p.tail)
	if len(p.head) > 0 && end > len(p.head) && bytes.HasPrefix(data, p.head) && bytes.HasSuffix(data, p.tail) {
		text := data[len(p.head):end]
		if !bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' }) {
			ev, written := p.event, unsafe.String(unsafe.SliceData(text), len(text))
			if ev.content != "" {
				ev.content = written
			} else {
				ev.reasoning = written
			}
			return ev, true
		}
	}
	ev, ok := parseEvent(data)
	p.head = p.head[:0]
	if ok && ev.texts == 1 && ev.from > 0 && ev.content+ev.reasoning != "" && ev.finish == "" && !ev.usage.IsObject() {
		p.head, p.tail, p.event = append(p.head, data[:ev.from]...), append(p.tail[:0], data[ev.to:]...), ev
	}
	return ev, ok
}

// parseEvent reads data, and reports whether it is one JSON object.
func parseEvent(data []byte) (event, bool) {
	ev := event{tokens: noCount}
	if !gjson.ValidBytes(data) {
		return ev, false
	}
	// Without a copy: of the text only the finish_reason is kept, as one of its own.
	root := gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data)))
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			value.ForEach(func(_, choice gjson.Result) bool {
				choice.ForEach(ev.addChoice)
				return true
			})
		case "usage":
			ev.usage, ev.tokens = value, tokenCount(value.Get("completion_tokens"))
		case "error":
			ev.failed = ev.failed || value.Type != gjson.Null
		case "object":
			ev.failed = ev.failed || value.Str == "error"
		}
		return true
	})
	return ev, root.IsObject()
}

// addChoice reads a member of a choice.
func (e *event) addChoice(key, value gjson.Result) bool {
	switch key.Str {
	case "delta":
		e.delta = e.delta || value.IsObject()
		e.addDelta(value)
	case "text":
		e.delta = e.delta || value.Type == gjson.String
		e.addText(value, true)
		e.content += value.Str
	case "finish_reason":
		if value.Str != "" && !slices.Contains(brokenFinishes, e.finish) {
			e.finish = strings.Clone(value.Str)
		}
	}
	return true
}

func (e *event) addText(text gjson.Result, answer bool) {
	if text.Str != "" {
		e.texts++
		e.answer = e.answer || answer
		e.from, e.to = text.Index+1, text.Index+len(text.Raw)-1
	}
}

// addDelta reads the new text. A name that another server gives a field is one line here.
func (e *event) addDelta(delta gjson.Result) {
	reasoning := ""
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			e.addText(value, true)
			e.content += value.Str
		case "reasoning", "reasoning_content":
			if value.Str != reasoning {
				e.addText(value, false)
			} else if reasoning != "" { // some versions of vLLM send one text under both names
				e.from = 0
			}
			reasoning = value.Str
		case "tool_calls":
			value.ForEach(func(_, call gjson.Result) bool {
				function := call.Get("function") // a call's id and type are the server's own
				e.addText(function.Get("name"), true)
				e.addText(function.Get("arguments"), true)
				return true
			})
		}
		return true
	})
	e.reasoning += reasoning
}

// tokenCount is an integer of 0 to maxCount, noCount for anything else.
func tokenCount(value gjson.Result) int32 {
	if value.Type != gjson.Number || value.Num < 0 || value.Num > maxCount || value.Num != math.Trunc(value.Num) {
		return noCount
	}
	return int32(value.Num)
}
