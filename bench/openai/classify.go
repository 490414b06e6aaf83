package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	errorBodyTime = 5 * time.Second // for reading an error's body
	errorBodySize = 64 << 10        // bytes of it: some repeat the prompt
)

// expired is the failure of a request whose context ended, nil otherwise.
func (x *exchange) expired() *Failure {
	if x.ctx.Err() == nil {
		return nil
	}
	elapsed := time.Since(x.started).Round(time.Millisecond)
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errStalled):
		return newFailure(ReasonStalled, "no text for %s", x.idle)
	case !errors.Is(cause, context.DeadlineExceeded):
		return newFailure(ReasonCanceled, "%v", cause)
	case len(x.trace.Chunks) > 0:
		return newFailure(ReasonTimeout, "not finished after %s", elapsed)
	}
	return newFailure(ReasonTimeoutFirstToken, "no text after %s", elapsed)
}

// noResponse says why the transport failed.
func (x *exchange) noResponse(err error) *Failure {
	x.mu.Lock()
	stages := x.stages
	x.mu.Unlock()
	expired := x.expired()
	if stages.asked.IsZero() && (expired == nil || expired.Reason != ReasonCanceled) {
		// A file of credentials could not be read, or no OAuth2 token was issued.
		text, _, _ := strings.Cut(err.Error(), "\n") // what a token endpoint answers follows
		return &Failure{Reason: ReasonConnect, Detail: text, Unsent: true}
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
	errno, _ := errors.AsType[syscall.Errno](err)
	lacking := []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM}
	return &Failure{Reason: reason, Detail: err.Error(), Local: slices.Contains(lacking, errno)}
}

// errorReason is the reason of an error of the transport, cut where the connection ended.
func errorReason(err error, cut Reason) Reason {
	_, isDNS := errors.AsType[*net.DNSError](err)
	_, isAlert := errors.AsType[tls.AlertError](err)
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	_, isErrno := errors.AsType[syscall.Errno](err)
	isEOF := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
	switch {
	case isDNS:
		return ReasonDNS
	case isAlert, isRecord, isCertificate:
		return ReasonTLS
	case isOp && (op.Op == "remote error" || op.Op == "local error"): // an alert after the handshake
		return ReasonTLS
	case isOp, isErrno, isEOF:
		return cut
	}
	return ReasonProtocol
}

// badStatus is the failure of a response outside 2xx, nil otherwise.
func (x *exchange) badStatus(resp *http.Response) *Failure {
	var reason Reason
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code < 400:
		return newFailure(ReasonProtocol, "redirect not followed: %s", resp.Header.Get("Location"))
	case code == http.StatusTooManyRequests:
		reason = ReasonHTTP429
	case code < 500:
		reason = ReasonHTTP4xx
	default:
		reason = ReasonHTTP5xx
	}
	stop := time.AfterFunc(errorBodyTime, func() { x.cancel(errFinished) })
	defer stop.Stop()
	text, _ := io.ReadAll(io.LimitReader(decodedBody(resp), errorBodySize)) // as far as it can be had
	return &Failure{Reason: reason, Detail: errorMessage(text)}
}
