package probe

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/common/model"
)

const goodAnswer = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n" +
	"data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// endpoint answers a chat when it is let to.
type endpoint struct {
	url     string
	arrived chan string   // the path before /v1 of each request
	answer  chan struct{} // one for each answer; closed to answer all
}

func newEndpoint(t testing.TB) *endpoint {
	e := &endpoint{arrived: make(chan string, 1000), answer: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		path, _, asks := strings.Cut(r.URL.Path, "/v1/")
		if !asks { // /metrics
			return
		}
		select {
		case e.arrived <- path:
		case <-r.Context().Done():
		}
		select {
		case <-e.answer:
			_, _ = io.WriteString(w, goodAnswer)
		case <-r.Context().Done():
		}
	}))
	e.url = server.URL
	t.Cleanup(server.Close)
	return e
}

// expect waits for a request to path.
func (e *endpoint) expect(t testing.TB, path string) {
	t.Helper()
	select {
	case got := <-e.arrived:
		if got != path {
			t.Fatalf("a request to %q, want %q", got, path)
		}
	case <-time.After(patience):
		t.Fatalf("no request to %q", path)
	}
}

// quickTarget is one at url that is due every few milliseconds.
func quickTarget(t testing.TB, url string, change func(*Spec)) Target {
	target := makeTarget(t, func(s *Spec) {
		s.URL, s.Expect = url, "^ab$"
		if change != nil {
			change(s)
		}
	})
	target.Interval = model.Duration(5 * time.Millisecond) // below what a user may set
	return target
}

func apply(t testing.TB, p *Prober, targets ...Target) {
	t.Helper()
	noError(t, p.Apply(targets))
}

// probing runs a target that had one answer, and whose second request is in flight.
func probing(t *testing.T) (e *endpoint, p *Prober, stop func()) {
	t.Helper()
	e, p = newEndpoint(t), New(log.NewNopLogger())
	apply(t, p, quickTarget(t, e.url+"/a", nil))
	stop = running(t, p)
	e.expect(t, "/a")
	e.answer <- struct{}{}
	e.expect(t, "/a")
	return e, p, stop
}

// An unchanged target keeps its request in flight and its counters.
func TestReloadUnchanged(t *testing.T) {
	e, p, stop := probing(t)
	apply(t, p, quickTarget(t, e.url+"/a", nil), quickTarget(t, e.url+"/b", func(s *Spec) { s.Name = "b" }))
	e.expect(t, "/b") // a new one starts
	close(e.answer)
	requests := func(target string) float64 {
		return samples(t, p)[fmt.Sprintf(`requests_total{model="m",target=%q}`, target)]
	}
	eventually(t, "three answers", func() bool { return requests("a") >= 3 && requests("b") >= 1 })
	apply(t, p, quickTarget(t, e.url+"/a", nil))
	all := samples(t, p)
	stop()
	if failed := only(all, "failures_total"); len(failed) > 0 {
		t.Errorf("failures: %v", failed)
	}
	if left := only(all, `target="b"`); len(left) > 0 {
		t.Errorf("series of the target that is gone: %v", left)
	}
}

// A changed target has its request cancelled, and starts anew.
func TestReloadChanged(t *testing.T) {
	e, p, stop := probing(t)
	apply(t, p, quickTarget(t, e.url+"/b", func(s *Spec) { s.Model = "n" }))
	if left := only(samples(t, p), `model="m"`); len(left) > 0 {
		t.Errorf("series of before: %v", left)
	}
	e.expect(t, "/b")
	e.answer <- struct{}{}
	eventually(t, "a success after the change", func() bool { return samples(t, p)[`success{model="n",target="a"}`] == 1 })
	stop()
}
