package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
)

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

// gone is a client that has left.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("write: broken pipe") }

func TestAtMostOneLogLineAScrape(t *testing.T) {
	for name, c := range map[string]struct {
		broken bool
		w      http.ResponseWriter
		level  string
		want   string // "" for no line
	}{
		"a client that left is no error":       {false, gone{httptest.NewRecorder()}, "info", ""},
		"but is told to who asks for it":       {false, gone{httptest.NewRecorder()}, "debug", `msg="a client left before it had read all"`},
		"metrics that cannot be gathered":      {true, httptest.NewRecorder(), "info", `msg="rendering the metrics"`},
		"they and a client that left, at info": {true, gone{httptest.NewRecorder()}, "info", `msg="rendering the metrics"`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			d := &daemon{settings: &settings{telemetryPath: "/metrics"}, registry: many(t), logger: newLogger(&b, c.level, "logfmt")}
			if c.broken {
				d.registry.MustRegister(broken{})
			}
			d.handler().ServeHTTP(c.w, get())
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
	newScrapes(registry, log.NewNopLogger()).ServeHTTP(w, get())
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `accelerator_many_499{l="v"} 1`) {
		t.Errorf("status %d, and not the other metrics", w.Code)
	}
}

// Who asks for gzip gets the same page, and who does not, or says so, gets text.
func TestScrapesAreCompressedForWhoAsks(t *testing.T) {
	s := newScrapes(many(t), log.NewNopLogger())
	page := func(accept string) (encoding, text string) {
		w, r := httptest.NewRecorder(), get()
		r.Header.Set("Accept-Encoding", accept)
		s.ServeHTTP(w, r)
		body := w.Body.String()
		if encoding = w.Header().Get("Content-Encoding"); encoding == "gzip" {
			plain, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := io.ReadAll(plain)
			if err != nil {
				t.Fatal(err)
			}
			if len(body) > len(whole)/4 {
				t.Errorf("%d bytes of %d", len(body), len(whole))
			}
			body = string(whole)
		}
		return encoding, body
	}
	_, want := page("")
	if !strings.Contains(want, `accelerator_many_499{l="v"} 1`) {
		t.Fatal("no whole page without compression")
	}
	for accept, encoding := range map[string]string{
		"": "", "identity": "", "deflate, br": "", "gzip;q=0": "", "gzip; q=0.0": "",
		"gzip": "gzip", "deflate, gzip;q=0.5": "gzip", "br,GZIP ; q=1": "gzip",
	} {
		got, text := page(accept)
		if got != encoding || text != want {
			t.Errorf("%q: encoding %q, want %q; the same page: %t", accept, got, encoding, text == want)
		}
	}
}

// An error is told as text, whatever the client takes.
func TestAnErrorIsNotCompressed(t *testing.T) {
	s := newScrapes(prometheus.NewRegistry(), log.NewNopLogger())
	s.render = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no metrics", http.StatusInternalServerError)
	})
	w, r := httptest.NewRecorder(), get()
	r.Header.Set("Accept-Encoding", "gzip")
	s.ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Encoding") != "" || w.Body.String() != "no metrics\n" {
		t.Errorf("%d, %q: %q", w.Code, w.Header().Get("Content-Encoding"), w.Body)
	}
}
