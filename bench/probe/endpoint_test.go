package probe

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
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
	outcomes := func(since time.Time) func() bool {
		return func() bool {
			return !slices.ContainsFunc(p.Statuses(), func(s Status) bool {
				return !s.Last.At.After(since)
			})
		}
	}
	eventually(t, "an outcome of every target", outcomes(time.Time{}))
	eventually(t, "another outcome of every target", outcomes(time.Now()))
	state := samples(t, p)
	statuses := map[string]Status{}
	for _, s := range p.Statuses() {
		statuses[s.Target] = s
	}
	stop()
	all := samples(t, p)
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			name, served := string(tt.fault), "qwen2.5"
			value := func(metric string) float64 {
				return all[fmt.Sprintf("%s{model=%q,target=%q}", metric, served, name)]
			}
			canceled := fmt.Sprintf(`failures_total{model=%q,reason="canceled",target=%q}`, served, name) // by the stop
			requests := value("requests_total") - all[canceled]
			wantFailures, wantReason := map[string]float64{}, tt.want
			if wantReason != "" {
				wantFailures[fmt.Sprintf("failures_total{model=%q,reason=%q,target=%q}", served, tt.want, name)] = requests
			}
			failures := map[string]float64{}
			for series, v := range only(all, fmt.Sprintf("target=%q", name)) {
				if strings.HasPrefix(series, "failures_total") && series != canceled {
					failures[series] = v
				}
			}
			if diff := cmp.Diff(wantFailures, failures); diff != "" {
				t.Errorf("of %v requests, failures (-want +got):\n%s", requests, diff)
			}
			seen, good := 0.0, 0.0 // requests with a first token, and successes
			switch tt.want {
			case "":
				seen, good = requests, requests
			case openai.ReasonTimeout, openai.ReasonStalled:
				seen = requests
			}
			got := map[string]float64{"ttft": value("time_to_first_token_seconds_count"), "tpot": value("time_per_output_token_seconds_count"), "duration": value("request_duration_seconds_count")}
			if diff := cmp.Diff(map[string]float64{"ttft": seen, "tpot": good, "duration": good}, got); diff != "" {
				t.Errorf("of %v requests, samples (-want +got):\n%s", requests, diff)
			}
			if gaps := value("inter_token_latency_seconds_count"); (gaps > 0) != (seen > 0) {
				t.Errorf("%v gaps of %v requests with text", gaps, seen)
			}
			wantTokens := 8 * requests
			if tt.want != "" {
				wantTokens = 0
			}
			if got := value("output_tokens_total"); got != wantTokens {
				t.Errorf("%v output tokens, want %v", got, wantTokens)
			}
			if success := state[fmt.Sprintf("success{model=%q,target=%q}", served, name)]; (success == 1) != (tt.want == "") {
				t.Errorf("success is %v", success)
			}
			s := statuses[name]
			want := stdcmp.Or(string(tt.want), "success")
			if s.Last.At.IsZero() || s.Last.Result() != want || s.Model != served || (s.LastSuccess.E2E > 0) != (tt.want == "") {
				t.Errorf("status %+v", s)
			}
		})
	}
	// No label comes from a response unchecked.
	for series := range all {
		_, rest, _ := strings.Cut(series, `model="`)
		if label, _, _ := strings.Cut(rest, `"`); label != "" && label != "qwen2.5" {
			t.Errorf("series %s", series)
		}
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

// The id in the exemplar is the one that the server got.
func TestRequestIDReachesServer(t *testing.T) {
	ids := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case ids <- r.Header.Get("X-Request-Id"):
			_, _ = io.WriteString(w, goodAnswer)
		default: // only the first is of interest
			http.Error(w, "enough", http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	p := New(log.NewNopLogger())
	apply(t, p, quickTarget(t, server.URL, nil))
	stop := running(t, p)
	eventually(t, "a failure after the success", func() bool {
		return samples(t, p)[`failures_total{model="m",reason="http_429",target="a"}`] > 0
	})
	stop()
	want := []string{"request_id=" + <-ids}
	for _, name := range []string{"time_to_first_token_seconds", "request_duration_seconds"} {
		if diff := cmp.Diff(want, exemplars(t, p, name)); diff != "" {
			t.Errorf("%s: exemplars (-want +got):\n%s", name, diff)
		}
	}
}

// A key in a file that is beside the configuration is read again for each probe.
func TestKeyIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, fakevllm.Config{APIKey: "k3y-of-today"})
	write(t, filepath.Join(dir, "secrets/key"), "k3y-of-yesterday\n")
	targets := parsed(t, `
probes:
  - {name: a, url: "`+url+`", interval: 100ms, max_tokens: 3, http: {authorization: {credentials_file: secrets/key}}}
`, dir)
	p := New(log.NewNopLogger())
	apply(t, p, targets...)
	stop := running(t, p)
	eventually(t, "the old key to be refused", func() bool {
		return samples(t, p)[`failures_total{model="",reason="http_4xx",target="a"}`] > 0
	})
	write(t, filepath.Join(dir, "secrets/key"), "k3y-of-today\n")
	eventually(t, "the new key to be used", func() bool { return samples(t, p)[`success{model="qwen2.5",target="a"}`] == 1 })
	stop()
}

// A server that repeats the credentials it got puts them into no log, status or
// metric of ours.
func TestSecretsStayInside(t *testing.T) {
	const secret = "sk-5ecret-0042"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(w, fmt.Sprintf("denied: %q %q %q %q", r.Header["Authorization"], user, password, r.Header["X-Key"]), http.StatusUnauthorized)
	}))
	defer server.Close()
	keyFile := filepath.Join(t.TempDir(), "key")
	write(t, keyFile, secret)
	ways := map[string]func(*Spec){
		"inline": func(s *Spec) { s.HTTP.Authorization = &config.Authorization{Credentials: secret} },
		"file":   func(s *Spec) { s.HTTP.Authorization = &config.Authorization{CredentialsFile: keyFile} },
		"basic":  func(s *Spec) { s.HTTP.BasicAuth = &config.BasicAuth{Username: "me", Password: secret} },
		"header": func(s *Spec) {
			s.HTTP.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{"X-Key": {Secrets: []config.Secret{secret}}}}
		},
	}
	var targets []Target
	for name, way := range ways {
		targets = append(targets,
			quickTarget(t, server.URL, func(s *Spec) { s.Name = name; way(s) }),
			quickTarget(t, server.URL, func(s *Spec) { s.Name, s.Model = name+", model unknown", ""; way(s) }))
	}
	output := new(logged)
	p := New(level.NewFilter(log.NewLogfmtLogger(output), level.AllowAll()))
	apply(t, p, targets...)
	stop := running(t, p)
	eventually(t, "a failure of each target", func() bool {
		all := samples(t, p)
		return len(only(all, `reason="http_4xx"`))+len(only(all, `reason="protocol"`)) == len(targets)
	})
	stop()
	var shown strings.Builder
	fmt.Fprintf(&shown, "%s\n%+v\n%+v\n", output, p.Statuses(), p.Targets())
	for _, s := range p.Statuses() {
		fmt.Fprintln(&shown, s.Last.Failure, s.Last.Hint, s.URL)
	}
	shown.WriteString(scrape(t, p, acceptOpenMetrics).Body.String())
	for _, part := range []string{secret, "5ecret", "bWU6c2stNWVjcmV0"} { // the last as basic auth sends it
		if strings.Contains(shown.String(), part) {
			t.Errorf("%q is in:\n%s", part, shown.String())
		}
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
	l.record(unlearned(l.target, &openai.Failure{Reason: openai.ReasonHTTP5xx, Status: http.StatusBadGateway}))
	want := `level=warn target=a msg="probe failed" reason=connect status=0 detail=why request_id=id hint="does a server listen at 127.0.0.1:1?"
level=warn target=a msg="probe failed" reason=http_5xx status=0 detail=why request_id=id
level=info target=a msg="probe succeeds again"
level=warn target=a msg="probe not sent" detail="open /key: no such file or directory" hint="the exporter's user must be able to read the file; it is read again for each probe"
level=warn target=a msg="probe failed" reason=http_4xx status=401 detail=why request_id=id hint="the server wants a key, or another one: --probe.api-key-file, or http.authorization.credentials_file in YAML"
level=warn target=a msg="asking for the list of models failed" url=http://127.0.0.1:1/v1/models reason=http_5xx status=502 detail= hint="/v1/models names no model: name it with --probe.model, or model in YAML"
`
	if diff := cmp.Diff(want, output.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestTokensWithoutText: a server whose one token is half a character answers. It is
// no failure, and there is nothing to take a latency from.
func TestTokensWithoutText(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":""},"finish_reason":"length"}],"usage":{"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	p := New(log.NewNopLogger())
	apply(t, p, quickTarget(t, server.URL, func(s *Spec) { s.Name, s.Model, s.MaxTokens = "bytes", "qwen2.5", 1 }))
	defer running(t, p)()
	eventually(t, "an outcome", func() bool { return !p.Statuses()[0].Last.At.IsZero() })
	all := only(samples(t, p), `target="bytes"`)
	value := func(metric string) float64 { return all[metric+`{model="qwen2.5",target="bytes"}`] }
	if value("success") != 1 || value("output_tokens_total") == 0 {
		t.Errorf("success %v, %v tokens", value("success"), value("output_tokens_total"))
	}
	for series, v := range all {
		if v != 0 && (strings.HasPrefix(series, "failures_total") || strings.HasPrefix(series, "time_") || strings.HasPrefix(series, "request_duration")) {
			t.Errorf("%s is %v", series, v)
		}
	}
}
