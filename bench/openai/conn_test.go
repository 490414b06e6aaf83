package openai

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/common/config"
)

// needStamps skips where the kernel does not stamp what a socket receives.
func needStamps(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("receive stamps are read on Linux only")
	}
	// The kernel starts to stamp a moment after the first socket wants it.
	open, err := (&net.ListenConfig{Control: wantStamps}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	noError(t, err)
	t.Cleanup(func() { _ = open.Close() })
	if lag := lateReads(t, time.Millisecond); lag.Reads == 0 {
		t.Skip("this kernel does not stamp what a socket receives")
	}
}

// lateReads reads what a peer wrote before the read by at least late, some
// times over; it returns the lag.
func lateReads(t *testing.T, late time.Duration) Lag {
	t.Helper()
	wrote, read := make(chan struct{}), make(chan struct{})
	const rounds = 5
	address := rawServer(t, func(c *net.TCPConn) {
		for range rounds {
			_, _ = io.WriteString(c, "x")
			wrote <- struct{}{}
			<-read
		}
	})
	nc, err := (&net.Dialer{Control: wantStamps}).DialContext(t.Context(), "tcp", address)
	noError(t, err)
	c := newConn(nc)
	defer c.Close()
	client := newTestClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	trace := new(Trace)
	x := client.begin(t.Context(), trace, 0, 0)
	c.owner.Store(x)
	for range rounds {
		<-wrote
		time.Sleep(late)
		if n, err := c.Read(make([]byte, 8)); n != 1 || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
		read <- struct{}{}
	}
	x.finish(nil)
	return x.lag
}

// The stamp is the kernel's: the time a read came too late is in the lag.
func TestLag(t *testing.T) {
	needStamps(t)
	const late = 20 * time.Millisecond
	lag := lateReads(t, late)
	if lag.Reads == 0 {
		t.Fatal("no lag")
	}
	mean := lag.Sum / time.Duration(lag.Reads)
	for _, one := range []time.Duration{mean, lag.Max, lag.Last} {
		if one < late/2 || one > patience || one > lag.Max { // the kernel may be late itself
			t.Errorf("lag %+v after reading %v late", lag, late)
		}
	}
}

// A stream's instants are the kernel's, also below TLS.
func TestKernelInstants(t *testing.T) {
	needStamps(t)
	pair := newKeyPair(t, "server")
	const words, gap = 20, 2 * time.Millisecond
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range words {
			time.Sleep(gap)
			_, _ = io.WriteString(w, events(word))
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, events(stop, done))
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(handler)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair.tls}}
	secure.StartTLS()
	defer secure.Close()
	for name, url := range map[string]string{"http": plain.URL, "https": secure.URL} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, Config{BaseURL: url, HTTP: config.HTTPClientConfig{TLSConfig: config.TLSConfig{CA: pair.cert}}})
			tr := c.Stream(t.Context(), Request{Timeout: patience})
			if tr.Failure != nil || len(tr.Chunks) != words {
				t.Fatalf("%d chunks, failure %v", len(tr.Chunks), tr.Failure)
			}
			if tr.Clock != ClockKernel || tr.Lag.Reads == 0 {
				t.Errorf("clock %s with lag %+v", tr.Clock, tr.Lag)
			}
			last := time.Duration(0)
			for i, c := range tr.Chunks {
				if c.At < last || c.At > tr.End {
					t.Errorf("chunk %d at %v, after %v, end %v", i, c.At, last, tr.End)
				}
				last = c.At
			}
			if ttft, _ := TTFT(tr); ttft < gap {
				t.Errorf("TTFT %v", ttft)
			}
			if last < words*gap {
				t.Errorf("the last chunk at %v, the server took %v", last, words*gap)
			}
		})
	}
}
