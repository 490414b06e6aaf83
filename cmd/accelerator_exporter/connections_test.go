package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// limited is a server for so many clients; it answers after it was released.
func limited(t *testing.T, limit int) (s *httptest.Server, entered chan struct{}, release chan struct{}) {
	t.Helper()
	entered, release = make(chan struct{}, 10), make(chan struct{})
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		io.WriteString(w, "hello")
	}))
	s.Config.ConnState = newConnections(limit).track
	s.Start()
	t.Cleanup(s.Close)
	return s, entered, release
}

func dial(t *testing.T, s *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

const question = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func ask(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.WriteString(conn, question); err != nil {
		t.Fatal(err)
	}
}

func isClosed(conn net.Conn) bool {
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// Clients that connect and say nothing keep nobody out.
func TestSilentClientsGiveWay(t *testing.T) {
	s, _, release := limited(t, 3)
	close(release)
	first := dial(t, s)
	for range 2 {
		dial(t, s)
	}
	last := dial(t, s)
	ask(t, last)
	response, err := http.ReadResponse(bufio.NewReader(last), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the fourth client of three: %v, %v", response, err)
	}
	if !isClosed(first) {
		t.Error("the client that waited longest is still connected")
	}
}

// A client that is being served is not cut off for another.
func TestBusyClientsStay(t *testing.T) {
	s, entered, release := limited(t, 2)
	var busy []net.Conn
	for range 2 {
		conn := dial(t, s)
		ask(t, conn)
		<-entered
		busy = append(busy, conn)
	}
	if !isClosed(dial(t, s)) {
		t.Error("a third client is connected")
	}
	close(release)
	for _, conn := range busy {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("a client that was being served: %v, %v", response, err)
		}
	}
	waitFor(t, "they give way when their requests are over", func() bool {
		conn := dial(t, s)
		if _, err := io.WriteString(conn, question); err != nil {
			return false
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		return err == nil && response.StatusCode == http.StatusOK
	})
}
