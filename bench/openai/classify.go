package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// errorBodyTime bounds the reading of an error's body: its status says enough.
const errorBodyTime = 5 * time.Second

// failure builds a Failure that is fit to be shown.
func (x *exchange) failure(reason Reason, text string) *Failure {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &Failure{Reason: reason, Status: x.trace.Status, Detail: Excerpt(text, x.secrets...)}
}

// redacted is a failure of the stream, fit to be shown, nil for nil.
func (x *exchange) redacted(f *Failure) *Failure {
	if f == nil {
		return nil
	}
	return x.failure(f.Reason, f.Detail)
}

// expired is the failure of a request whose context ended, nil otherwise.
func (x *exchange) expired() *Failure {
	if x.ctx.Err() == nil {
		return nil
	}
	elapsed := time.Since(x.started).Round(time.Millisecond)
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errStalled):
		return x.failure(ReasonStalled, fmt.Sprintf("no text for %s", x.idle))
	case !errors.Is(cause, context.DeadlineExceeded):
		return x.failure(ReasonCanceled, cause.Error())
	case len(x.trace.Chunks) > 0:
		return x.failure(ReasonTimeout, fmt.Sprintf("not over after %s", elapsed))
	}
	return x.failure(ReasonTimeoutFirstToken, fmt.Sprintf("no text after %s", elapsed))
}

// noResponse says why the transport failed.
func (x *exchange) noResponse(err error) *Failure {
	x.mu.Lock()
	stages := x.stages
	x.mu.Unlock()
	expired := x.expired()
	if stages.asked.IsZero() && (expired == nil || expired.Reason != ReasonCanceled) {
		return x.unsent(err.Error())
	}
	if expired != nil {
		return expired
	}
	connected, answered := !stages.gotConn.IsZero(), !stages.firstByte.IsZero()
	reason := errorReason(err, ReasonConnect)
	switch {
	case !connected && !stages.tlsStart.IsZero(), !stages.reused && !answered && x.certAsked.Load():
		reason = ReasonTLS
	case !answered && reason == ReasonProtocol:
		reason = ReasonConnect
	}
	f := x.failure(reason, err.Error())
	f.Local = isLocal(err)
	return f
}

// errorReason is the reason of an error of the transport; cut is that of a connection that
// ended.
func errorReason(err error, cut Reason) Reason {
	switch dns := (*net.DNSError)(nil); {
	case errors.As(err, &dns):
		return ReasonDNS
	case isTLSError(err):
		return ReasonTLS
	case isCut(err):
		return cut
	}
	return ReasonProtocol
}

// unsent is the failure of a request for which no connection to the server was wanted
// yet: a file of credentials could not be read, no OAuth2 token was issued.
func (x *exchange) unsent(text string) *Failure {
	text, _, _ = strings.Cut(text, "\n") // what a token endpoint answers follows
	f := x.failure(ReasonConnect, text)
	f.Unsent = true
	return f
}

// isLocal reports whether this machine had no means left for a connection.
func isLocal(err error) bool {
	means := []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM}
	return slices.ContainsFunc(means, func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// badStatus is the failure of a response outside 2xx, nil otherwise.
func (x *exchange) badStatus(resp *http.Response) *Failure {
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests:
		return x.failure(ReasonHTTP429, x.errorBody(resp))
	case code >= 500:
		return x.failure(ReasonHTTP5xx, x.errorBody(resp))
	case code >= 400:
		return x.failure(ReasonHTTP4xx, x.errorBody(resp))
	case code >= 300:
		return x.failure(ReasonProtocol, "redirect not followed: "+resp.Header.Get("Location"))
	}
	return nil
}

// errorBody is the beginning of a response's body, as far as it can be had.
func (x *exchange) errorBody(resp *http.Response) string {
	stop := time.AfterFunc(errorBodyTime, func() { x.cancel(errOver) })
	defer stop.Stop()
	body, err := decodedBody(resp)
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
		errors.As(err, &op) || errors.As(err, &errno)
}
