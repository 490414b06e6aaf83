package probe

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// serve runs a model server on loopback until the test's end, and returns its URL.
func serve(t *testing.T, cfg fakevllm.Config) string {
	t.Helper()
	cfg.Speed = 10 // steps of 6 ms, so that chunks are apart
	s, err := fakevllm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
	})
	return server.URL
}

// faulty is a target that is called as the fault it meets.
func faulty(t testing.TB, url string, fault fakevllm.Fault, change func(*Spec)) Target {
	target := quickTarget(t, url+"/fault/"+string(fault), func(s *Spec) {
		s.Name, s.Model, s.MaxTokens = string(fault), "qwen2.5", 8
		if change != nil {
			change(s)
		}
	})
	target.spec.Interval = model.Duration(250 * time.Millisecond)
	return target
}

// One server, many targets side by side: every failure is found at its own target,
// under its own reason, and nowhere else.
func TestFaultsSideBySide(t *testing.T) {
	url := serve(t, fakevllm.Config{})
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	short := func(s *Spec) { s.Timeout = model.Duration(1500 * time.Millisecond) }
	tests := []struct {
		fault  fakevllm.Fault
		change func(*Spec)
		want   openai.Reason
	}{
		{fakevllm.FaultNone, nil, ""},
		{fakevllm.FaultHang, short, openai.ReasonTimeoutFirstToken},
		{fakevllm.FaultSlowStream, short, openai.ReasonTimeout},
		{fakevllm.FaultStall, func(s *Spec) { s.IdleTimeout = model.Duration(500 * time.Millisecond) }, openai.ReasonStalled},
		{fakevllm.FaultHTTP404, nil, openai.ReasonHTTP4xx},
		{fakevllm.FaultHTTP429, nil, openai.ReasonHTTP429},
		{fakevllm.FaultHTTP500, nil, openai.ReasonHTTP5xx},
		{fakevllm.FaultStreamError, nil, openai.ReasonStreamError},
		{fakevllm.FaultHTML200, nil, openai.ReasonProtocol},
		{fakevllm.FaultTruncated, nil, openai.ReasonTruncated},
		{fakevllm.FaultEmpty, nil, openai.ReasonEmpty},
		{fakevllm.FaultReset, nil, openai.ReasonConnect},
		{"tls", func(s *Spec) { s.URL = strings.Replace(s.URL, "http:", "https:", 1) }, openai.ReasonTLS},
		{"gone", func(s *Spec) { s.URL = "http://" + gone.Addr().String() }, openai.ReasonConnect},
	}
	var targets []Target
	for _, tt := range tests {
		targets = append(targets, faulty(t, url, tt.fault, tt.change))
	}
	p := New(log.NewNopLogger())
	apply(t, p, targets...)
	stop := running(t, p)
	eventually(t, "an outcome of every target", func() bool {
		return !slices.ContainsFunc(p.Statuses(), func(s Status) bool { return s.Last.At.IsZero() })
	})
	statuses := p.Statuses()
	all := samples(t, p)
	stop()
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			labels := fmt.Sprintf("target=%q}", tt.fault)
			failed := []string{}
			for series := range only(all, labels) {
				if strings.HasPrefix(series, "failures_total") {
					failed = append(failed, series)
				}
			}
			want := []string{}
			if tt.want != "" {
				want = append(want, fmt.Sprintf("failures_total{model=%q,reason=%q,%s", "qwen2.5", tt.want, labels))
			}
			if diff := cmp.Diff(want, failed); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			i := slices.IndexFunc(statuses, func(s Status) bool { return s.Target == string(tt.fault) })
			if got := statuses[i].Last.Result(); got != stdcmp.Or(string(tt.want), "success") {
				t.Errorf("the last result is %s", got)
			}
		})
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A server that repeats the credentials it got puts them into no log, status or
// metric of ours.
func TestSecretsStayInside(t *testing.T) {
	const secret = "sk-5ecret-0042"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "denied: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	defer server.Close()
	key := func(s *Spec) { s.HTTP.Authorization = &config.Authorization{Credentials: secret} }
	targets := []Target{
		quickTarget(t, server.URL, func(s *Spec) { s.Name = "a"; key(s) }),
		quickTarget(t, server.URL, func(s *Spec) { s.Name, s.Model = "model unknown", ""; key(s) }),
	}
	output := new(logged)
	p := New(level.NewFilter(log.NewLogfmtLogger(output), level.AllowAll()))
	apply(t, p, targets...)
	stop := running(t, p)
	eventually(t, "a failure of each target", func() bool {
		all := samples(t, p)
		return len(only(all, `reason="http_4xx"`)) == len(targets)
	})
	stop()
	var shown strings.Builder
	fmt.Fprintf(&shown, "%s\n%+v\n%+v\n", output, p.Statuses(), p.Targets())
	for _, s := range p.Statuses() {
		fmt.Fprintln(&shown, s.Last.Failure, s.Last.Hint, s.URL)
	}
	shown.WriteString(scrape(t, p, acceptOpenMetrics).Body.String())
	if strings.Contains(shown.String(), "5ecret") {
		t.Errorf("the secret is in:\n%s", shown.String())
	}
	if !strings.Contains(shown.String(), "<secret>") {
		t.Errorf("what the server said is not shown:\n%s", shown.String())
	}
}

// What an operator reads in the log: one line when a target begins to fail or
// fails otherwise, one when it is well again, none for a clean stop.
func TestLog(t *testing.T) {
	output := new(logged)
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
