package webserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	patience    = 100 * time.Millisecond // with a client that is written to, while another waits
	longestWait = 5 * time.Second        // for a place; less than a scrape's timeout
)

// Pages bounds how many pages are held in memory. A page is rendered whole, one at a
// time, and then written: a client that does not read holds its text and nothing else,
// and one that leaves is no error of the rendering. One too many waits, and ends the
// connection of the client that has been written to longest.
type Pages struct {
	left func(r *http.Request, err error)

	places    chan struct{} // has one for each page that is held
	rendering sync.Mutex

	mu      sync.Mutex
	writing []*page // the oldest first
}

// page is one that is being written.
type page struct {
	conn  net.Conn
	since time.Time
}

// NewPages holds at most so many. It tells left of clients that did not take all of
// theirs.
func NewPages(limit int, left func(r *http.Request, err error)) *Pages {
	return &Pages{left: left, places: make(chan struct{}, limit)}
}

// Held serves what a handler renders, which is called by one request at a time. It
// works in a server of [New].
func (p *Pages) Held(render http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.enter(r.Context()) {
			http.Error(w, fmt.Sprintf("More than %d requests at once, for %s.", cap(p.places), longestWait), http.StatusServiceUnavailable)
			return
		}
		defer func() { <-p.places }()
		text := p.render(render, w, r)
		this := p.begin(r)
		defer p.done(this)
		w.Header().Set("Content-Length", strconv.Itoa(text.body.Len()))
		w.WriteHeader(text.status)
		if _, err := w.Write(text.body.Bytes()); err != nil {
			p.left(r, err)
		}
	})
}

// enter waits for a place, and reports whether there was one. That of a client that was
// ended is free when its handler has returned, not before: until then it holds its page.
func (p *Pages) enter(ctx context.Context) bool {
	select {
	case p.places <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	again := time.NewTicker(patience)
	defer again.Stop()
	for {
		p.endOldest()
		select {
		case p.places <- struct{}{}:
			return true
		case <-again.C:
		case <-ctx.Done():
			return false
		}
	}
}

// endOldest ends the client that has been written to longest, if it had time enough. Its
// connection is closed: nothing less ends an HTTP/2 stream whose client takes no bytes.
func (p *Pages) endOldest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.writing) > 0 && time.Since(p.writing[0].since) >= patience {
		end(p.writing[0].conn)
		p.writing = slices.Delete(p.writing, 0, 1)
	}
}

func (p *Pages) begin(r *http.Request) *page {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	this := &page{conn, time.Now()}
	p.writing = append(p.writing, this)
	return this
}

// done holds the lock that endOldest has, so that this never meets the connection's next
// request.
func (p *Pages) done(this *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = slices.DeleteFunc(p.writing, func(other *page) bool { return other == this })
}

func (p *Pages) render(render http.Handler, w http.ResponseWriter, r *http.Request) *rendered {
	p.rendering.Lock()
	defer p.rendering.Unlock()
	text := &rendered{ResponseWriter: w, status: http.StatusOK}
	render.ServeHTTP(text, r)
	return text
}

// rendered is a response that is kept; its headers are the real ones.
type rendered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (t *rendered) WriteHeader(status int) { t.status = status }

// Write implements io.Writer.
func (t *rendered) Write(b []byte) (int, error) { return t.body.Write(b) }
