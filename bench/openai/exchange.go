package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
)

// The causes with which an exchange ends its own context.
var (
	errTotal   = errors.New("total timeout")
	errStalled = errors.New("idle timeout")
	errOver    = errors.New("request is over")
)

// maxLags bounds what is kept of an endless response: comments are reads too.
const maxLags = 1 << 16

type exchangeKey struct{}

// exchange is one request on its way: it collects what the connection, the
// transport and the body tell, each from its own goroutine.
type exchange struct {
	client  *Client
	ctx     context.Context
	cancel  context.CancelCauseFunc
	started time.Time
	idle    time.Duration
	sent    credential.Sent

	mu     sync.Mutex
	dialed *conn // the connection made for this request
	conn   *conn // the connection that serves it
	stages stages
	head   []byte          // the response's first bytes, where they are not encrypted
	ended  bool            // the connection gives no more
	last   instant         // of the latest read
	status int             // of the response, 0 before
	lags   []time.Duration // one for each stamped read

	body bodyState
}

// stages are the instants the transport tells, zero where it does not.
type stages struct {
	asked                   time.Time // a connection was wanted
	dnsStart, dnsDone       time.Time
	connectStart, connected time.Time
	tlsStart, tlsDone       time.Time
	gotConn, wrote          time.Time
	firstByte               time.Time
	tlsFailed, reused       bool
}

func (s *stages) phases() Phases {
	p := Phases{Send: span(s.gotConn, s.wrote), Wait: span(s.wrote, s.firstByte)}
	if !s.reused {
		p.Resolve = span(s.dnsStart, s.dnsDone)
		p.Connect = span(s.connectStart, s.connected)
		p.TLS = span(s.tlsStart, s.tlsDone)
	}
	return p
}

// span is 0 unless both ends are known.
func span(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(0, to.Sub(from))
}

// begin starts a request's clock. A timeout of 0 or less is none.
func (c *Client) begin(parent context.Context, timeout, idle time.Duration) *exchange {
	x := &exchange{client: c, started: time.Now(), idle: idle}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, exchangeKey{}, x))
	x.cancel = cancel
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, x.started.Add(timeout), errTotal)
		x.cancel = func(cause error) {
			cancel(cause)
			stop()
		}
	}
	x.ctx = httptrace.WithClientTrace(ctx, x.hooks())
	return x
}

// exchangeOf is the exchange for which the transport acts, nil if none.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// roundTrip sends req, which must carry x.ctx, and returns the response, or why
// there is none with a good status.
func (x *exchange) roundTrip(req *http.Request) (*http.Response, *Failure) {
	// The transport is asked directly: an http.Client would follow redirects
	// and put the URL into its errors.
	over := x.client.tokenConns.endWith(x.ctx)
	resp, err := x.client.transport.RoundTrip(req)
	over()
	if err != nil {
		return nil, x.noResponse(err)
	}
	x.mu.Lock()
	x.status = resp.StatusCode
	x.mu.Unlock()
	if failure := x.badStatus(resp); failure != nil {
		resp.Body.Close()
		return nil, failure
	}
	return resp, nil
}

// finish lets go of everything, and fills in what the exchange learned.
func (x *exchange) finish(t *Trace) {
	x.cancel(errOver)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.body.release(x.client)
	if x.conn != nil {
		x.conn.owner.CompareAndSwap(x, nil)
	}
	if t == nil {
		return
	}
	t.Started = x.started
	t.End = x.body.end
	if !x.body.settled {
		t.End = time.Since(x.started)
	}
	t.Lags, t.Status = x.lags, x.status
	t.Phases, t.Reused = x.stages.phases(), x.stages.reused
}

// hooks are called by the transport from several goroutines, some after the
// request is over.
func (x *exchange) hooks() *httptrace.ClientTrace {
	s := &x.stages
	return &httptrace.ClientTrace{
		GetConn:              func(string) { x.note(&s.asked) },
		GotConn:              x.gotConn,
		DNSStart:             func(httptrace.DNSStartInfo) { x.note(&s.dnsStart) },
		DNSDone:              func(httptrace.DNSDoneInfo) { x.note(&s.dnsDone) },
		ConnectStart:         func(string, string) { x.noteFirst(&s.connectStart) },
		TLSHandshakeStart:    func() { x.note(&s.tlsStart) },
		TLSHandshakeDone:     x.handshaken,
		WroteHeaderField:     x.sent.Note, // whatever the configuration says, this can be said back
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.note(&s.wrote) },
		GotFirstResponseByte: func() { x.note(&s.firstByte) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				x.note(&s.connected)
			}
		},
	}
}

func (x *exchange) note(instant *time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*instant = time.Now()
}

// noteFirst keeps the first: several addresses may be tried.
func (x *exchange) noteFirst(instant *time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if instant.IsZero() {
		*instant = time.Now()
	}
}

// gotConn takes the connection that will serve the request. The transport may
// take another one when the first turns out to be dead.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stages.gotConn, x.stages.reused = time.Now(), info.Reused
	x.ended = false
	x.conn = connOf(info.Conn)
	if x.conn != nil {
		x.conn.ready()
		x.conn.owner.Store(x)
	}
}

// tookConn takes a connection that was made for this request.
func (x *exchange) tookConn(c *conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dialed = c
}

// certAsked notes that the server asked for a client certificate.
func (x *exchange) certAsked() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dialed != nil {
		x.dialed.certAsked.Store(true)
	}
}

func (x *exchange) handshaken(_ tls.ConnectionState, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stages.tlsDone, x.stages.tlsFailed = time.Now(), err != nil
	if err == nil && x.dialed != nil {
		x.dialed.ready()
	}
}

// keepSecret keeps a credential that was read for the exchange of ctx: some are sent to
// a token endpoint, which may echo them.
func keepSecret(ctx context.Context, credential string) {
	if x := exchangeOf(ctx); x != nil {
		x.sent.Keep(credential)
	}
}

// afterRead takes what a read of the connection brought, and when. Nothing
// means that the connection has ended.
func (x *exchange) afterRead(p []byte, now time.Time, stamp int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(p) == 0 {
		x.ended = true
		return
	}
	user := now.Sub(x.started)
	x.last = instant{user: user, kernel: user}
	if lag, ok := lagOf(now, stamp); ok {
		x.last.kernel, x.last.stamped = user-lag, true
		if len(x.lags) < maxLags {
			x.lags = append(x.lags, lag)
		}
	}
	if room := len(httpPrefix) - len(x.head); room > 0 && x.client.base.Scheme == "http" {
		x.head = append(x.head, p[:min(room, len(p))]...)
	}
}
