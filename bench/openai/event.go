package openai

import (
	"bytes"
	"encoding/json"
)

const (
	maxDepth = 10000 // of nesting, as in encoding/json
	maxCount = 1e9   // a token count above it is not believed
	noCount  = -1    // no such number in the event
)

// event is what one JSON object of a stream says that matters here.
type event struct {
	failed    bool   // an error object
	choice    bool   // a part of an answer, with text or without
	answer    bool   // text other than reasoning: content, text or a tool call
	reasoning bool   // reasoning text
	ids       int32  // how many token ids come with the choices (vLLM's return_token_ids)
	finish    []byte // a finish_reason, valid until the next event
	// The usage, noCount where it is not told.
	prompt, completion, cached int32
}

// text reports whether the event brings generated text.
func (e *event) text() bool { return e.answer || e.reasoning }

// path is where a value stands in an event.
type path uint8

const (
	pathOther path = iota // says nothing
	pathTop
	pathError
	pathObject
	pathChoices
	pathChoice
	pathDelta
	pathAnswer
	pathReasoning
	pathFinish
	pathTokenIDs
	pathTokenID
	pathToolCalls
	pathToolCall
	pathFunction
	pathUsage
	pathPrompt
	pathCompletion
	pathPromptDetails
	pathCached
)

// member is the path of a member of an object. A name that another server gives a
// field is one line here.
func (p path) member(name []byte) path {
	switch string(name) {
	case "choices":
		return p.below(pathTop, pathChoices)
	case "delta":
		return p.below(pathChoice, pathDelta)
	case "content":
		return p.below(pathDelta, pathAnswer)
	case "reasoning", "reasoning_content":
		return p.below(pathDelta, pathReasoning)
	case "text":
		return p.below(pathChoice, pathAnswer)
	case "tool_calls":
		return p.below(pathDelta, pathToolCalls)
	case "function":
		return p.below(pathToolCall, pathFunction)
	case "name", "arguments": // a call's id and type are the server's
		return p.below(pathFunction, pathAnswer)
	case "finish_reason":
		return p.below(pathChoice, pathFinish)
	case "token_ids":
		return p.below(pathChoice, pathTokenIDs)
	case "usage":
		return p.below(pathTop, pathUsage)
	case "prompt_tokens":
		return p.below(pathUsage, pathPrompt)
	case "completion_tokens":
		return p.below(pathUsage, pathCompletion)
	case "prompt_tokens_details":
		return p.below(pathUsage, pathPromptDetails)
	case "cached_tokens":
		return p.below(pathPromptDetails, pathCached)
	case "error":
		return p.below(pathTop, pathError)
	case "object":
		return p.below(pathTop, pathObject)
	}
	return pathOther
}

// below is child below parent, and pathOther elsewhere.
func (p path) below(parent, child path) path {
	if p != parent {
		return pathOther
	}
	return child
}

// element is the path of an element of an array.
func (p path) element() path {
	switch p {
	case pathChoices:
		return pathChoice
	case pathTokenIDs:
		return pathTokenID
	case pathToolCalls:
		return pathToolCall
	}
	return pathOther
}

// take notes what a value says, which is valid JSON. One of an unexpected type says
// nothing.
func (e *event) take(p path, value []byte) {
	filled := value[0] == '"' && len(value) > len(`""`)
	switch p {
	case pathError:
		e.failed = e.failed || value[0] != 'n' // only null starts so
	case pathObject:
		e.failed = e.failed || filled && string(unquoted(value)) == "error"
	case pathChoice:
		e.choice = e.choice || value[0] == '{'
	case pathAnswer:
		e.answer = e.answer || filled
	case pathReasoning:
		e.reasoning = e.reasoning || filled
	case pathFinish:
		if filled {
			e.finish = unquoted(value)
		}
	case pathTokenID:
		if _, ok := count(value); ok {
			e.ids++
		}
	case pathPrompt:
		setCount(&e.prompt, value)
	case pathCompletion:
		setCount(&e.completion, value)
	case pathCached:
		setCount(&e.cached, value)
	}
}

func setCount(n *int32, value []byte) {
	if v, ok := count(value); ok {
		*n = v
	}
}

// count reads an integer of 0 to maxCount.
func count(value []byte) (int32, bool) {
	const digits = 10
	if len(value) > digits {
		return 0, false
	}
	n := int64(0)
	for _, c := range value {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return int32(n), n <= maxCount
}

// unquoted is what a string of JSON stands for.
func unquoted(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1 : len(value)-1]
	}
	var text string
	_ = json.Unmarshal(value, &text) // it is a valid string
	return []byte(text)
}

// eventParser reads events. It exists beside encoding/json because it checks
// and reads an event in one pass without allocating; what it accepts is
// exactly what encoding/json holds to be a valid object. Its methods read one
// construct at the cursor and return false where the text is not valid JSON; the
// cursor is of no use after that.
type eventParser struct {
	ev    event
	b     []byte
	i     int // the cursor
	depth int
}

// parse reads data, and reports whether it is one JSON object.
func (p *eventParser) parse(data []byte) bool {
	*p = eventParser{b: data, ev: event{prompt: noCount, completion: noCount, cached: noCount}}
	p.space()
	if p.peek() != '{' || !p.value(pathTop) {
		return false
	}
	p.space()
	return p.i == len(p.b)
}

// value reads any value.
func (p *eventParser) value(at path) (ok bool) {
	start := p.i
	switch p.peek() {
	case '"':
		_, ok = p.str()
	case '{':
		ok = p.list(at, '}')
	case '[':
		ok = p.list(at, ']')
	case 't':
		ok = p.literal("true")
	case 'f':
		ok = p.literal("false")
	case 'n':
		ok = p.literal("null")
	default:
		ok = p.number()
	}
	if ok && at != pathOther {
		p.ev.take(at, p.b[start:p.i])
	}
	return ok
}

// list reads the members of an object, or the elements of an array, and reports
// whether they are well formed.
func (p *eventParser) list(at path, closing byte) bool {
	if p.depth++; p.depth > maxDepth {
		return false
	}
	p.i++
	p.space()
	for more := p.peek() != closing; more; {
		inner := pathOther
		if closing == '}' {
			name, ok := p.name()
			if !ok {
				return false
			}
			if at != pathOther {
				inner = at.member(name)
			}
		} else if at != pathOther {
			inner = at.element()
		}
		if !p.value(inner) {
			return false
		}
		p.space()
		switch p.peek() {
		case ',':
			p.i++
			p.space()
		case closing:
			more = false
		default:
			return false
		}
	}
	p.i++
	p.depth--
	return true
}

// name reads a member's name and its colon.
func (p *eventParser) name() ([]byte, bool) {
	start := p.i
	if p.peek() != '"' {
		return nil, false
	}
	escaped, ok := p.str()
	if !ok {
		return nil, false
	}
	name := p.b[start+1 : p.i-1]
	if escaped {
		name = unquoted(p.b[start:p.i])
	}
	p.space()
	if p.peek() != ':' {
		return nil, false
	}
	p.i++
	p.space()
	return name, true
}

// str reads a string, whose bytes need not be valid UTF-8, as in encoding/json.
func (p *eventParser) str() (escaped, ok bool) {
	for p.i++; p.i < len(p.b); {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return escaped, true
		case c == '\\':
			escaped = true
			if !p.escape() {
				return true, false
			}
		case c < ' ':
			return escaped, false
		default:
			p.i++
		}
	}
	return escaped, false
}

func (p *eventParser) escape() bool {
	p.i++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.i++
		return true
	case 'u':
		p.i++
		for range 4 {
			if c := p.peek(); !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
			p.i++
		}
		return true
	}
	return false
}

func (p *eventParser) literal(word string) bool {
	end := p.i + len(word)
	if end > len(p.b) || string(p.b[p.i:end]) != word {
		return false
	}
	p.i = end
	return true
}

func (p *eventParser) number() bool {
	if p.peek() == '-' {
		p.i++
	}
	if p.peek() == '0' {
		p.i++
	} else if !p.digits() {
		return false
	}
	if p.peek() == '.' {
		p.i++
		if !p.digits() {
			return false
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.i++
		if c := p.peek(); c == '+' || c == '-' {
			p.i++
		}
		return p.digits()
	}
	return true
}

// digits reads digits, and reports whether there was one.
func (p *eventParser) digits() bool {
	start := p.i
	for isDigit(p.peek()) {
		p.i++
	}
	return p.i > start
}

// peek is the byte at the cursor, 0 at the end: no construct starts with 0.
func (p *eventParser) peek() byte {
	if p.i < len(p.b) {
		return p.b[p.i]
	}
	return 0
}

func (p *eventParser) space() {
	for p.i < len(p.b) && isBlank(p.b[p.i]) {
		p.i++
	}
}

func isBlank(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
