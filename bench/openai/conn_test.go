package openai

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	x.finish()
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

// awaitRead waits until the owner of a socket of 127.0.0.1 has read all that came: what
// waits there on a busy machine is read as one with what comes next, and has one stamp.
func awaitRead(t *testing.T, address string) {
	t.Helper()
	at := netip.MustParseAddrPort(address)
	local := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(at.Addr().AsSlice()), at.Port()) // as /proc/net/tcp spells it
	waits := func(line string) bool {
		f := strings.Fields(line) // sl, local_address, rem_address, st, tx_queue:rx_queue
		return len(f) > 4 && f[1] == local && !strings.HasSuffix(f[4], ":00000000")
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); runtime.Gosched() {
		sockets, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Error(err)
			return
		}
		if !slices.ContainsFunc(strings.Split(string(sockets), "\n"), waits) {
			return
		}
	}
	t.Errorf("%s was not read", address)
}

// A stream's instants are the kernel's, also below TLS.
func TestKernelInstants(t *testing.T) {
	needStamps(t)
	pair := newKeyPair(t, "server")
	const words, gap = 20, 2 * time.Millisecond
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range words {
			time.Sleep(gap)
			_, _ = io.WriteString(w, events(word))
			_ = http.NewResponseController(w).Flush()
			awaitRead(t, r.RemoteAddr)
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
			if tr.Clock != ClockKernel || tr.Lag.Reads < words {
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
			if tpot, _ := TPOT(tr); tpot < gap/2 {
				t.Errorf("TPOT %v, the server took %v", tpot, gap)
			}
		})
	}
}

// The connection is found through what is put around it.
func TestConnOf(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := newConn(ours)
	defer c.Close()
	if connOf(tls.Client(c, &tls.Config{})) != c {
		t.Error("the connection is not found through another")
	}
}
