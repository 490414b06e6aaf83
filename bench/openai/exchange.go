package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	resendTime = time.Second            // within which a server closes a connection that it took for idle
	drainTime  = 100 * time.Millisecond // for reading a finished response to its end
	drainSize  = 64 << 10               // bytes of that
)

// The causes with which an exchange ends its own context.
var (
	errStalled  = errors.New("idle timeout")
	errFinished = errors.New("request has finished")
)

type exchangeKey struct{}

// exchange is one request on its way, as the goroutines of connection, transport and body show it.
type exchange struct {
	client    *Client
	ctx       context.Context
	cancel    context.CancelCauseFunc
	started   time.Time
	idle      time.Duration // the idle timeout
	trace     *Trace        // for the goroutine of the request alone
	sent      func()        // lets the next request be sent
	certAsked atomic.Bool   // the server asked for a client certificate

	mu        sync.Mutex
	stages    stages
	secrets   []string      // that went out in headers
	last      time.Duration // the instant of the latest read of the connection
	lag       Lag           // of the reads so far
	unstamped bool          // a read came without a stamp of the kernel
}

// stages are the instants that the transport reports, zero where it does not.
type stages struct {
	asked                   time.Time // a connection was wanted
	dnsStart, dnsDone       time.Time
	connectStart, connected time.Time
	tlsStart, tlsDone       time.Time
	gotConn, wrote          time.Time
	firstByte               time.Time
	reused, wasIdle         bool // the connection
}

func span(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(0, to.Sub(from))
}

// begin starts the clock of a request, whose trace is t. A timeout of 0 or less is none.
func (c *Client) begin(parent context.Context, t *Trace, timeout, idle time.Duration) *exchange {
	t.Started = time.Now()
	x := &exchange{client: c, started: t.Started, idle: idle, trace: t, sent: func() {}}
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

func (x *exchange) stream(req *http.Request, s *stream) *Failure {
	resp, failure := x.roundTrip(req)
	if failure != nil {
		return failure
	}
	defer resp.Body.Close()
	failure = x.readStream(decodedBody(resp), s)
	if slices.Contains(brokenFinishes, s.trace.Finish) && (failure == nil || failure.Reason != ReasonStreamError) {
		failure = newFailure(ReasonStreamError, "finish_reason %s", s.trace.Finish) // whatever followed
	}
	x.mu.Lock()
	x.trace.End, x.trace.Lag = time.Since(x.started), x.lag // what is read from now on counts no more
	x.mu.Unlock()
	if failure == nil && x.client.keepAlive { // read to its end, its connection can be kept
		stop := time.AfterFunc(drainTime, func() { x.cancel(errFinished) })
		defer stop.Stop()
		_, _ = io.CopyN(io.Discard, resp.Body, drainSize)
	}
	return failure
}

// roundTrip sends req, which must carry x.ctx, and returns the response, or why there is none
// with a good status. An http.Client would follow redirects.
func (x *exchange) roundTrip(req *http.Request) (*http.Response, *Failure) {
	resp, err := x.client.transport.RoundTrip(req)
	if err != nil && x.sendAgain() {
		again := req.Clone(x.ctx)
		again.Body, _ = req.GetBody() // it never fails
		resp, err = x.client.fresh.RoundTrip(again)
	}
	if err != nil {
		return nil, x.noResponse(err)
	}
	x.trace.Status = resp.StatusCode
	if failure := x.badStatus(resp); failure != nil {
		resp.Body.Close()
		return nil, failure
	}
	return resp, nil
}

// sendAgain reports whether the request is to be sent once more, and notes that: servers close
// an idle connection without a word. One that closes it later has lost a request.
func (x *exchange) sendAgain() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := &x.stages
	if !s.wasIdle || !s.firstByte.IsZero() || time.Since(s.gotConn) >= resendTime || x.ctx.Err() != nil {
		return false
	}
	x.trace.Resent, x.stages = true, stages{asked: s.asked}
	return true
}

// finish ends the request and completes its trace, and its failure where f is one.
func (x *exchange) finish(f *Failure) {
	x.cancel(errFinished)
	x.sent()
	x.mu.Lock()
	defer x.mu.Unlock()
	t, s := x.trace, &x.stages
	if f != nil {
		f.Status, f.Detail = t.Status, Excerpt(f.Detail, x.secrets...)
	}
	t.Failure, t.Finish = f, Excerpt(t.Finish, x.secrets...)
	if t.End == 0 {
		t.End = time.Since(x.started)
	}
	t.Reused = s.reused
	t.Phases = Phases{Send: span(s.gotConn, s.wrote), Wait: span(s.wrote, s.firstByte)}
	if !s.reused {
		t.Phases.Resolve = span(s.dnsStart, s.dnsDone)
		t.Phases.Connect = span(s.connectStart, s.connected)
		t.Phases.TLS = span(s.tlsStart, s.tlsDone)
	}
	_, t.TokenSource = OutputTokens(t)
	if t.Clock = ClockUser; t.Events > 0 && !x.unstamped {
		t.Clock = ClockKernel
	}
}

// hooks are called from several goroutines, some after the request has finished.
func (x *exchange) hooks() *httptrace.ClientTrace {
	s := &x.stages
	return &httptrace.ClientTrace{
		GetConn:              func(string) { x.note(&s.asked) },
		DNSStart:             func(httptrace.DNSStartInfo) { x.note(&s.dnsStart) },
		DNSDone:              func(httptrace.DNSDoneInfo) { x.note(&s.dnsDone) },
		ConnectStart:         func(string, string) { x.note(&s.connectStart) },
		TLSHandshakeStart:    func() { x.note(&s.tlsStart) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { x.note(&s.tlsDone) },
		WroteHeaderField:     x.wroteHeader,
		GotFirstResponseByte: func() { x.note(&s.firstByte) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				x.note(&s.connected)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			x.note(&s.wrote)
			x.sent()
		},
		GotConn: func(info httptrace.GotConnInfo) { // another connection may follow
			x.mu.Lock()
			defer x.mu.Unlock()
			s.gotConn, s.reused, s.wasIdle = time.Now(), info.Reused, info.WasIdle
			if address, ok := info.Conn.LocalAddr().(*connAddr); ok {
				address.conn.owner.Store(x)
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

// wroteHeader keeps what may be a credential, which the endpoint could repeat in a text.
func (x *exchange) wroteHeader(name string, values []string) {
	switch name {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", requestIDHeader, traceParentHeader:
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, value := range values {
		_, credentials, _ := strings.Cut(value, " ") // after a scheme such as Bearer
		x.secrets = append(x.secrets, value, credentials)
	}
}

// afterRead notes when bytes came: now, and by the kernel's stamp, Unix nanoseconds or 0 for none.
func (x *exchange) afterRead(now time.Time, stamp int64) {
	x.client.received.Store(int64(now.Sub(x.client.made)))
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
