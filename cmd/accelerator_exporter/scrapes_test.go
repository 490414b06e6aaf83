package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
)

// client is a ResponseWriter whose reader has gone or does not read.
type client struct {
	header  http.Header
	status  int
	stalled chan struct{} // nil for one that has gone
	writing chan struct{} // closed at the first write
	once    sync.Once
}

func gone() *client { return &client{header: http.Header{}, writing: make(chan struct{})} }

func stalled() *client {
	c := gone()
	c.stalled = make(chan struct{})
	return c
}

func (c *client) Header() http.Header    { return c.header }
func (c *client) WriteHeader(status int) { c.status = status }

func (c *client) Write([]byte) (int, error) {
	c.once.Do(func() { close(c.writing) })
	if c.stalled != nil {
		<-c.stalled
	}
	return 0, errors.New("write: broken pipe")
}

func (c *client) SetWriteDeadline(time.Time) error {
	close(c.stalled)
	return nil
}

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
		"a client that left is no error":       {many(t), gone(), level.AllowInfo(), ""},
		"but is told to who asks for it":       {many(t), gone(), level.AllowDebug(), `msg="a scraper left before it had read all"`},
		"metrics that cannot be gathered":      {bad, httptest.NewRecorder(), level.AllowInfo(), `msg="rendering the metrics"`},
		"they and a client that left, at info": {bad, gone(), level.AllowInfo(), `msg="rendering the metrics"`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			s := newScrapes(c.registry, time.Hour, level.NewFilter(log.NewLogfmtLogger(&b), c.allow))
			s.ServeHTTP(c.w, get())
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
	newScrapes(registry, time.Hour, log.NewNopLogger()).ServeHTTP(w, get())
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `accelerator_many_499{l="v"} 1`) {
		t.Errorf("status %d, and not the other metrics", w.Code)
	}
}

// Clients that do not read take the places of scrapes for a short time only.
func TestStalledScrapesGiveWay(t *testing.T) {
	for _, c := range []struct {
		patience time.Duration
		status   int
	}{
		{time.Hour, http.StatusServiceUnavailable},
		{0, http.StatusOK},
	} {
		t.Run(c.patience.String(), func(t *testing.T) {
			s := newScrapes(many(t), c.patience, log.NewNopLogger())
			var wg sync.WaitGroup
			clients := make([]*client, maxScrapes)
			for i := range clients {
				clients[i] = stalled()
				wg.Go(func() { s.ServeHTTP(clients[i], get()) })
				<-clients[i].writing
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, get())
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			for i, client := range clients {
				select {
				case <-client.stalled:
					if i > 0 || c.status != http.StatusOK {
						t.Errorf("client %d was cut", i)
					}
				default:
					close(client.stalled)
				}
			}
			wg.Wait()
			if len(s.serving) > 0 {
				t.Errorf("%d places are still taken", len(s.serving))
			}
		})
	}
}

// The same on real connections: clients that send many requests and never read.
func TestReadersThatDoNotRead(t *testing.T) {
	s := newScrapes(many(t), 10*time.Millisecond, log.NewNopLogger())
	server := httptest.NewServer(s)
	defer server.Close()
	request := strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 50)
	for range 2 * maxScrapes {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "every place is taken", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.serving) == maxScrapes
	})
	waitFor(t, "a scrape is served all the same", func() bool {
		status, _ := fetch(t, http.MethodGet, server.URL)
		return status == http.StatusOK
	})
}
