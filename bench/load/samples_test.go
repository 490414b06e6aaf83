package load

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, body)
	}
}

func open(t *testing.T, url string) *page {
	t.Helper()
	p, err := newPage(url, config.DefaultHTTPClientConfig, forReport)
	noError(t, err)
	return p
}

// What the exporter really prints for eight cards of each vendor (four dies
// print no watts) and two NUMA nodes is what the report's table of cards is made from.
func TestPageOfTheExporter(t *testing.T) {
	golden := filepath.Join("..", "..", "collector", "testdata", "scrape.golden.txt")
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
		http.ServeFile(w, r, golden)
	})
	series, err := open(t, url).read(t.Context())
	noError(t, err)
	got := map[string]int{}
	for _, s := range series {
		got[s.Name]++
	}
	want := map[string]int{
		"accelerator_info":              16,
		"accelerator_utilization_ratio": 16, "accelerator_power_watts": 12, "accelerator_temperature_celsius": 16,
		"accelerator_memory_used_bytes": 16,
	}
	equal(t, "series by name", want, got)
	all, err := ReadExporter(t.Context(), url, config.DefaultHTTPClientConfig)
	if err != nil || len(all) < 300 || all[0].Name > all[1].Name {
		t.Errorf("all of the exporter: %d series, %v", len(all), err)
	}
}

func TestPageOfAServer(t *testing.T) {
	label := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for name, tc := range map[string]struct {
		text string
		want []runlog.Series
	}{
		"vLLM of today": {
			`# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 7.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 7.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 1.25
# TYPE vllm:time_to_first_token_seconds_created gauge
vllm:time_to_first_token_seconds_created{engine="0",model_name="m"} 1.7e9
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="m"} 5.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="+Inf",model_name="m"} 5.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 5.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} 0.5
python_gc_objects_collected_total{generation="0"} 12.0
`,
			[]runlog.Series{
				{Name: "vllm:num_requests_running", Labels: label("engine", "0", "model_name", "m"), Value: 3},
				{Name: "vllm:time_to_first_token_seconds_count", Labels: label("engine", "0", "model_name", "m"), Value: 7},
				{Name: "vllm:time_to_first_token_seconds_sum", Labels: label("engine", "0", "model_name", "m"), Value: 1.25},
			},
		},
		"MindIE, without types": {
			"npu_cache_usage_perc{model_name=\"m\"} 0.25\nprefix_cache_hits_total{model_name=\"m\"} 100 1700000000000\n" +
				"time_to_first_token_seconds_sum 2\nnum_requests_waiting NaN\nnum_requests_running 1\n",
			[]runlog.Series{
				{Name: "npu_cache_usage_perc", Labels: label("model_name", "m"), Value: 0.25},
				{Name: "num_requests_running", Labels: label(), Value: 1},
				{Name: "prefix_cache_hits_total", Labels: label("model_name", "m"), Value: 100},
				{Name: "time_to_first_token_seconds_sum", Labels: label(), Value: 2},
			},
		},
	} {
		p := open(t, serve(t, text(tc.text)))
		got, err := p.read(t.Context())
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v; series (-want +got):\n%s", name, err, diff)
		}
	}
}

// A source that misbehaves costs its sample, in bounded time and memory, and the
// one line that the user gets says what is wrong without any secret.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"other metrics": {text("node_load1 1\n"), "none of those expected: is it the right URL?"},
		"a page":        {text("<html>s3cret</html>\n"), "it is no page of metrics in the text format"},
		"no such path":  {status(http.StatusNotFound), "HTTP status 404 Not Found"},
		"no access":     {status(http.StatusUnauthorized), "HTTP status 401 Unauthorized"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?key=s3cret", http.StatusFound)
		}, "HTTP status 302 Found"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "accelerator_power_watts 1\n")
		}, "/metrics: unexpected EOF"},
	} {
		p := open(t, serve(t, tc.handler)+"/metrics?key=s3cret")
		_, err := p.read(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "/metrics: ") {
			t.Errorf("%s: %v, want … %s …", name, err, tc.want)
		}
	}
	p := open(t, serve(t, text(strings.Repeat(" ", 17<<20))))
	if _, err := p.read(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": it is longer than 16 MiB") {
		t.Errorf("a long page: %v", err)
	}
	p = open(t, serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a source that hangs: %v", err)
	}
	for _, url := range []string{"127.0.0.1:10068/metrics", "ftp://h/metrics", "http://u:s3cret@h/metrics", "http:///metrics"} {
		if _, err := newPage(url, config.DefaultHTTPClientConfig, forReport); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A step of 2.5 s is sampled at its start, every second and at its end: without the
// last look, the counters' rise would miss half a second. A server that cannot be
// sampled for a while does not cost the samples after it.
func TestStepIsSampledToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		o := &source{kind: runlog.SourceServer, read: func(context.Context) ([]runlog.Series, error) {
			n++
			return nil, []error{errBroken, nil, nil, nil}[n-1]
		}}
		log, err := runlog.Create(t.TempDir(), runlog.Run{})
		noError(t, err)
		defer log.Close()
		s := &Session{sources: []*source{o}, keeps: true, log: log, clock: newClock(time.Now())}
		start := time.Now()
		stop := s.startSampling(t.Context(), 0)
		time.Sleep(2500 * time.Millisecond)
		err = stop()
		var got []time.Duration
		for _, rec := range s.kept {
			got = append(got, rec.Sample.At.Sub(start)/time.Millisecond)
		}
		if diff := cmp.Diff([]time.Duration{1000, 2000, 2500}, got); diff != "" || err != nil || o.failed != 1 {
			t.Errorf("%v, %d failed; samples after ms (-want +got):\n%s", err, o.failed, diff)
		}
	})
}

// The server's counters are compared with the requests: the first sample of a step
// is from before its first request, the last from after its last. A source that stops to
// answer is told.
func TestSamplesCoverTheStep(t *testing.T) {
	scrapes := 0
	cfg := plan(t, endpoint(t, watching(func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.URL.Path == "/metrics" {
			scrapes++
		}
		isOver := r.URL.Path == "/metrics" && scrapes > 3
		if isOver {
			http.Error(w, "no more", http.StatusInternalServerError)
		}
		return isOver
	})))
	s, err := Open(t.Context(), cfg)
	noError(t, err)
	var counts []float64
	var ofClient []runlog.Series // what the report's cores of the load generator are the rise of
	for _, step := range cfg.Steps {
		kept, err := s.Step(t.Context(), step)
		noError(t, err)
		for _, rec := range kept {
			if rec.Sample == nil {
				continue
			}
			if rec.Sample.Source == runlog.SourceClient {
				ofClient = rec.Sample.Series
			}
			for _, one := range rec.Sample.Series {
				if one.Name == "vllm:time_to_first_token_seconds_count" {
					counts = append(counts, one.Value)
				}
			}
		}
	}
	result, err := s.Close()
	if err != nil || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "samples of the server's metrics failed; the first: reading ") {
		t.Errorf("%+v %v", result, err)
	}
	if diff := cmp.Diff([]float64{0, 10}, counts); diff != "" || len(ofClient) != 1 || ofClient[0].Name != "process_cpu_seconds_total" || !(ofClient[0].Value > 0) {
		t.Errorf("of the client %v; of the first step's 10 requests, the server's count (-want +got):\n%s", ofClient, diff)
	}
}
