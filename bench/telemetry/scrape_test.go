package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func newSampler(t *testing.T, source runlog.Source, url string) *Sampler {
	t.Helper()
	s, err := New(Config{URL: url, Source: source, HTTP: config.DefaultHTTPClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func counts(series []runlog.Series) map[string]int {
	n := map[string]int{}
	for _, s := range series {
		n[s.Name]++
	}
	return n
}

// What the exporter really prints for eight cards of each vendor (four dies
// print no watts) and two NUMA nodes is what the report's table of cards is made from.
func TestSampleOfTheExporter(t *testing.T) {
	golden := filepath.Join("..", "..", "collector", "testdata", "scrape.golden.txt")
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
		http.ServeFile(w, r, golden)
	}))
	s := newSampler(t, runlog.SourceExporter, url+"/metrics")
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	sample, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"accelerator_info": 16, "accelerator_healthy": 16,
		"accelerator_utilization_ratio": 16, "accelerator_power_watts": 12, "accelerator_temperature_celsius": 16,
		"accelerator_memory_used_bytes": 16, "accelerator_memory_total_bytes": 16,
		"accelerator_numa_node": 16,
	}
	if diff := cmp.Diff(want, counts(sample.Series)); diff != "" {
		t.Errorf("series by name (-want +got):\n%s", diff)
	}
	if sample.Source != runlog.SourceExporter || sample.At.IsZero() {
		t.Errorf("sample of %q at %s", sample.Source, sample.At)
	}
}

// The stand-in for vLLM serves its histograms as client_golang does; its own
// first-token histogram must come beside ours.
func TestSampleOfAServer(t *testing.T) {
	fake, err := fakevllm.New(fakevllm.Config{Speed: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { defer close(ran); _ = fake.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ran })
	url := serve(t, fake.Handler())

	client, err := openai.NewClient(openai.Config{BaseURL: url, HTTP: config.DefaultHTTPClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	trace := client.Stream(ctx, openai.Request{Model: "qwen2.5", Prompt: "How far is the moon?", MaxTokens: 8})
	if trace.Failure != nil {
		t.Fatal(trace.Failure)
	}
	s := newSampler(t, runlog.SourceServer, url)
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	sample, err := s.Sample(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := counts(sample.Series)
	want := map[string]int{
		"vllm:num_requests_running": 1, "vllm:num_requests_waiting": 1,
		"vllm:kv_cache_usage_perc": 1, "vllm:gpu_cache_usage_perc": 1,
		"vllm:prefix_cache_queries_total": 1, "vllm:prefix_cache_hits_total": 1,
		"vllm:num_preemptions_total": 1,
		"vllm:prompt_tokens_total":   1, "vllm:generation_tokens_total": 1,
		"vllm:time_to_first_token_seconds_bucket": 23,
		"vllm:time_to_first_token_seconds_sum":    1, "vllm:time_to_first_token_seconds_count": 1,
		"vllm:inter_token_latency_seconds_sum": 1, "vllm:inter_token_latency_seconds_count": 1,
		"vllm:time_per_output_token_seconds_sum": 1, "vllm:time_per_output_token_seconds_count": 1,
		"vllm:request_time_per_output_token_seconds_sum": 1, "vllm:request_time_per_output_token_seconds_count": 1,
		"vllm:request_queue_time_seconds_sum": 1, "vllm:request_queue_time_seconds_count": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series by name (-want +got):\n%s", diff)
	}
	for _, s := range sample.Series {
		if s.Name == "vllm:generation_tokens_total" && s.Value != 8 {
			t.Errorf("%s = %g after a request of 8 tokens", s.Name, s.Value)
		}
	}
}

// A source that misbehaves costs its sample, in bounded time and memory, and the
// one line that the user gets says what is wrong without any secret.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(w, body)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	random := make([]byte, 128<<10)
	_, _ = rand.Read(random)
	random = bytes.ReplaceAll(random, []byte("\n"), []byte(" "))

	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"other metrics", text("node_load1 1\n"), "none of accelerator_exporter's: is it the right URL?"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html></html>") }, "text/html, not metrics"},
		{"no such path", status(http.StatusNotFound), "HTTP status 404 Not Found"},
		{"no access", status(http.StatusUnauthorized), "HTTP status 401 Unauthorized"},
		{"plain HTTP to TLS", status(http.StatusBadRequest), "HTTP status 400 Bad Request: does it want https?"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?key=s3cret", http.StatusFound)
		}, "redirect not followed (HTTP status 302)"},
		{"huge", func(w http.ResponseWriter, _ *http.Request) { writeMuch(w, 17<<20) }, "larger than 16 MiB"},
		{"gzip bomb", gzipBomb(t, 17<<20), "larger than 16 MiB"},
		{"gzip that holds nothing", gzipOfNothing(4 << 20), "of gzip hold no more than 0"},
		{"endless header", func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			_, _ = io.WriteString(c, strings.Repeat("A: b\r\n", 1<<20))
		}, "response headers exceeded 65536 bytes"},
		{"binary", text(string(random)), "a line of more than 64 KiB"},
		{"broken gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "accelerator_power_watts 1\n")
		}, "decompressing the response"},
		{"another encoding", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "x")
		}, `encoded as "br"`},
		{"too many series", text(strings.Repeat("accelerator_power_watts 1\n", maxSeries+1)), "more than 2048 series"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "accelerator_power_watts 1\n")
		}, "unexpected EOF"},
		{"slow head", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "not over after 300ms"},
		{"slow body", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "accelerator_power_watts 1\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "not over after 300ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			timeout := time.Minute
			if strings.HasPrefix(tt.name, "slow") {
				timeout = 300 * time.Millisecond
			}
			s := secretive(t, serve(t, tt.handler), timeout)
			err := s.Check(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Check: %v, want … %s …", err, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "/metrics: ") {
				t.Errorf("Check: %v, want the place and no secret", err)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		srv.Close()
		s := secretive(t, srv.URL, scrapeTime)
		err := s.Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Check: %v", err)
		}
	})
}

// What a source says back of what it was sent gets neither into a log, whose samples keep
// labels, nor into a line on the terminal.
func TestNoCredentialIsKept(t *testing.T) {
	s := secretive(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		fmt.Fprintf(w, "accelerator_power_watts{device=\"0\",target=\"vllm:8000\"} 1\naccelerator_power_watts{device=%q} 2\naccelerator_power_watts{device=\"1\",name=\"a%%2Fs3cret&#x2d;too\"} 3\naccelerator_power_watts{device=%q} 4\n",
			token, r.URL.Query().Get("key"))
	})), scrapeTime)
	sample, err := s.Sample(t.Context())
	want := []runlog.Series{{Name: "accelerator_power_watts", Labels: map[string]string{"device": "0", "target": "vllm:8000"}, Value: 1}}
	if diff := cmp.Diff(want, sample.Series); err != nil || diff != "" {
		t.Errorf("error %v; series (-want +got):\n%s", err, diff)
	}
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":"no client has `+strings.ReplaceAll(r.FormValue("client_secret"), "=", `\u003d`)+`"}`, http.StatusUnauthorized)
	}))
	defer tokens.Close()
	cfg := config.HTTPClientConfig{OAuth2: &config.OAuth2{ClientID: "id", ClientSecret: "cl13nt=s3cret", TokenURL: tokens.URL}}
	s, err = New(Config{URL: tokens.URL, Source: runlog.SourceExporter, HTTP: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "/metrics: "+credential.Hidden) {
		t.Errorf("Check: %v, want %q", err, credential.Hidden)
	}
}

// secretive is a sampler of the exporter with a secret in its query and in its
// credentials.
func secretive(t *testing.T, place string, timeout time.Duration) *Sampler {
	t.Helper()
	u, err := parseURL(place + "/metrics?key=s3cret&target=vllm:8000")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Source: runlog.SourceExporter, HTTP: config.DefaultHTTPClientConfig}
	cfg.HTTP.Authorization = &config.Authorization{Type: "Bearer", Credentials: "s3cret-too"}
	target, err := newTarget(u, cfg)
	if err != nil {
		t.Fatal(err)
	}
	target.timeout = timeout
	return &Sampler{place: shown(u), source: cfg.Source, read: target.scrape}
}

func writeMuch(w io.Writer, n int) {
	line := strings.Repeat("node_cpu_seconds_total{cpu=\"0\"} 1\n", 1000)
	for written := 0; written < n; written += len(line) {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

func gzipBomb(t *testing.T, n int) http.HandlerFunc {
	t.Helper()
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	writeMuch(z, n)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(bomb.Bytes())
	}
}

// gzipOfNothing is n bytes of members that are empty.
func gzipOfNothing(n int) http.HandlerFunc {
	var member bytes.Buffer
	_ = gzip.NewWriter(&member).Close()
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bytes.Repeat(member.Bytes(), n/member.Len()))
	}
}

// A proxy that compresses all the same is understood.
func TestSampleOfAGzipResponse(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding %q: compressing costs the machine under test", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "vllm:num_requests_running 4\n")
		_ = z.Close()
	}))
	sample, err := newSampler(t, runlog.SourceServer, url).Sample(t.Context())
	want := []runlog.Series{{Name: "vllm:num_requests_running", Value: 4}}
	if diff := cmp.Diff(want, sample.Series); diff != "" || err != nil {
		t.Errorf("error %v, series (-want +got):\n%s", err, diff)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no scheme", Config{URL: "127.0.0.1:10068/metrics", Source: runlog.SourceExporter}, "not of the form http://host:port/metrics"},
		{"other scheme", Config{URL: "ftp://h/metrics", Source: runlog.SourceExporter}, "must start with http:// or https://"},
		{"password", Config{URL: "http://u:s3cret@h/metrics", Source: runlog.SourceExporter}, "must not hold a user name or password"},
		{"no host", Config{URL: "http:///metrics", Source: runlog.SourceExporter}, "no host"},
		{"source", Config{URL: "http://h", Source: runlog.SourceClient}, `unknown source "client"`},
		{"interval", Config{URL: "http://h", Source: runlog.SourceServer, Interval: -1}, "interval must be more than 0"},
		{"no such file", Config{URL: "http://h", Source: runlog.SourceServer, HTTP: config.HTTPClientConfig{
			TLSConfig: config.TLSConfig{CAFile: "/nonexistent/ca.pem"},
		}}, "configuring HTTP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("New: %v, want … %s …", err, tt.want)
			}
		})
	}
}
