package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The causes with which an exchange ends its own context.
var (
	errStalled = errors.New("idle timeout")
	errOver    = errors.New("request is over")
)

type exchangeKey struct{}

// exchange is one request on its way: it collects what the connection, the transport and
// the body show, each from its own goroutine.
type exchange struct {
	client    *Client
	ctx       context.Context
	cancel    context.CancelCauseFunc
	started   time.Time
	idle      time.Duration // the idle timeout
	certAsked atomic.Bool   // the server asked for a client certificate

	mu        sync.Mutex
	trace     *Trace
	stages    stages
	secrets   []string      // that went out in headers
	last      time.Duration // the instant of the latest read of the connection
	lag       Lag           // of the reads so far
	unstamped bool          // a read came without a stamp of the kernel
}

// stages are the instants the transport reports, zero where it does not.
type stages struct {
	asked                   time.Time // a connection was wanted
	dnsStart, dnsDone       time.Time
	connectStart, connected time.Time
	tlsStart, tlsDone       time.Time
	gotConn, wrote          time.Time
	firstByte               time.Time
	reused                  bool
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

// begin starts the clock of a request, whose trace is t. A timeout of 0 or less is none.
func (c *Client) begin(parent context.Context, t *Trace, timeout, idle time.Duration) *exchange {
	t.Started = time.Now()
	x := &exchange{client: c, started: t.Started, idle: idle, trace: t}
	stop := func() {}
	if timeout > 0 {
		parent, stop = context.WithTimeout(parent, timeout)
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, exchangeKey{}, x))
	x.ctx = httptrace.WithClientTrace(ctx, x.hooks())
	x.cancel = func(cause error) {
		cancel(cause)
		stop()
	}
	return x
}

// exchangeOf is the exchange for which the transport acts, nil if none.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// roundTrip sends req, which must carry x.ctx, and returns the response, or why there is
// none with a good status. An http.Client would follow redirects.
func (x *exchange) roundTrip(req *http.Request) (*http.Response, *Failure) {
	resp, err := x.client.transport.RoundTrip(req)
	if err != nil && x.keptConnClosed() {
		again := req.Clone(x.ctx)
		again.Body, _ = req.GetBody() // it never fails
		resp, err = x.client.fresh.RoundTrip(again)
	}
	if err != nil {
		return nil, x.noResponse(err)
	}
	x.mu.Lock()
	x.trace.Status = resp.StatusCode
	x.mu.Unlock()
	if failure := x.badStatus(resp); failure != nil {
		resp.Body.Close()
		return nil, failure
	}
	return resp, nil
}

// keptConnClosed reports whether the server closed a kept connection before the first byte
// of an answer, as servers do with idle ones, and notes that the request is sent again.
func (x *exchange) keptConnClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.stages.reused || !x.stages.firstByte.IsZero() || x.ctx.Err() != nil {
		return false
	}
	x.trace.Resent, x.stages = true, stages{asked: x.stages.asked}
	return true
}

// finish lets go of everything, and completes the trace.
func (x *exchange) finish() {
	x.cancel(errOver)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.trace.End == 0 {
		x.trace.End = time.Since(x.started)
	}
	x.trace.Phases, x.trace.Reused = x.stages.phases(), x.stages.reused
	_, x.trace.TokenSource = OutputTokens(x.trace)
	if x.trace.Clock = ClockUser; x.trace.Events > 0 && !x.unstamped {
		x.trace.Clock = ClockKernel
	}
	x.trace = new(Trace) // a late read or hook writes here
}

// hooks are called from several goroutines, some after the request is over.
func (x *exchange) hooks() *httptrace.ClientTrace {
	s := &x.stages
	return &httptrace.ClientTrace{
		GetConn:              func(string) { x.note(&s.asked) },
		GotConn:              x.gotConn,
		DNSStart:             func(httptrace.DNSStartInfo) { x.note(&s.dnsStart) },
		DNSDone:              func(httptrace.DNSDoneInfo) { x.note(&s.dnsDone) },
		ConnectStart:         func(string, string) { x.note(&s.connectStart) },
		TLSHandshakeStart:    func() { x.note(&s.tlsStart) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { x.note(&s.tlsDone) },
		WroteHeaderField:     x.wroteHeader,
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.note(&s.wrote) },
		GotFirstResponseByte: func() { x.note(&s.firstByte) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				x.note(&s.connected)
			}
		},
	}
}

// note keeps the first time: several addresses may be tried.
func (x *exchange) note(instant *time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if instant.IsZero() {
		*instant = time.Now()
	}
}

// gotConn takes the connection that will serve the request; another may follow.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stages.gotConn, x.stages.reused = time.Now(), info.Reused
	if c := connOf(info.Conn); c != nil {
		c.owner.Store(x)
	}
}

// wroteHeader keeps what may be a credential, which the endpoint could repeat in a text.
func (x *exchange) wroteHeader(name string, values []string) {
	switch name {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", requestIDHeader:
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, value := range values {
		_, credentials, _ := strings.Cut(value, " ") // after a scheme such as Bearer
		x.secrets = append(x.secrets, value, credentials)
	}
}

// afterRead takes when a read of the connection brought bytes: now, and the kernel's stamp
// in Unix nanoseconds, 0 for none.
func (x *exchange) afterRead(now time.Time, stamp int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = now.Sub(x.started)
	lag := time.Duration(now.UnixNano() - stamp)
	if stamp == 0 || lag < 0 || lag > maxLag {
		x.unstamped = true
		return
	}
	x.last -= lag
	x.lag.add(lag)
}

// arrived is when the latest bytes of the response came. An event ends in them: the reader
// asks for more when it has given out what is whole.
func (x *exchange) arrived() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

// over notes that the stream is over: what is read after it counts no more.
func (x *exchange) over() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.trace.End, x.trace.Lag = time.Since(x.started), x.lag
}
