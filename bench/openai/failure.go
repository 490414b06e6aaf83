package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// Reason is the class of a failed request. The set is closed, so a reason can be a label value.
type Reason string

// The reasons.
const (
	ReasonDNS               Reason = "dns"                 // the host name did not resolve
	ReasonConnect           Reason = "connect"             // refused, reset or closed before a response; or the request could not be sent at all
	ReasonTLS               Reason = "tls"                 // any TLS failure, a refused client certificate among them
	ReasonTimeoutFirstToken Reason = "timeout_first_token" // the total timeout struck before the first text
	ReasonTimeout           Reason = "timeout"             // the total timeout struck after the first text
	ReasonStalled           Reason = "stalled"             // no text for the idle timeout, after the first text
	ReasonHTTP4xx           Reason = "http_4xx"            // a 4xx other than 429
	ReasonHTTP429           Reason = "http_429"            // too many requests
	ReasonHTTP5xx           Reason = "http_5xx"            // a 5xx
	ReasonStreamError       Reason = "stream_error"        // an error in the stream: an object, bare text, an event named error, a finish_reason such as abort
	ReasonProtocol          Reason = "protocol"            // not HTTP, not SSE, not JSON, a redirect, or over a cap
	ReasonTruncated         Reason = "truncated"           // reset or closed mid-stream, or ended without a proper end
	ReasonEmpty             Reason = "empty"               // ended properly without any text, and without a token that the server counted
	ReasonDegenerate        Reason = "degenerate"          // the text is broken; a probe's alone: see [Degenerate]
	ReasonCanceled          Reason = "canceled"            // the caller withdrew the request
)

// Reasons returns every reason, in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(reasonWords)) }

var reasonWords = map[Reason]string{
	ReasonDNS:               "the host name did not resolve",
	ReasonConnect:           "no connection, or closed before an answer",
	ReasonTLS:               "TLS failed",
	ReasonTimeoutFirstToken: "no text within the timeout",
	ReasonTimeout:           "not finished within the timeout",
	ReasonStalled:           "the text stopped coming",
	ReasonHTTP4xx:           "the server refused the request",
	ReasonHTTP429:           "too many requests for the server",
	ReasonHTTP5xx:           "the server failed",
	ReasonStreamError:       "an error in the middle of the stream",
	ReasonProtocol:          "not the answer of a streaming API",
	ReasonTruncated:         "the stream was cut",
	ReasonEmpty:             "an answer without text",
	ReasonDegenerate:        "a broken answer",
	ReasonCanceled:          "canceled by the client",
}

// Words explains a reason in a clause; an unknown reason is returned as it is.
func (r Reason) Words() string { return cmp.Or(reasonWords[r], string(r)) }

// Unreached reports whether a request that failed so did not come as far as the server.
func (r Reason) Unreached() bool { return r == ReasonDNS || r == ReasonConnect || r == ReasonTLS }

// Failure says why a request failed. It is an error.
type Failure struct {
	Reason Reason `json:"reason"`
	Status int    `json:"status,omitempty"` // of HTTP, 0 when there was no response
	// Detail is the [Excerpt] of the response body or of an error's text, without the
	// credentials that were sent. It may be empty.
	Detail string `json:"detail,omitempty"`
	Local  bool   `json:"local,omitempty"` // this machine had no file descriptor, port or memory left
	// Unsent is true when the request never left this program: a file could not be read, or no
	// OAuth2 token was issued. Reason is connect.
	Unsent bool `json:"unsent,omitempty"`
}

// OutOfFiles reports whether it was file descriptors that this machine lacked.
func (f *Failure) OutOfFiles() bool {
	return f.Local && strings.Contains(f.Detail, "too many open files") // EMFILE and ENFILE
}

func (f *Failure) Error() string {
	text := string(f.Reason)
	if f.Status != 0 {
		text += fmt.Sprintf(": status %d", f.Status)
	}
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

func newFailure(reason Reason, format string, args ...any) *Failure {
	return &Failure{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

const (
	maxExcerpt = 200 // bytes that Excerpt returns
	minSecret  = 4   // bytes; a shorter value would hide half of all texts
	redacted   = "<secret>"
)

// Excerpt is the beginning of a text from outside, fit for a log or a terminal: at most 200
// bytes of printable UTF-8 on one line, with the secrets that were sent to its author replaced.
func Excerpt(text string, secret ...string) string {
	for _, s := range secret {
		if s = strings.TrimSpace(s); len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, redacted)
		}
	}
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' ' // for control characters and those that turn the direction of writing
	}, strings.ToValidUTF8(text, "?")))
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt-len("…")], "") + "…"
}

// errorMessage is the message in an error's JSON, which is {"error":{"message":…}},
// {"message":…}, {"error":…} or FastAPI's {"detail":…}, else the whole text.
func errorMessage(text []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // else gjson looks for it further on
		for _, path := range []string{"error.message", "message", "error", "detail"} {
			if message := gjson.GetBytes(text, path); message.Type == gjson.String && message.Str != "" {
				return message.Str
			}
		}
	}
	return string(text)
}
