package process

import (
	"slices"
	"sync"
)

// OutputLimit is the most that is kept of stdout, and of stderr, in bytes. A
// program that prints more is ended.
const OutputLimit = 1 << 20

// stream keeps what a program prints on stdout or stderr.
type stream struct {
	enough func(text []byte) bool // nil for never
	stop   func()                 // ends the program

	mu       sync.Mutex
	text     []byte
	complete bool // enough said so
	tooMuch  bool // more than OutputLimit bytes were printed
}

// Write never fails, so that the program does not end for a closed pipe.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(len(p), OutputLimit-len(s.text))
	s.text = append(s.text, p[:room]...)
	s.tooMuch = s.tooMuch || room < len(p)
	s.complete = s.complete || s.enough != nil && s.enough(s.text)
	if s.tooMuch || s.complete {
		s.stop()
	}
	return len(p), nil
}

func (s *stream) contents() (text []byte, complete, tooMuch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.text), s.complete, s.tooMuch
}
