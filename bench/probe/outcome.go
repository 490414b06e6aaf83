package probe

import (
	"net/http"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// unsentResult is the result of a probe that never left this machine.
const unsentResult = "not_sent"

// Outcome is how one probe ended.
type Outcome struct {
	At        time.Time // when it was over
	Model     string    // "" where it could not be learned
	RequestID string    // "" when only the list of models was asked for
	// TTFT, TPOT and E2E are 0 where there is none.
	TTFT, TPOT, E2E time.Duration
	Failure         *openai.Failure // nil after a success
	// Hint is what to do about the failure, "" where nothing can be said.
	Hint string
}

// outcomeOf is how a request of a target ended.
func outcomeOf(t Target, tr *openai.Trace) Outcome {
	o := Outcome{At: time.Now(), Model: tr.Model, RequestID: tr.RequestID, Failure: tr.Failure, Hint: t.hint(tr.Failure)}
	o.TTFT, _ = openai.TTFT(tr)
	o.TPOT, _ = openai.TPOT(tr)
	o.E2E, _ = openai.E2E(tr)
	return o
}

// unlearned is how a question for the list of models ended.
func unlearned(t Target, f *openai.Failure) Outcome {
	return Outcome{At: time.Now(), Failure: f, Hint: t.hint(f)}
}

// Result is "success", a reason, or "not_sent".
func (o Outcome) Result() string {
	switch {
	case o.Failure == nil:
		return "success"
	case !o.Sent():
		return unsentResult
	}
	return string(o.Failure.Reason)
}

// Sent reports whether the probe left this machine.
func (o Outcome) Sent() bool { return !unsent(o.Failure) }

// Words is the result in words.
func (o Outcome) Words() string {
	switch {
	case o.Failure == nil:
		return "success"
	case !o.Sent():
		return "not sent"
	}
	return o.Failure.Reason.Words()
}

// unsent reports whether a failure is this machine's own and says nothing about the
// server.
func unsent(f *openai.Failure) bool { return f != nil && (f.Unsent || f.Local) }

// hint is what to do about a failure, "" where nothing can be said.
func (t Target) hint(f *openai.Failure) string {
	const flags = "--probe.api-key-file, or http.authorization.credentials_file in YAML"
	switch {
	case f == nil:
		return ""
	case f.Local:
		return "this machine has no descriptor, port or memory left"
	case f.Unsent && t.spec.HTTP.OAuth2 != nil:
		return "see http.oauth2: its files, token_url and what the token server says"
	case f.Unsent:
		return "the exporter's user must be able to read the file, a regular file of at most 64 KiB (certificates: 1 MiB); it is read again for each probe"
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		if slices.ContainsFunc(t.spec.files(), func(f transport.File) bool { return f.Field == "http.authorization.credentials_file" }) {
			return "the server refuses the key in the file of " + flags
		}
		return "the server wants a key: " + flags
	case f.Status == http.StatusNotFound:
		return "is the model's name right, and the URL's path? without a model the server's first is taken"
	case f.Reason == openai.ReasonConnect:
		return "does a server listen at " + openai.HostPort(t.base) + "?"
	case f.Reason == openai.ReasonTLS:
		return "see http.tls_config (ca_file, cert_file, server_name), or is it a plain http:// server?"
	}
	return ""
}
