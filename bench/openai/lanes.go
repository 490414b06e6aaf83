package openai

import (
	"net/http"
	"sync"
)

// laneSize is how many idle connections to one host the library's transport
// keeps, which cannot be told to keep more; it closes what comes back above it.
const laneSize = 1000

// lanes spreads requests over transports, each of which serves at most laneSize
// at a time: so every connection can be kept for the next request. The first
// lane with room is taken, so that the connections of the others are not spread
// thinner than need be.
type lanes struct {
	open func() (http.RoundTripper, error)

	mu  sync.Mutex
	all []*lane
}

type lane struct {
	http.RoundTripper
	busy int
}

// enter returns a lane for one request, to be left when that is over.
func (l *lanes) enter() (*lane, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.all {
		if ln.busy < laneSize {
			ln.busy++
			return ln, nil
		}
	}
	transport, err := l.open()
	if err != nil {
		return nil, err
	}
	ln := &lane{RoundTripper: transport, busy: 1}
	l.all = append(l.all, ln)
	return ln, nil
}

func (l *lanes) leave(ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.busy--
}

func (l *lanes) closeIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.all {
		if t, ok := ln.RoundTripper.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	}
}
