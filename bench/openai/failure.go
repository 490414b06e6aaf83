package openai

import "fmt"

// Reason is the class of a failed request. The set is closed, so a reason can
// be a label value.
type Reason string

// The reasons, in the order of [Reasons].
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
	ReasonStreamError       Reason = "stream_error"        // an error object in the stream
	ReasonProtocol          Reason = "protocol"            // not HTTP, not SSE, not JSON, a redirect, or over a cap
	ReasonTruncated         Reason = "truncated"           // reset or closed mid-stream, or ended without a proper end
	ReasonEmpty             Reason = "empty"               // ended properly without any text, and without a token that the server counted
	ReasonCanceled          Reason = "canceled"            // the caller withdrew the request
)

// reasonRow is what the programs know of a reason.
type reasonRow struct {
	reason Reason
	words  string // for somebody who meets it for the first time
	// unreached: the request did not come as far as the server.
	unreached bool
	// seen: what was seen before the end counts, since leaving it out would flatter
	// the figures.
	seen bool
}

// reasonTable has all reasons. The documents' rows about them are held against it. It
// is an array so that asking it, for each failed request of a report, allocates nothing.
func reasonTable() [14]reasonRow {
	return [...]reasonRow{
		{reason: ReasonDNS, words: "the host name did not resolve", unreached: true},
		{reason: ReasonConnect, words: "no connection, or closed before an answer", unreached: true},
		{reason: ReasonTLS, words: "TLS failed", unreached: true},
		{reason: ReasonTimeoutFirstToken, words: "no text within the timeout"},
		{reason: ReasonTimeout, words: "not finished within the timeout", seen: true},
		{reason: ReasonStalled, words: "the text stopped coming", seen: true},
		{reason: ReasonHTTP4xx, words: "the server refused the request"},
		{reason: ReasonHTTP429, words: "too many requests for the server"},
		{reason: ReasonHTTP5xx, words: "the server failed"},
		{reason: ReasonStreamError, words: "an error in the middle of the stream"},
		{reason: ReasonProtocol, words: "not the answer of a streaming API"},
		{reason: ReasonTruncated, words: "the stream was cut"},
		{reason: ReasonEmpty, words: "an answer without text"},
		{reason: ReasonCanceled, words: "canceled by the client"},
	}
}

// Reasons returns every reason, in a stable order.
func Reasons() []Reason {
	var all []Reason
	for _, row := range reasonTable() {
		all = append(all, row.reason)
	}
	return all
}

// row is what is known of r; of a reason of a later version, that it is one.
func (r Reason) row() reasonRow {
	for _, row := range reasonTable() {
		if row.reason == r {
			return row
		}
	}
	return reasonRow{reason: r, words: string(r)}
}

// Words tells a reason to somebody who meets it for the first time, in a clause.
func (r Reason) Words() string { return r.row().words }

// Unreached reports whether a request that failed so did not come as far as the
// server.
func (r Reason) Unreached() bool { return r.row().unreached }

// Failure says why a request failed. It is an error.
type Failure struct {
	Reason Reason `json:"reason"`
	// Status is the HTTP status, 0 when there was no response.
	Status int `json:"status,omitempty"`
	// Detail is the [Excerpt] of the response body or of an error's text, without the
	// credentials that were sent. It may be empty.
	Detail string `json:"detail,omitempty"`
	// Local is true when this machine itself refused: it had no file descriptor,
	// no port or no memory left for a connection. It says nothing about the server.
	Local bool `json:"local,omitempty"`
	// Unsent is true when the request never left this program: a file of its HTTP
	// configuration could not be read, an OAuth2 token could not be had, or the
	// request contradicts itself. It says nothing about the server; Reason is then
	// connect, or tls where the TLS files cannot be used.
	Unsent bool `json:"unsent,omitempty"`
}

// Error is the reason, the status and the detail, as far as they are known.
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

func protocolFailure(format string, args ...any) *Failure {
	return &Failure{Reason: ReasonProtocol, Detail: fmt.Sprintf(format, args...)}
}
