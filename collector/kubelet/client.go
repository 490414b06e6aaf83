package kubelet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

const (
	// longest bounds one List, both versions together. A kubelet answers from memory.
	longest = 5 * time.Second
	// maxHeader is the most bytes of an answer's headers, and of its trailers.
	maxHeader = 64 << 10
	// maxRest is the most polls in a row that are left out after the kubelet refused one for its rate limit.
	maxRest = 7
)

// Client asks one kubelet. It holds nothing open between two questions: a kubelet that starts again makes
// another socket, and a question that fails leaves nothing behind.
type Client struct {
	socket  string
	timeout time.Duration
	rest    int // polls still to be left out
	refused int // refusals in a row
}

// New returns a client of the kubelet at a unix socket. A question takes at most timeout, and never more than 5 s.
func New(socket string, timeout time.Duration) *Client {
	return &Client{socket: socket, timeout: min(timeout, longest)}
}

// List asks for the allocated devices that wanted says yes to. It must not be called twice at a time. The error is a
// *failure.Error.
func (c *Client) List(ctx context.Context, wanted func(resource string, dynamic bool) bool) ([]Claim, error) {
	if c.rest > 0 {
		c.rest--
		return nil, failure.New(failure.Busy, "asking the kubelet at %q: not asked again yet, after it refused for its rate limit", c.socket)
	}
	claims, err := c.list(ctx, wanted)
	if err == nil {
		c.refused = 0
		return claims, nil
	}
	reason := failure.ReasonOf(err)
	if refusal := (*statusError)(nil); errors.As(err, &refusal) {
		reason = refusal.reason()
	}
	if reason == failure.Busy {
		c.refused = min(c.refused+1, 3)
		c.rest = min(1<<c.refused-1, maxRest)
	}
	return nil, failure.New(reason, "asking the kubelet at %q: %w", c.socket, err)
}

// list asks in the usual version of the API, and in the old one where that is not known.
func (c *Client) list(ctx context.Context, wanted func(resource string, dynamic bool) bool) ([]Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	message, err := c.call(ctx, "v1")
	if refusal := (*statusError)(nil); errors.As(err, &refusal) && refusal.code == codeUnimplemented {
		message, err = c.call(ctx, "v1alpha1")
	}
	if err != nil {
		return nil, err
	}
	return Decode(message, wanted)
}

// call makes one connection for one call and returns the answer's message.
func (c *Client) call(ctx context.Context, version string) ([]byte, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // whatever the transport still does with it
	if at, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(at) // ends the reader of the connection too
	}
	transport := newTransport(conn)
	defer transport.CloseIdleConnections()
	message, err := exchange(ctx, transport, version)
	switch {
	case err == nil:
		return message, nil
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		return nil, failure.New(failure.Timeout, "no whole answer within %v", c.timeout)
	case hasClosed(err):
		return nil, failure.New(failure.Driver, "it closed the connection")
	}
	return nil, err
}

// dial connects to the socket. Links on the way are followed: the folder belongs to root, and is often one.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	info, err := os.Stat(c.socket)
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, failure.New(failure.NotFound, "not a socket")
	}
	var conn net.Conn
	if err == nil {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	}
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, failure.New(failure.NotFound, "no such socket")
	case errors.Is(err, fs.ErrPermission):
		return nil, failure.New(failure.Permission, "permission denied")
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, failure.New(failure.Driver, "nobody listens at the socket")
	case ctx.Err() != nil:
		return nil, failure.New(failure.Timeout, "no connection within %v", c.timeout)
	}
	return nil, failure.New(failure.Driver, "%w", cause(err))
}

// newTransport speaks HTTP/2 without TLS over one connection, and never makes another.
func newTransport(conn net.Conn) *http.Transport {
	t := &http.Transport{
		Protocols:              new(http.Protocols),
		DisableCompression:     true, // gRPC has its own, and none was asked for
		MaxResponseHeaderBytes: maxHeader,
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	unused := make(chan net.Conn, 1)
	unused <- conn
	t.DialContext = func(context.Context, string, string) (net.Conn, error) {
		select {
		case conn := <-unused:
			return conn, nil
		default:
			return nil, io.ErrUnexpectedEOF // a second try, since the first connection broke
		}
	}
	return t
}

// exchange sends the empty message that List takes, and reads the answer.
func exchange(ctx context.Context, transport http.RoundTripper, version string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/"+version+".PodResourcesLister/List", bytes.NewReader(make([]byte, prefixSize)))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"accelerator_exporter"}}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil, garbled(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "application/grpc") {
		return nil, failure.New(failure.Parse, "it is no gRPC server: HTTP status %d, content type %q", answer.StatusCode, failure.Excerpt([]byte(kind)))
	}
	message, isEmpty, err := read(answer.Body)
	if err != nil {
		return nil, err
	}
	if err := status(answer.Header, answer.Trailer, isEmpty); err != nil {
		return nil, err
	}
	if isEmpty {
		return nil, failure.New(failure.Parse, "an answer without a message")
	}
	return message, nil
}

// read reads the one message of an answer to its end, since the status stands behind it.
func read(body io.Reader) (message []byte, isEmpty bool, err error) {
	var prefix [prefixSize]byte
	switch n, err := io.ReadFull(body, prefix[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil, true, nil
	case err != nil && n > 0 && errors.Is(err, io.ErrUnexpectedEOF):
		return nil, false, failure.New(failure.Parse, "the answer ends after %d bytes", n)
	case err != nil:
		return nil, false, garbled(err)
	}
	n, err := size(prefix[:])
	if err != nil {
		return nil, false, err
	}
	message, err = io.ReadAll(io.LimitReader(body, int64(n)+1))
	switch {
	case err != nil:
		return nil, false, garbled(err)
	case len(message) < n:
		return nil, false, failure.New(failure.Parse, "the message of the answer is cut: %d of %d bytes", len(message), n)
	case len(message) > n:
		return nil, false, failure.New(failure.Parse, "more than one message in the answer")
	}
	return message, false, nil
}

// garbled is an error of the HTTP library, as one short line. Errors of the connection keep what they are.
func garbled(err error) error {
	if hasClosed(err) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return failure.New(failure.Parse, "no answer of HTTP/2: %s", plain(err.Error()))
}

// hasClosed reports whether the other end went away.
func hasClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// cause is err without the operation and the address that net puts in front.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
