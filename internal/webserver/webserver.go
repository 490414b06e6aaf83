// Package webserver bounds what strangers at a web port can cost. Where something is
// taken by as many clients as may have it, the one that is waited for longest loses its
// own to the new one.
package webserver

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	readTimeout    = 30 * time.Second
	writeTimeout   = 15 * time.Second // longer than any scrape waits by default
	maxHeaderBytes = 16 << 10
	maxStreams     = 4        // of one HTTP/2 connection, at once; Prometheus needs one
	maxUnread      = 64 << 10 // bytes of bodies, of one HTTP/2 connection; the least there is
)

// New returns a server for pages that take no body, with at most so many clients
// connected at once; each costs a few tens of KiB.
func New(pages http.Handler, connections int) *http.Server {
	return &http.Server{
		Handler:           withoutBody(pages),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerConnection: maxUnread,
			MaxReceiveBufferPerStream:     maxUnread,
			WriteByteTimeout:              writeTimeout, // WriteTimeout is of streams only
		},
		ConnState:   newConnections(connections).track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		// Its own answer to OPTIONS * waits for the body.
		DisableGeneralOptionsHandler: true,
	}
}

// connKey is the key of a request's net.Conn.
type connKey struct{}

// withoutBody keeps net/http from waiting for a body that nobody reads, which it does
// before the answer is sent and after it, to use the connection again.
func withoutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			w.Header().Set("Connection", "close")
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // else the server's timeout ends it
		}
		next.ServeHTTP(w, r)
	})
}
