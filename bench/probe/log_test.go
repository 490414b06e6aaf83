package probe

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// What an operator reads in the log: one line when a target begins to fail or
// fails otherwise, one when it is well again, none for a clean stop.
func TestLog(t *testing.T) {
	output := new(bytes.Buffer)
	l := newLoop(makeTarget(t, nil), nil, New(log.NewNopLogger()).metrics, level.NewFilter(log.NewLogfmtLogger(output), level.AllowInfo()))
	probed := func(f *openai.Failure) {
		l.record(newOutcome(l.target, &openai.Trace{RequestID: "id", Failure: f}))
	}
	for _, reason := range []openai.Reason{"", "connect", "connect", "dns", "", "", "canceled"} {
		var f *openai.Failure
		if reason != "" {
			f = &openai.Failure{Reason: reason, Detail: "why"}
		}
		probed(f)
	}
	probed(&openai.Failure{Reason: openai.ReasonConnect, Detail: "socket: too many open files", Local: true})
	probed(&openai.Failure{Reason: openai.ReasonHTTP4xx, Status: http.StatusUnauthorized, Detail: "why"})
	l.record(newOutcome(l.target, &openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonHTTP5xx, Status: http.StatusBadGateway}}))
	l.record(newOutcome(l.target, &openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonEmpty}}))
	l.record(newOutcome(l.target, &openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonTimeoutFirstToken}}))
	probed(&openai.Failure{Reason: openai.ReasonHTTP4xx, Status: http.StatusNotFound, Detail: "why"})
	want := `level=warn target=a msg="probe failed" reason=connect request_id=id status=0 detail=why hint="does a server listen at 127.0.0.1:1?"
level=warn target=a msg="probe failed" reason=dns request_id=id status=0 detail=why hint="does the host name of the URL resolve?"
level=info target=a msg="probe succeeds again"
level=warn target=a msg="probe failed" reason=not_sent request_id=id status=0 detail="socket: too many open files" hint="the exporter's machine or the probe's configuration is the cause; it is tried again at each probe"
level=warn target=a msg="probe failed" reason=http_4xx request_id=id status=401 detail=why hint="the server wants a key, or another one: --probe.api-key-file, or http.authorization.credentials_file in YAML"
level=warn target=a msg="probe failed" reason=http_5xx request_id= status=502 detail= hint="/v1/models failed; if completions work, set --probe.model, or model in YAML"
level=warn target=a msg="probe failed" reason=empty request_id= status=0 detail= hint="/v1/models lists no model: set --probe.model, or model in YAML"
level=warn target=a msg="probe failed" reason=timeout_first_token request_id= status=0 detail= hint=
level=warn target=a msg="probe failed" reason=http_4xx request_id=id status=404 detail=why hint="is the model's name right, and the URL's path? without a model the server's first is taken"
`
	equal(t, "log", want, output.String())
}
