// Package balancers holds health checks of load balancers. Its test gives them to the real HAProxy.
package balancers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// replica is a model server, and what the exporter beside it says.
type replica struct {
	server, exporter *httptest.Server
	state            atomic.Int32 // of HTTP
}

func newReplica(t *testing.T, name string) *replica {
	r := new(replica)
	r.state.Store(http.StatusServiceUnavailable)
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/target", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(r.state.Load())) })
	r.exporter = httptest.NewServer(mux)
	t.Cleanup(r.server.Close)
	t.Cleanup(r.exporter.Close)
	return r
}

func port(t *testing.T, s *httptest.Server) string {
	t.Helper()
	_, p, err := net.SplitHostPort(s.Listener.Addr().String())
	programtest.NoError(t, err)
	return p
}

// HAProxy sends users to the replicas of which the exporter says that they can be asked, and to no other.
func TestHAProxy(t *testing.T) {
	haproxy := programtest.Find(t, "haproxy")
	a, b := newReplica(t, "a"), newReplica(t, "b")
	address := programtest.FreeAddress(t)
	config := strings.NewReplacer(
		"bind :8080", "bind "+address, "inter 5s", "inter 50ms",
		"10.0.0.1:8000 check port 10068", fmt.Sprintf("127.0.0.1:%s check port %s", port(t, a.server), port(t, a.exporter)),
		"10.0.0.2:8000 check port 10068", fmt.Sprintf("127.0.0.1:%s check port %s", port(t, b.server), port(t, b.exporter)),
	).Replace(programtest.Read(t, "haproxy.cfg"))
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	programtest.Write(t, path, config)
	programtest.Start(t, "haproxy", exec.Command(haproxy, "-db", "-f", path))
	for _, c := range []struct {
		a, b    int32
		answers string
	}{{200, 503, "aaaa"}, {503, 200, "bbbb"}, {503, 503, "----"}, {200, 503, "aaaa"}} {
		a.state.Store(c.a)
		b.state.Store(c.b)
		programtest.Eventually(t, 20*time.Second, "users are answered by "+c.answers, func() error {
			if got := four(address); got != c.answers {
				return fmt.Errorf("answered by %s", got)
			}
			return nil
		})
	}
}

// four are who answers four requests, "-" for nobody.
func four(address string) (names string) {
	for range 4 {
		name := "-"
		if response, err := http.Get("http://" + address + "/v1/models"); err == nil {
			text, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				name = string(text)
			}
		}
		names += name
	}
	return names
}

// The other configurations ask for the same page.
func TestOthersAskForTheSame(t *testing.T) {
	const page = "/-/target?unknown=503"
	for _, file := range []string{"haproxy.cfg", "envoy.yaml", "nginx.conf"} {
		if text := programtest.Read(t, file); strings.Count(text, page) != 1 || !strings.Contains(text, "10068") {
			t.Errorf("%s does not ask for %s", file, page)
		}
	}
	programtest.ReadYAML(t, "envoy.yaml", new(map[string]any))
}
