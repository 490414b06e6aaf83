package probe

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// What an operator reads in the log: one line when a target begins to fail or
// fails otherwise, one when it is well again, none for a clean stop.
func TestLog(t *testing.T) {
	output := new(bytes.Buffer)
	l := newLoop(makeTarget(t, nil), nil, New(log.NewNopLogger()).metrics, level.NewFilter(log.NewLogfmtLogger(output), level.AllowInfo()))
	probed := func(f *openai.Failure) {
		l.record(outcomeOf(l.target, &openai.Trace{RequestID: "id", Failure: f}))
	}
	for _, reason := range []openai.Reason{"", "connect", "connect", "http_5xx", "", "", "canceled"} {
		var f *openai.Failure
		if reason != "" {
			f = &openai.Failure{Reason: reason, Detail: "why"}
		}
		probed(f)
	}
	probed(&openai.Failure{Reason: openai.ReasonConnect, Detail: "open /key: no such file or directory", Unsent: true})
	probed(&openai.Failure{Reason: openai.ReasonHTTP4xx, Status: http.StatusUnauthorized, Detail: "why"})
	l.record(modelsFailed(l.target, &openai.Failure{Reason: openai.ReasonHTTP5xx, Status: http.StatusBadGateway}))
	want := `level=warn target=a msg="probe failed" request_id=id reason=connect status=0 detail=why hint="does a server listen at 127.0.0.1:1?"
level=warn target=a msg="probe failed" request_id=id reason=http_5xx status=0 detail=why
level=info target=a msg="probe succeeds again"
level=warn target=a msg="probe not sent" detail="open /key: no such file or directory" hint="the exporter's user must be able to read the file; it is read again for each probe"
level=warn target=a msg="probe failed" request_id=id reason=http_4xx status=401 detail=why hint="the server wants a key, or another one: --probe.api-key-file, or http.authorization.credentials_file in YAML"
level=warn target=a msg="asking for the list of models failed" url=http://127.0.0.1:1/v1/models reason=http_5xx status=502 detail= hint="/v1/models names no model: name it with --probe.model, or model in YAML"
`
	if diff := cmp.Diff(want, output.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
