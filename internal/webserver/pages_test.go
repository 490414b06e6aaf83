package webserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// wedged is a client of whom no byte is taken, and its connection.
type wedged struct {
	*httptest.ResponseRecorder
	net.Conn
	closed  chan struct{}
	noticed chan struct{} // closed when its handler is to see that the connection is closed
}

func (w *wedged) Write([]byte) (int, error) {
	<-w.noticed
	return 0, errors.New("closed")
}

func (w *wedged) Close() error {
	close(w.closed)
	return nil
}

func from(conn net.Conn) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return r.WithContext(context.WithValue(r.Context(), connKey{}, conn))
}

// The memory for pages is bounded: the page of a client that was ended counts until
// nobody holds it.
func TestPagesAreHeldUntilTheyAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rendered, left atomic.Int32
		pages := NewPages(2, func(*http.Request, error) { left.Add(1) }).Held(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rendered.Add(1)
			hello(w, r)
		}))
		var running sync.WaitGroup
		var clients []*wedged
		for range 3 {
			c := &wedged{ResponseRecorder: httptest.NewRecorder(), closed: make(chan struct{}), noticed: make(chan struct{})}
			clients = append(clients, c)
			running.Go(func() { pages.ServeHTTP(c, from(c)) })
			synctest.Wait()
			time.Sleep(patience / 3)
		}
		select {
		case <-clients[0].closed:
			t.Error("the first client had little time")
		default:
		}
		<-clients[0].closed
		synctest.Wait()
		if n := rendered.Load(); n != 2 {
			t.Errorf("%d pages are held, want 2", n)
		}
		close(clients[0].noticed)
		synctest.Wait()
		if rendered.Load() != 3 || left.Load() != 1 {
			t.Errorf("%d pages were rendered and %d clients left, want 3 and 1", rendered.Load(), left.Load())
		}
		close(clients[1].noticed)
		close(clients[2].noticed)
		running.Wait()
		for _, c := range clients[1:] {
			select {
			case <-c.closed:
				t.Error("another client was ended")
			default:
			}
		}
	})
}

// What is being rendered gives way to nobody: who comes then waits, and is told after a while.
func TestWhoComesWhileAllIsRendered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, entered, release := slow()
		pages := NewPages(1, func(*http.Request, error) {}).Held(slow)
		var running sync.WaitGroup
		ask := func(r *http.Request) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			running.Go(func() { pages.ServeHTTP(w, r) })
			synctest.Wait()
			return w
		}
		begin := time.Now()
		first := ask(from(nil))
		<-entered
		refused := ask(from(nil))
		gone, leave := context.WithCancel(t.Context())
		ask(from(nil).WithContext(gone))
		leave()
		time.Sleep(longestWait)
		synctest.Wait()
		waiting := ask(from(nil))
		close(release)
		running.Wait()
		if first.Code != http.StatusOK || waiting.Code != http.StatusOK || refused.Code != http.StatusServiceUnavailable || time.Since(begin) != longestWait {
			t.Errorf("status of the first %d, of one who waits %d, of one who waits too long %d, after %s", first.Code, waiting.Code, refused.Code, time.Since(begin))
		}
		if len(entered) != 1 {
			t.Errorf("%d pages more were rendered, want 1", len(entered))
		}
	})
}

// Clients that ask and do not read take the place of nobody who does.
func TestReadersThatDoNotRead(t *testing.T) {
	const places = 3
	for name, stall := range map[string]func(*testing.T, *httptest.Server){
		"HTTP/1": func(t *testing.T, s *httptest.Server) { dial(t, s, strings.Repeat(question, 50)) },
		"a body that is missing": func(t *testing.T, s *httptest.Server) {
			dial(t, s, strings.Replace(question, "\r\n\r\n", "\r\nContent-Length: 1\r\n\r\n", 1))
		},
		"HTTP/2, closed windows": func(t *testing.T, s *httptest.Server) { http2(t, s, 0, maxStreams) },
		"HTTP/2, open windows":   func(t *testing.T, s *httptest.Server) { http2(t, s, 1<<31-1, maxStreams) },
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("0123456789abcdef", 100_000)
			pages := NewPages(places, func(*http.Request, error) {})
			s := serve(t, strings.HasPrefix(name, "HTTP/2"), 50, pages.Held(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })))
			for range 2 * places {
				stall(t, s)
			}
			for deadline := time.Now().Add(10 * time.Second); !reads(s, text); {
				if time.Now().After(deadline) {
					t.Fatal("nobody gets a page")
				}
			}
		})
	}
}

// reads reports whether a client of its own gets a page.
func reads(s *httptest.Server, page string) bool {
	response, err := s.Client().Get(s.URL)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return err == nil && response.StatusCode == http.StatusOK && string(body) == page
}
