package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
)

// gone is a client that left.
type gone struct{ header http.Header }

func (g gone) Header() http.Header { return g.header }

func (gone) WriteHeader(int) {}

func (gone) Write([]byte) (int, error) { return 0, errors.New("write: broken pipe") }

// broken is a collector whose metrics cannot be gathered.
type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}

func (broken) Collect(ch chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("accelerator_broken", "Twice the same.", nil, nil)
	for range 5 {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1)
		ch <- prometheus.NewInvalidMetric(desc, errors.New("broken"))
	}
}

// many has some hundred KiB of text in some hundred families.
func many(t testing.TB) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	for i := range 500 {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: fmt.Sprintf("accelerator_many_%d", i), Help: strings.Repeat("h", 1000)}, []string{"l"})
		registry.MustRegister(g)
		g.WithLabelValues("v").Set(1)
	}
	return registry
}

func get() *http.Request { return httptest.NewRequest(http.MethodGet, "/metrics", nil) }

func TestAtMostOneLogLineAScrape(t *testing.T) {
	bad := many(t)
	bad.MustRegister(broken{})
	for name, c := range map[string]struct {
		registry *prometheus.Registry
		w        http.ResponseWriter
		allow    level.Option
		want     string // "" for no line
	}{
		"a client that left is no error":       {many(t), gone{http.Header{}}, level.AllowInfo(), ""},
		"but is told to who asks for it":       {many(t), gone{http.Header{}}, level.AllowDebug(), `msg="client left before it had read all metrics"`},
		"metrics that cannot be gathered":      {bad, httptest.NewRecorder(), level.AllowInfo(), `msg="rendering the metrics"`},
		"they and a client that left, at info": {bad, gone{http.Header{}}, level.AllowInfo(), `msg="rendering the metrics"`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			scrapeHandler(c.registry, level.NewFilter(log.NewLogfmtLogger(&b), c.allow)).ServeHTTP(c.w, get())
			lines := strings.Count(b.String(), "\n")
			if want := min(len(c.want), 1); lines != want || !strings.Contains(b.String(), c.want) {
				t.Errorf("%d lines, want %d with %s:\n%.2000s", lines, want, c.want, &b)
			}
		})
	}
}

// What can be gathered is served beside what cannot.
func TestBrokenMetricsCostOnlyThemselves(t *testing.T) {
	registry := many(t)
	registry.MustRegister(broken{})
	w := httptest.NewRecorder()
	scrapeHandler(registry, log.NewNopLogger()).ServeHTTP(w, get())
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `accelerator_many_499{l="v"} 1`) {
		t.Errorf("status %d, and not the other metrics", w.Code)
	}
}

// A client that leaves is no error of the metrics, which an alert may be about.
func TestLeavingIsNotCounted(t *testing.T) {
	registry := many(t)
	h := scrapeHandler(registry, log.NewNopLogger())
	h.ServeHTTP(gone{http.Header{}}, get())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, get())
	if want := `promhttp_metric_handler_errors_total{cause="encoding"} 0`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("no %s", want)
	}
}

// pipes is a listener whose connections hold nothing that was not read.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { close(p); return nil }

func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// scrape asks for the metrics.
func (p pipes) scrape(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	p <- theirs
	if _, err := io.WriteString(ours, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return ours
}

// Clients that do not read take the places of scrapes only until the server's time
// for writing is over.
func TestReadersThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := make(pipes)
		server := newServer(scrapeHandler(many(t), log.NewNopLogger()))
		go server.Serve(clients)
		defer server.Close()
		for range maxScrapes {
			defer clients.scrape(t).Close()
		}
		synctest.Wait()
		for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
			conn := clients.scrape(t)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || response.StatusCode != want {
				t.Errorf("status %v, error %v, want %d", response.Status, err, want)
			}
			conn.Close()
			time.Sleep(writeTimeout)
			synctest.Wait()
		}
	})
}
