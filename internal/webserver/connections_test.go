package webserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server for so many clients, over TLS and HTTP/2 if asked for.
func serve(t *testing.T, secure bool, limit int, pages http.Handler) *httptest.Server {
	t.Helper()
	return started(t, secure, New(pages, limit))
}

func started(t *testing.T, secure bool, server *http.Server) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = server
	server.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

// slow answers after it was released.
func slow() (pages http.HandlerFunc, entered, release chan struct{}) {
	entered, release = make(chan struct{}, 10), make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		hello(w, r)
	}, entered, release
}

// dial connects and sends a text.
func dial(t *testing.T, s *httptest.Server, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

const question = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// answered reports whether a client is answered with 200.
func answered(conn net.Conn) bool {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}

// eventuallyAnswered waits until a new client is answered.
func eventuallyAnswered(t *testing.T, s *httptest.Server) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !answered(dial(t, s, question)); {
		if time.Now().After(deadline) {
			t.Fatal("no new client is answered")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func isClosed(conn net.Conn) bool {
	_, err := io.Copy(io.Discard, conn)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// Clients that connect and say nothing, or not all, keep nobody out.
func TestSilentClientsGiveWay(t *testing.T) {
	const record = "\x16\x03\x01\x02\x00" // of TLS, that is to have 512 bytes
	for name, c := range map[string]struct {
		secure bool
		said   string
	}{
		"nothing":            {false, ""},
		"half a request":     {false, "GET / HTTP/1.1\r\nHost:"},
		"an idle connection": {false, question},
		"no handshake":       {true, ""},
		"half a handshake":   {true, record},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.secure, 3, http.HandlerFunc(hello))
			first := dial(t, s, c.said)
			for range 2 {
				dial(t, s, c.said)
			}
			response, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatalf("the fourth client of three: %v", err)
			}
			response.Body.Close()
			if c.said != question && !isClosed(first) {
				t.Error("the client that waited longest is still connected")
			}
		})
	}
}

// A client that is being served stays while there is one that is not.
func TestBusyClientsStay(t *testing.T) {
	pages, entered, release := slow()
	s := serve(t, false, 3, pages)
	var busy []net.Conn
	for range 2 {
		busy = append(busy, dial(t, s, question))
		<-entered
	}
	for range 10 {
		dial(t, s, "")
	}
	last := dial(t, s, question)
	<-entered
	close(release)
	for i, conn := range append(busy, last) {
		if !answered(conn) {
			t.Errorf("client %d was not answered", i)
		}
	}
}

// Where all are being served, the longest gives way to a new one; and no more than as
// many again go on although their client was ended, such as guesses of a password.
func TestServedClientsGiveWay(t *testing.T) {
	const limit = 2
	pages, entered, release := slow()
	s := serve(t, false, limit, pages)
	var clients []net.Conn
	for range 2 * limit {
		clients = append(clients, dial(t, s, question))
		<-entered
	}
	if !isClosed(clients[0]) || !isClosed(clients[1]) {
		t.Error("those that were served longest are still connected")
	}
	if !isClosed(dial(t, s, question)) {
		t.Error("more than twice as many requests are in work")
	}
	close(release)
	if len(entered) > 0 {
		t.Errorf("%d requests too many were begun", len(entered))
	}
	dead := 0
	for _, conn := range clients[limit:] {
		if !answered(conn) {
			dead++
		}
	}
	if dead > 1 { // the refused one may have taken a place
		t.Errorf("%d of %d others were not answered", dead, limit)
	}
	eventuallyAnswered(t, s)
}

// Nobody waits for a body that is announced and not sent: the client is answered at once,
// not when the server's patience ends.
func TestBodiesAreNotWaitedFor(t *testing.T) {
	for name, request := range map[string]string{
		"length":         "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"half of it":     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345",
		"much":           "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n12345",
		"chunked":        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"half a chunk":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na\r\n1",
		"expecting":      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
		"about a server": "OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
	} {
		for size, page := range map[string]string{"short": "hello", "long": strings.Repeat("hello", 100_000)} {
			t.Run(name+" "+size, func(t *testing.T) {
				pages := NewPages(1, func(*http.Request, error) {})
				s := serve(t, false, 3, pages.Held(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) })))
				conn := dial(t, s, request)
				if got, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasSuffix(string(got), page) {
					t.Errorf("%d bytes of an answer, and then: %v", len(got), err)
				}
			})
		}
	}
}

// Who waits for a body before our pages are asked, as exporter-toolkit does for an answer
// of 401, keeps nobody out either.
func TestBodiesBeforeThePages(t *testing.T) {
	server := New(nil, 3)
	asked := make(chan struct{}, 100)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		hello(w, r)
	})
	s := started(t, false, server)
	for range 9 {
		dial(t, s, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
		select {
		case <-asked:
		case <-time.After(10 * time.Second):
			t.Fatal("a client was not let in")
		}
	}
	eventuallyAnswered(t, s) // when it is noticed that the first ones were ended
}

// A body that is sent does no harm, over HTTP/2 neither; nor does one that never comes.
func TestBodiesThatCome(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := serve(t, secure, 3, http.HandlerFunc(hello))
		response, err := s.Client().Post(s.URL, "application/json", strings.NewReader("{}"))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("secure %v: %v, %v", secure, response, err)
		}
		response.Body.Close()
	}
	s := serve(t, true, 3, http.HandlerFunc(hello))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	never, silent := io.Pipe()
	defer silent.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, never)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Client().Do(request)
	if err != nil || response.ProtoMajor != 2 || response.StatusCode != http.StatusOK {
		t.Fatalf("HTTP/2, a body that never comes: %v, %v", response, err)
	}
	response.Body.Close()
}

// http2 connects over HTTP/2 with windows of so many bytes, and asks for so many pages.
func http2(t *testing.T, s *httptest.Server, window uint32, requests int) *tls.Conn {
	t.Helper()
	conn := tls.Client(dial(t, s, ""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	text := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04" + string([]byte{byte(window >> 24), byte(window >> 16), byte(window >> 8), byte(window)}) + // SETTINGS
		"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x70\x00\x00\x00" // WINDOW_UPDATE of the connection
	for i := range requests {
		// HEADERS: GET, https, /, authority x
		text += "\x00\x00\x06\x01\x05\x00\x00\x00" + string([]byte{byte(2*i + 1)}) + "\x82\x87\x84\x01\x01x"
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Over HTTP/2 a client can send little that nobody reads, and ask for few pages at once.
func TestHTTP2Bounds(t *testing.T) {
	s := serve(t, true, 3, http.HandlerFunc(hello))
	conn := http2(t, s, 0, 0)
	head := make([]byte, 9)
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		t.Fatalf("no SETTINGS: %v, %v", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	got := map[byte]int{}
	for ; len(settings) >= 6; settings = settings[6:] {
		got[settings[1]] = int(settings[2])<<24 | int(settings[3])<<16 | int(settings[4])<<8 | int(settings[5])
	}
	if streams, window := got[3], got[4]; streams != maxStreams || window != maxUnread {
		t.Errorf("%d streams of %d bytes", streams, window)
	}
}
