package openai

import (
	"crypto/tls"
	"net/http/httptrace"
	"time"
)

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

// hooks are called by the transport from several goroutines, some after the
// request is over.
func (x *exchange) hooks() *httptrace.ClientTrace {
	set := func(instant func(s *stages) *time.Time) {
		x.mu.Lock()
		defer x.mu.Unlock()
		*instant(&x.stages) = time.Now()
	}
	return &httptrace.ClientTrace{
		GetConn:  func(string) { set(func(s *stages) *time.Time { return &s.asked }) },
		GotConn:  x.gotConn,
		DNSStart: func(httptrace.DNSStartInfo) { set(func(s *stages) *time.Time { return &s.dnsStart }) },
		DNSDone:  func(httptrace.DNSDoneInfo) { set(func(s *stages) *time.Time { return &s.dnsDone }) },
		ConnectStart: func(string, string) {
			x.mu.Lock()
			defer x.mu.Unlock()
			// Several addresses may be tried: the phase starts with the first.
			if x.stages.connectStart.IsZero() {
				x.stages.connectStart = time.Now()
			}
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				set(func(s *stages) *time.Time { return &s.connected })
			}
		},
		TLSHandshakeStart:    func() { set(func(s *stages) *time.Time { return &s.tlsStart }) },
		TLSHandshakeDone:     x.handshaken,
		WroteHeaderField:     x.wroteHeader,
		WroteRequest:         func(httptrace.WroteRequestInfo) { set(func(s *stages) *time.Time { return &s.wrote }) },
		GotFirstResponseByte: func() { set(func(s *stages) *time.Time { return &s.firstByte }) },
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

// wroteHeader keeps what must not be repeated of a header as it went out:
// whatever the configuration says, this is what a server can echo.
func (x *exchange) wroteHeader(name string, values []string) {
	secrets := headerSecrets(name, values)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = append(x.sent, secrets...)
}
