package openai

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

func (e *event) text() bool { return e.answer || e.reasoning }

// eventParser reads events. It exists beside encoding/json because it checks
// and reads an event in one pass without allocating; what it accepts is
// exactly what encoding/json holds to be a valid object. A value of an
// unexpected type is valid and says nothing.
type eventParser struct {
	scanner
	ev event
}

// parse reads data, which must be one JSON object.
func (p *eventParser) parse(data []byte) bool {
	p.scanner = scanner{b: data}
	p.ev = event{prompt: noCount, completion: noCount, cached: noCount}
	p.space()
	if p.peek() != '{' || !p.members(topField) {
		return false
	}
	p.space()
	return p.i == len(p.b)
}

func topField(p *eventParser, key []byte) bool {
	switch string(key) {
	case "choices":
		return p.elements(choice)
	case "usage":
		return p.members(usageField)
	case "error":
		p.ev.failed = p.ev.failed || p.peek() != 'n' // only null starts so
	case "object":
		s, ok := p.text()
		p.ev.failed = p.ev.failed || string(s) == "error"
		return ok
	}
	return p.skip()
}

func choice(p *eventParser) bool {
	p.ev.choice = p.ev.choice || p.peek() == '{'
	return p.members(choiceField)
}

func choiceField(p *eventParser, key []byte) bool {
	switch string(key) {
	case "delta":
		return p.members(deltaField)
	case "text":
		return p.mark(&p.ev.answer)
	case "finish_reason":
		s, ok := p.text()
		if len(s) > 0 {
			p.ev.finish = s
		}
		return ok
	case "token_ids":
		return p.elements(tokenID)
	}
	return p.skip()
}

// tokenID counts a token id: an integer of 0 to maxCount.
func tokenID(p *eventParser) bool {
	id := int32(noCount)
	if !p.count(&id) {
		return false
	}
	if id != noCount {
		p.ev.ids++
	}
	return true
}

func deltaField(p *eventParser, key []byte) bool {
	switch string(key) {
	case "content":
		return p.mark(&p.ev.answer)
	case "reasoning", "reasoning_content":
		return p.mark(&p.ev.reasoning)
	case "tool_calls":
		return p.elements(toolCall)
	}
	return p.skip()
}

func toolCall(p *eventParser) bool { return p.members(toolCallField) }

func toolCallField(p *eventParser, key []byte) bool {
	if string(key) == "function" {
		return p.members(functionField)
	}
	return p.skip()
}

// functionField: a call's name is generated as well as its arguments; its id
// and type are the server's.
func functionField(p *eventParser, key []byte) bool {
	switch string(key) {
	case "name", "arguments":
		return p.mark(&p.ev.answer)
	}
	return p.skip()
}

func usageField(p *eventParser, key []byte) bool {
	switch string(key) {
	case "prompt_tokens":
		return p.count(&p.ev.prompt)
	case "completion_tokens":
		return p.count(&p.ev.completion)
	case "prompt_tokens_details":
		return p.members(promptDetailsField)
	}
	return p.skip()
}

func promptDetailsField(p *eventParser, key []byte) bool {
	if string(key) == "cached_tokens" {
		return p.count(&p.ev.cached)
	}
	return p.skip()
}

// members reads an object field by field; another kind of value is skipped.
func (p *eventParser) members(field func(p *eventParser, key []byte) bool) bool {
	if p.peek() != '{' {
		return p.skip()
	}
	if !p.enter() {
		return false
	}
	for more := p.peek() != '}'; more; {
		key, ok := p.key()
		if !ok || !field(p, key) {
			return false
		}
		if more, ok = p.next('}'); !ok {
			return false
		}
	}
	return p.leave()
}

// elements reads an array value by value; another kind of value is skipped.
func (p *eventParser) elements(element func(p *eventParser) bool) bool {
	if p.peek() != '[' {
		return p.skip()
	}
	if !p.enter() {
		return false
	}
	for more := p.peek() != ']'; more; {
		if !element(p) {
			return false
		}
		var ok bool
		if more, ok = p.next(']'); !ok {
			return false
		}
	}
	return p.leave()
}

// mark sets seen when the value is a string with something in it.
func (p *eventParser) mark(seen *bool) bool {
	if p.peek() != '"' {
		return p.skip()
	}
	s, _, ok := p.str()
	*seen = *seen || len(s) > 0
	return ok
}

// count sets n when the value is an integer of 0 to maxCount.
func (p *eventParser) count(n *int32) bool {
	start := p.i
	if !p.skip() {
		return false
	}
	if v, ok := smallInteger(p.b[start:p.i]); ok {
		*n = v
	}
	return true
}

func smallInteger(digits []byte) (int32, bool) {
	if len(digits) > 10 {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return int32(n), n <= maxCount
}
