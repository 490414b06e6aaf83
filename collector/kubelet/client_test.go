package kubelet

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet/kubelettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	return kubelettest.Serve(t, handler)
}

// raw gives each connection to a function, and closes it then.
func raw(t testing.TB, answer func(conn net.Conn)) string {
	t.Helper()
	path := kubelettest.Socket(t)
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				answer(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wg.Wait()
	})
	return path
}

// says sends a text and waits for the other end to leave.
func says(text string) func(conn net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// answers is a server's answer: the body, and the status behind it, "" for none.
func answers(body, status, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, body)
		if status != "" {
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", message)
		}
	}
}

func ask(t testing.TB, path string) ([]Claim, error) {
	t.Helper()
	return New(path, 10*time.Second).List(t.Context(), ours)
}

func TestList(t *testing.T) {
	var path, te, kind string
	var body []byte
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, te, kind = r.Method+" "+r.Host+r.URL.Path, r.Header.Get("Te"), r.Header.Get("Content-Type")
		body, _ = io.ReadAll(r.Body)
		answers(kubelettest.Framed(kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1")))), "0", "")(w, r)
	})
	got, err := ask(t, socket)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Claim{{Namespace: "ns", Pod: "a", Container: "c", Resource: "our.com/card", ID: "1"}}, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
	asked := []string{path, te, kind, string(body)}
	if diff := cmp.Diff([]string{"POST localhost/v1.PodResourcesLister/List", "trailers", "application/grpc", kubelettest.Framed("")}, asked); diff != "" {
		t.Errorf("the question: want (-) and got (+) differ:\n%s", diff)
	}
}

func TestListOfAnIdleNode(t *testing.T) {
	got, err := ask(t, serve(t, answers(kubelettest.Framed(""), "0", "")))
	if err != nil || len(got) != 0 {
		t.Errorf("got %v and %v, want neither devices nor an error", got, err)
	}
}

func TestWrongAnswers(t *testing.T) {
	good := kubelettest.Framed(kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1"))))
	large := string(binary.BigEndian.AppendUint32([]byte{0}, 17<<20))
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { kubelettest.Refuse(w, code, "go away") }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		reason failure.Reason
		text   string
	}{
		"no status": {answers(good, "", ""), failure.Parse, "0 gRPC statuses"},
		"a status before a message": {func(w http.ResponseWriter, _ *http.Request) {
			kubelettest.Refuse(w, 0, "")
			_, _ = io.WriteString(w, good)
		}, failure.Parse, "0 gRPC statuses"},
		"good, and no message":  {answers("", "0", ""), failure.Parse, "without a message"},
		"two messages":          {answers(good+good, "0", ""), failure.Parse, "more than one message"},
		"a byte more":           {answers(good+"x", "0", ""), failure.Parse, "more than one message"},
		"a message cut":         {answers(good[:len(good)-1], "0", ""), failure.Parse, "is cut"},
		"a prefix cut":          {answers(good[:3], "0", ""), failure.Parse, "ends after 3 bytes"},
		"compressed":            {answers("\x01"+good[1:], "0", ""), failure.Parse, "compressed"},
		"no gRPC":               {answers("<html>", "0", ""), failure.Parse, "does not begin with a message"},
		"no message of the API": {answers(kubelettest.Framed("\x0a"), "0", ""), failure.Parse, "is cut"},
		"too large":             {answers(large, "0", ""), failure.OutputTooLarge, "17825792 bytes, more than 16777216"},
		"a web server":          {http.NotFound, failure.Parse, `HTTP status 404, content type "text/plain`},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, failure.Parse, "HTTP status 503"},
		"the rate limit":            {status(8), failure.Busy, "status 8: go away"},
		"no such API":               {status(12), failure.Unsupported, "status 12: go away"},
		"forbidden":                 {status(7), failure.Permission, "status 7"},
		"starting":                  {status(14), failure.Driver, "status 14"},
		"an error of its own":       {status(13), failure.Exit, "status 13"},
		"an error behind a message": {answers(good, "13", "after%20all"), failure.Exit, "status 13: after all"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			kubelettest.Refuse(w, 0, strings.Repeat("x", 2*maxHeader))
		}, failure.Parse, "HTTP/2"},
		"a reset": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, failure.Parse, "HTTP/2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ask(t, serve(t, c.answer))
			if got != nil || failure.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.text) || len(err.Error()) > 400 {
				t.Errorf("got %v and %v of the class %q, want the class %s and %q", got, err, failure.ReasonOf(err), c.reason, c.text)
			}
		})
	}
}

// deadSocket is a socket that nobody listens at any more.
func deadSocket(t *testing.T) string {
	t.Helper()
	path := kubelettest.Socket(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	return path
}

func TestNoKubelet(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead := deadSocket(t)
	for path, want := range map[string]struct {
		reason failure.Reason
		text   string
	}{
		filepath.Join(folder, "none"): {failure.NotFound, "no such socket"},
		file:                          {failure.NotFound, "not a socket"},
		folder:                        {failure.NotFound, "not a socket"},
		dead:                          {failure.Driver, "nobody listens"},
		raw(t, func(net.Conn) {}):     {failure.Driver, "closed the connection"},
		raw(t, says("SSH-2.0-OpenSSH_9.2\r\n\r\n")):                                                 {failure.Parse, "no answer of HTTP/2"},
		raw(t, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")):                                {failure.Parse, "no answer of HTTP/2"},
		raw(t, says("\x00\x00\x00\x04\x00\x00\x00\x00\x00"+"\x00\x00\x05\x09\x05\x00\x00\x00\x00")): {failure.Parse, "no answer of HTTP/2"},
	} {
		if _, err := ask(t, path); failure.ReasonOf(err) != want.reason || !strings.Contains(err.Error(), want.text) {
			t.Errorf("got %v of the class %q, want the class %s and %q", err, failure.ReasonOf(err), want.reason, want.text)
		}
	}
}

// A kubelet's root folder is often a link.
func TestListThroughALink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "kubelet.sock")
	if err := os.Symlink(serve(t, answers(kubelettest.Framed(""), "0", "")), link); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, link); err != nil {
		t.Error(err)
	}
}

// A kubelet that hangs costs its time and nothing more, wherever it hangs.
func TestHang(t *testing.T) {
	until := make(chan struct{})
	hang := func(net.Conn) { <-until }
	inside := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = io.WriteString(w, kubelettest.Framed("xxx")[:6])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for name, path := range map[string]string{"at once": raw(t, hang), "in the message": inside} {
		_, err := New(path, 50*time.Millisecond).List(t.Context(), ours)
		if failure.ReasonOf(err) != failure.Timeout || !strings.Contains(err.Error(), "no whole answer within 50ms") {
			t.Errorf("%s: got %v of the class %q", name, err, failure.ReasonOf(err))
		}
	}
	close(until)
}

func TestStopWhileAsking(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	path := serve(t, func(_ http.ResponseWriter, r *http.Request) { stop(); <-r.Context().Done() })
	if _, err := New(path, time.Hour).List(ctx, ours); err == nil {
		t.Error("an answer from a kubelet that gave none")
	}
}

func TestOldVersionIsAskedOnlyWhereTheNewIsUnknown(t *testing.T) {
	for _, c := range []struct {
		status int
		want   []string
	}{
		{12, []string{"/v1.PodResourcesLister/List", "/v1alpha1.PodResourcesLister/List"}},
		{13, []string{"/v1.PodResourcesLister/List"}},
		{8, []string{"/v1.PodResourcesLister/List"}},
	} {
		var asked []string
		path := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked = append(asked, r.URL.Path); strings.HasPrefix(r.URL.Path, "/v1.") {
				kubelettest.Refuse(w, c.status, "")
				return
			}
			answers(kubelettest.Framed(kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1")))), "0", "")(w, r)
		})
		got, err := ask(t, path)
		if diff := cmp.Diff(c.want, asked); diff != "" {
			t.Errorf("status %d: want (-) and got (+) differ:\n%s", c.status, diff)
		}
		if old := len(c.want) > 1; (len(got) == 1) != old || (err == nil) != old {
			t.Errorf("status %d: got %v and %v", c.status, got, err)
		}
	}
}

// After a refusal for its rate limit a kubelet has rest, longer each time.
func TestRestAfterTheRateLimit(t *testing.T) {
	asked := 0
	refuse := true
	path := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if refuse {
			kubelettest.Refuse(w, 8, "rejected by rate limit")
			return
		}
		answers(kubelettest.Framed(""), "0", "")(w, r)
	})
	c := New(path, 10*time.Second)
	var at []int
	poll := func(n int) error {
		before := asked
		_, err := c.List(t.Context(), ours)
		if asked != before {
			at = append(at, n)
		}
		return err
	}
	for n := range 24 {
		if err := poll(n); failure.ReasonOf(err) != failure.Busy {
			t.Fatalf("poll %d: %v", n, err)
		}
	}
	if diff := cmp.Diff([]int{0, 2, 6, 14, 22}, at); diff != "" {
		t.Errorf("asked at the polls: want (-) and got (+) differ:\n%s", diff)
	}
	refuse, at = false, nil
	var errs []error
	for n := range 8 {
		errs = append(errs, poll(n))
	}
	if errs[7] != nil || len(at) != 2 {
		t.Errorf("a kubelet that answers again is asked at the polls %v, with the errors %v", at, errs)
	}
}

// A socket that nobody listens at is asked ten thousand times, a day of polls; and one where somebody hangs up or
// never answers.
func TestNothingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	dead := deadSocket(t)
	c := New(dead, 10*time.Second)
	rude := New(raw(t, func(net.Conn) {}), 10*time.Second)
	deaf := New(raw(t, func(conn net.Conn) {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second)) // a client that does not leave is not waited for
		_, _ = io.Copy(io.Discard, conn)
	}), time.Millisecond)
	round := func(n int) {
		for range n {
			if _, err := c.List(t.Context(), ours); failure.ReasonOf(err) != failure.Driver {
				t.Fatal(err)
			}
		}
		for range n / 10 {
			for _, c := range []*Client{rude, deaf} {
				if _, err := c.List(t.Context(), ours); err == nil {
					t.Fatal("an answer from nobody")
				}
			}
		}
	}
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("no procfs")
		}
		return len(all)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round(200)
	goroutines, open, held := runtime.NumGoroutine(), files(), heap()
	round(10_000)
	const slack = 1 << 20
	if now := heap(); now > held+slack {
		t.Errorf("the heap went from %d to %d bytes", held, now)
	}
	for range 500 { // the server's last goroutines end by themselves
		if runtime.NumGoroutine() <= goroutines+1 && files() <= open+1 {
			return
		}
		runtime.Gosched()
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("from %d goroutines and %d files to %d and %d", goroutines, open, runtime.NumGoroutine(), files())
}
