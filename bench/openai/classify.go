package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
)

// What a response to a plain http request starts with.
const httpPrefix = "HTTP/"

// errorBodyTime bounds the reading of an error's body: its status says enough.
const errorBodyTime = 5 * time.Second

// failure builds a Failure that is fit to be shown.
func (x *exchange) failure(reason Reason, text string) *Failure {
	detail := cleanDetail(text, x.secrets())
	x.mu.Lock()
	defer x.mu.Unlock()
	return &Failure{Reason: reason, Status: x.status, Detail: detail}
}

// secrets are what the endpoint, a token endpoint or a proxy got and may say back.
func (x *exchange) secrets() []string {
	return append(credential.OfConfig(&x.client.http), x.sent.Values()...)
}

// expired is the failure of a request whose context ended, nil otherwise.
func (x *exchange) expired() *Failure {
	if x.ctx.Err() == nil {
		return nil
	}
	x.mu.Lock()
	text := x.body.stream != nil && len(x.body.stream.chunks) > 0
	x.mu.Unlock()
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errStalled):
		return x.failure(ReasonStalled, fmt.Sprintf("no text for %s", x.idle))
	case !errors.Is(cause, errTotal) && !errors.Is(cause, context.DeadlineExceeded):
		return x.failure(ReasonCanceled, cause.Error())
	case text:
		return x.failure(ReasonTimeout, fmt.Sprintf("not over after %s", time.Since(x.started).Round(time.Millisecond)))
	}
	return x.failure(ReasonTimeoutFirstToken, fmt.Sprintf("no text after %s", time.Since(x.started).Round(time.Millisecond)))
}

// noResponse says why the transport failed.
func (x *exchange) noResponse(err error) *Failure {
	x.mu.Lock()
	unsent := x.stages.asked.IsZero()
	x.mu.Unlock()
	switch f := x.expired(); {
	case f != nil && (!unsent || f.Reason == ReasonCanceled):
		return f
	case f != nil:
		return x.unsent("the request's time was over before it could leave: " + err.Error())
	case unsent:
		return x.unsent(err.Error())
	}
	x.mu.Lock()
	stages := x.stages
	// A head that is cut inside a line is malformed to the transport.
	// The transport itself closes a connection whose head it refuses.
	cut := (x.ended || isCut(err) && !errors.Is(err, net.ErrClosed)) && bytes.HasPrefix([]byte(httpPrefix), x.head)
	connected, answered := !stages.gotConn.IsZero(), !stages.firstByte.IsZero()
	refused := x.conn != nil && x.conn.certAsked.Load() && !stages.reused && !answered
	x.mu.Unlock()

	reason := ReasonConnect
	switch dns := (*net.DNSError)(nil); {
	case errors.As(err, &dns):
		reason = ReasonDNS
	case isTLSError(err), refused, !connected && stages.tlsFailed:
		reason = ReasonTLS
	case answered && !cut:
		reason = ReasonProtocol
	}
	f := x.failure(reason, err.Error())
	f.Local = isLocal(err)
	return f
}

// unsent is the failure of a request for which no connection to the server was
// wanted yet: a file of credentials could not be read, a token could not be had.
func (x *exchange) unsent(text string) *Failure {
	reason := ReasonConnect
	if x.client.tlsUnusable() {
		reason = ReasonTLS
	}
	f := x.failure(reason, text)
	f.Unsent = true
	return f
}

// isLocal reports whether this machine had no means left for a connection.
func isLocal(err error) bool {
	lookup, _ := errors.AsType[*net.DNSError](err)
	for _, means := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		// The error of a look-up keeps no more than its cause's text.
		if errors.Is(err, means) || lookup != nil && strings.HasSuffix(lookup.Err, ": "+means.Error()) {
			return true
		}
	}
	return false
}

// tlsUnusable reports whether the TLS files cannot be used at the moment: the
// transport reads them again for every request.
func (c *Client) tlsUnusable() bool {
	return transport.CheckTLS(c.http, &c.files) != nil
}

// badStatus is the failure of a response outside 2xx, nil otherwise.
func (x *exchange) badStatus(resp *http.Response) *Failure {
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests:
		return x.failure(ReasonHTTP429, x.text(resp))
	case code >= 500:
		return x.failure(ReasonHTTP5xx, x.text(resp))
	case code >= 400:
		return x.failure(ReasonHTTP4xx, x.text(resp))
	case code >= 300:
		return x.failure(ReasonProtocol, "redirect not followed"+redirectTarget(resp))
	case code < 200:
		return x.failure(ReasonProtocol, "unexpected status "+resp.Status)
	}
	return nil
}

// redirectTarget leaves out what a location may hold beside the place.
func redirectTarget(resp *http.Response) string {
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || u.Path == "" && u.Host == "" {
		return ""
	}
	place := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return ": " + place.String()
}

// text is the beginning of a response's body, as far as it can be had.
func (x *exchange) text(resp *http.Response) string {
	stop := time.AfterFunc(errorBodyTime, func() { x.cancel(errOver) })
	defer stop.Stop()
	body, _, err := decodedBody(resp)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(body, maxRaw))
	return string(text)
}

// isTLSError reports whether TLS itself failed, on either side.
func isTLSError(err error) bool {
	var (
		alert  tls.AlertError
		record tls.RecordHeaderError
		cert   *tls.CertificateVerificationError
		op     *net.OpError
	)
	return errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &cert) ||
		// An alert received after the handshake has no type of its own.
		errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// isCut reports whether the connection ended, rather than said something wrong.
func isCut(err error) bool {
	var (
		op    *net.OpError
		errno syscall.Errno
	)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || errors.As(err, &op) || errors.As(err, &errno)
}
