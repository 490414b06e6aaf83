package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"

	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

// collectorFunc makes a function a collector.
type collectorFunc func(chan<- prometheus.Metric)

func (collectorFunc) Describe(chan<- *prometheus.Desc) {}

func (f collectorFunc) Collect(ch chan<- prometheus.Metric) { f(ch) }

// handlerOf is the program's pages with one collector, and its log.
func handlerOf(f collectorFunc) (http.Handler, *bytes.Buffer) {
	var b bytes.Buffer
	registry := prometheus.NewRegistry()
	registry.MustRegister(f, prometheus.NewGauge(prometheus.GaugeOpts{Name: "accelerator_whole", Help: strings.Repeat("long ", 1000)}))
	return (&daemon{settings: &settings{telemetryPath: "/metrics"}, registry: registry, hardware: collector.New(collector.Options{}), logger: newLogger(&b, "info", "logfmt")}).handler(), &b
}

func get() *http.Request { return httptest.NewRequest(http.MethodGet, "/metrics", nil) }

// A scrape is told in the form and the encoding that the client asks for.
func TestScrapeNegotiation(t *testing.T) {
	for _, c := range []struct{ accept, encoding, wantType, wantEncoding, wantEnd string }{
		{"", "", "text/plain; version=0.0.4", "", "accelerator_whole 0\n"},
		{"", "gzip", "text/plain; version=0.0.4", "gzip", "accelerator_whole 0\n"},
		{"application/openmetrics-text; version=1.0.0", "deflate, gzip;q=0.5", "application/openmetrics-text; version=1.0.0", "gzip", "# EOF\n"},
		{"application/openmetrics-text; version=1.0.0", "gzip;q=0", "application/openmetrics-text; version=1.0.0", "", "# EOF\n"},
		{"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", "zstd, gzip", "application/vnd.google.protobuf", "gzip", "accelerator_whole"},
	} {
		handler, _ := handlerOf(func(chan<- prometheus.Metric) {})
		w, r := httptest.NewRecorder(), get()
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Accept-Encoding", c.encoding)
		handler.ServeHTTP(w, r)
		var body io.Reader = w.Body
		if w.Header().Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Header(); !strings.HasPrefix(got.Get("Content-Type"), c.wantType) || got.Get("Content-Encoding") != c.wantEncoding || !strings.Contains(string(text), c.wantEnd) {
			t.Errorf("%+v: %v\n%.300s", c, got, text)
		}
	}
}

// Who scrapes while enough others do is told to come again.
func TestTooManyScrapes(t *testing.T) {
	entered, release := make(chan bool), make(chan bool)
	handler, _ := handlerOf(func(chan<- prometheus.Metric) {
		entered <- true
		<-release
	})
	codes := make(chan int)
	for range maxScrapes {
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, get())
			codes <- w.Code
		}()
		<-entered
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, get())
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", w.Code)
	}
	close(release)
	for range maxScrapes {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("one of those before: %d", code)
		}
	}
}

// What can be gathered is served beside what cannot, which is logged in one line; a client
// that has left is not logged.
func TestBrokenMetrics(t *testing.T) {
	handler, log := handlerOf(func(ch chan<- prometheus.Metric) {
		ch <- prometheus.NewInvalidMetric(prometheus.NewDesc("accelerator_broken", "Help.", nil, nil), errors.New("broken"))
		ch <- prometheus.NewInvalidMetric(prometheus.NewDesc("accelerator_too", "Help.", nil, nil), errors.New("broken too"))
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, get())
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "accelerator_whole 0\n") {
		t.Errorf("status %d, and not the other metrics", w.Code)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `msg="gathering metrics"`) {
		t.Errorf("log:\n%s", text)
	}
	handler, log = handlerOf(func(chan<- prometheus.Metric) {})
	handler.ServeHTTP(goneClient{httptest.NewRecorder()}, get())
	if log.Len() > 0 {
		t.Errorf("of a client that left:\n%s", log)
	}
}

// goneClient is a client that has left.
type goneClient struct{ *httptest.ResponseRecorder }

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("write: broken pipe") }

// A client that sends half of a request delays neither others nor the end.
func TestSlowClient(t *testing.T) {
	p := start(t, "--no-collector.metax", "--no-collector.ascend")
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /metrics HTTP/1.1\r\n")
	if status, _ := p.get(t, "/metrics"); status != http.StatusOK {
		t.Errorf("another client: %d", status)
	}
	begin := time.Now()
	if status := p.end(t); status != 0 || time.Since(begin) > 5*time.Second {
		t.Errorf("exit status %d after %s", status, time.Since(begin))
	}
}

// pipes are a listener whose connections are made in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (pipes) Close() error { return nil }

func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A client that holds all connections after a request of each keeps scrapes out until they are
// taken for idle.
func TestIdleClientsAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, _ := handlerOf(func(chan<- prometheus.Metric) {})
		dial, server := make(pipes), newServer(handler, nil)
		go server.Serve(netutil.LimitListener(dial, maxConnections))
		scrape := func() net.Conn {
			client, conn := net.Pipe()
			dial <- conn
			io.WriteString(client, "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := http.ReadResponse(bufio.NewReader(client), nil); err != nil {
				t.Error(err)
			}
			return client
		}
		for range maxConnections {
			defer scrape().Close()
		}
		begin := time.Now()
		defer scrape().Close()
		if waited := time.Since(begin); waited > 30*time.Second {
			t.Errorf("a scrape waited for %s", waited)
		}
		close(dial)
		server.Close()
	})
}
