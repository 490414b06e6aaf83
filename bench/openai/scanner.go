package openai

import "encoding/json"

// scanner walks one JSON text. Its methods read one construct at the cursor
// and return false where the text is not valid JSON; the cursor is of no use
// after that.
type scanner struct {
	b     []byte
	i     int
	depth int
}

// peek is the byte at the cursor, 0 at the end: no construct starts with 0.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// enter steps over an opening bracket.
func (s *scanner) enter() bool {
	s.i++
	s.depth++
	s.space()
	return s.depth <= maxDepth
}

// leave steps over a closing bracket, which was seen before.
func (s *scanner) leave() bool {
	s.i++
	s.depth--
	return true
}

// next reads what stands after a member or an element: a comma, or the closing
// bracket, which it leaves in place.
func (s *scanner) next(closing byte) (more, ok bool) {
	s.space()
	switch s.peek() {
	case ',':
		s.i++
		s.space()
		return true, true
	case closing:
		return false, true
	}
	return false, false
}

// key reads a member's name and its colon.
func (s *scanner) key() ([]byte, bool) {
	key, ok := s.text()
	if !ok || key == nil {
		return nil, false
	}
	s.space()
	if s.peek() != ':' {
		return nil, false
	}
	s.i++
	s.space()
	return key, true
}

// text reads a string and returns what it stands for. For another kind of
// value, which is skipped, it returns nil.
func (s *scanner) text() ([]byte, bool) {
	if s.peek() != '"' {
		return nil, s.skip()
	}
	start := s.i
	raw, escaped, ok := s.str()
	if !ok || !escaped {
		return raw, ok
	}
	var decoded string
	err := json.Unmarshal(s.b[start:s.i], &decoded)
	return []byte(decoded), err == nil
}

// str reads a string and returns what is between its quotes. The bytes need
// not be valid UTF-8, as in encoding/json.
func (s *scanner) str() (raw []byte, escaped, ok bool) {
	s.i++
	start := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			raw = s.b[start:s.i:s.i]
			s.i++
			return raw, escaped, true
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil, true, false
			}
		case c < ' ':
			return nil, escaped, false
		default:
			s.i++
		}
	}
	return nil, escaped, false
}

func (s *scanner) escape() bool {
	if s.i+1 >= len(s.b) {
		return false
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return true
	case 'u':
		if s.i+6 > len(s.b) {
			return false
		}
		for _, c := range s.b[s.i+2 : s.i+6] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		s.i += 6
		return true
	}
	return false
}

// skip reads any value.
func (s *scanner) skip() bool {
	switch c := s.peek(); {
	case c == '"':
		_, _, ok := s.str()
		return ok
	case c == '{':
		return s.skipObject()
	case c == '[':
		return s.skipArray()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || isDigit(c):
		return s.number()
	}
	return false
}

func (s *scanner) skipObject() bool {
	if !s.enter() {
		return false
	}
	for more := s.peek() != '}'; more; {
		_, ok := s.key()
		if !ok || !s.skip() {
			return false
		}
		if more, ok = s.next('}'); !ok {
			return false
		}
	}
	return s.leave()
}

func (s *scanner) skipArray() bool {
	if !s.enter() {
		return false
	}
	for more := s.peek() != ']'; more; {
		if !s.skip() {
			return false
		}
		var ok bool
		if more, ok = s.next(']'); !ok {
			return false
		}
	}
	return s.leave()
}

func (s *scanner) literal(word string) bool {
	end := s.i + len(word)
	if end > len(s.b) || string(s.b[s.i:end]) != word {
		return false
	}
	s.i = end
	return true
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		return s.digits()
	}
	return true
}

// digits reads one digit or more.
func (s *scanner) digits() bool {
	start := s.i
	for isDigit(s.peek()) {
		s.i++
	}
	return s.i > start
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
