package openai

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGzip(t *testing.T) {
	body := events(role, word, word, stop, done)
	inBubble(t, "flushed event by event", func(t *testing.T) {
		c := pipeClient(t, false, func(c net.Conn) {
			say(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
			zw := gzip.NewWriter(c)
			for e := range strings.SplitAfterSeq(body, "\n\n") {
				time.Sleep(time.Second)
				_, _ = io.WriteString(zw, e)
				_ = zw.Flush()
			}
			_ = zw.Close()
		})
		tr := c.Stream(t.Context(), Request{})
		want := []Chunk{{At: 2 * time.Second}, {At: 3 * time.Second}}
		if diff := cmp.Diff(want, tr.Chunks); diff != "" || tr.Failure != nil {
			t.Errorf("failure %v, chunks (-want +got):\n%s", tr.Failure, diff)
		}
	})
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(zw, body)
	_ = zw.Close()
	head := "HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\n\r\n"
	t.Run("cut", func(t *testing.T) {
		f := ask(t, "http://"+rawServer(t, answering(head+zipped.String()[:zipped.Len()/2]))).Failure
		if f == nil || f.Reason != ReasonTruncated {
			t.Errorf("failure %v, want truncated", f)
		}
	})
}

// Without KeepAlive every request makes a connection; with it they share one,
// although reading stops at [DONE].
func TestConnections(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep alive %v", keep), func(t *testing.T) {
			var mu sync.Mutex
			made := 0
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, e := range []string{events(role), events(word), events(word, stop, done)} {
					_, _ = io.WriteString(w, e)
					_ = http.NewResponseController(w).Flush()
				}
			}))
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				if s == http.StateNew {
					made++
				}
			}
			server.Start()
			defer server.Close()
			c := newTestClient(t, Config{BaseURL: server.URL, KeepAlive: keep})
			const requests = 50
			for i := range requests {
				tr := c.Stream(t.Context(), Request{Timeout: patience, IdleTimeout: patience})
				if tr.Failure != nil {
					t.Fatal(tr.Failure)
				}
				if tr.Reused != (keep && i > 0) {
					t.Fatalf("request %d: reused %v", i, tr.Reused)
				}
				if p := tr.Phases; (p.Connect > 0) == tr.Reused || p.Send <= 0 || p.Wait < 0 || p.TLS != 0 || p.Resolve != 0 {
					t.Fatalf("request %d, reused %v: phases %+v", i, tr.Reused, p)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if want := map[bool]int{false: requests, true: 1}[keep]; made != want {
				t.Errorf("%d connections, want %d", made, want)
			}
		})
	}
}
