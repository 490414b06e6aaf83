//go:build e2e

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

// trouble does one wrong thing, and takes a while over it.
type trouble func(ctx context.Context, random *mathrand.Rand)

// troubles go on side by side.
func (s *soak) troubles(t *testing.T) []trouble {
	all := []trouble{s.troubleTools, s.troubleCards, s.troubleServer, s.troubleKey, s.troubleLog}
	all = append(all, func(ctx context.Context, random *mathrand.Rand) { s.troubleConfiguration(ctx, t, random) })
	for range 6 {
		all = append(all, s.troubleConnections)
	}
	for range 2 {
		all = append(all, s.troubleRequests)
	}
	return all
}

func (s *soak) troubleTools(ctx context.Context, random *mathrand.Rand) {
	tool := pick(random, "mx-smi", "npu-smi", "hccn_tool")
	s.set(tool+".fault", pick(random, "", "", "hang", "hang_child", "ignore_term", "half", "exit", "exit_after", "flood", "torn", "no_device", "driver", "garbage", "card_lost",
		map[string]string{"mx-smi": "summary flood", "npu-smi": "ecc hang", "hccn_tool": "stat half"}[tool],
		map[string]string{"mx-smi": "counters slow 500ms", "npu-smi": "card 3 slow 500ms", "hccn_tool": "card 3 hang_child"}[tool]))
	s.set(tool+".daemon", pick(random, "", "setsid", "twice", "closed", "group"))
	wait(ctx, random, 2*time.Second)
}

func (s *soak) troubleCards(ctx context.Context, random *mathrand.Rand) {
	kinds := fakesmi.FaultKinds()
	s.set(pick(random, "mx-smi", "npu-smi")+".card", fmt.Sprintf("%d %s", random.IntN(8), kinds[random.IntN(len(kinds))]))
	wait(ctx, random, time.Second)
}

func (s *soak) troubleServer(ctx context.Context, random *mathrand.Rand) {
	faults := fakevllm.Faults()
	s.set("vllm.fault", string(faults[random.IntN(len(faults))]))
	wait(ctx, random, 2*time.Second)
}

// troubleKey makes the key's file empty, a pipe, a folder, a device or huge, or takes it away.
func (s *soak) troubleKey(ctx context.Context, random *mathrand.Rand) {
	path := s.path("key")
	_ = os.RemoveAll(path)
	switch random.IntN(7) {
	case 0:
		_ = syscall.Mkfifo(path, 0o600)
	case 1:
		_ = os.Mkdir(path, 0o700)
	case 2:
		_ = os.Symlink("/dev/zero", path)
	case 3:
		_ = os.WriteFile(path, nil, 0o600)
	case 4:
		_ = os.WriteFile(path, make([]byte, 8<<20), 0o600)
	case 5:
		s.writeKey()
	}
	wait(ctx, random, time.Second)
}

func (s *soak) troubleLog(ctx context.Context, random *mathrand.Rand) {
	select {
	case s.logPaused <- time.Duration(random.IntN(8)) * time.Second:
	case <-ctx.Done():
	}
	wait(ctx, random, 10*time.Second)
}

func (s *soak) troubleConfiguration(ctx context.Context, t *testing.T, random *mathrand.Rand) {
	s.writeProbes(t, pick(random, "",
		fmt.Sprintf("  - {name: other-%d, url: %q, interval: 500ms, timeout: 1s}\n", random.IntN(3), "http://"+s.vllm),
		fmt.Sprintf("  - {name: gone, url: %q, model: x, interval: 500ms, timeout: 1s}\n", "http://127.0.0.1:9"),
		"  - {name: [\n", "  - {name: "+strings.Repeat("x", 1<<20)+"}\n"))
	if random.IntN(2) == 0 {
		_ = s.process.Process.Signal(syscall.SIGHUP)
	} else {
		s.reload(ctx)
	}
	wait(ctx, random, 3*time.Second)
}

// troubleConnections opens many connections that do one of the things no client should.
func (s *soak) troubleConnections(ctx context.Context, random *mathrand.Rand) {
	const get = "GET /metrics HTTP/1.1\r\nHost: x\r\n"
	say := pick(random, "", "GET", get, get+"X: "+strings.Repeat("x", 32<<10)+"\r\n\r\n",
		get+"Content-Length: 1000000\r\n\r\n", get+"Transfer-Encoding: chunked\r\n\r\n",
		get+"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n",
		"POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		strings.Repeat(get+"\r\n", 20), "\x16\x03\x01\x02\x00\x01", rand.Text())
	var open []net.Conn
	for range random.IntN(100) {
		conn, err := net.DialTimeout("tcp", s.exporter, time.Second)
		if err != nil {
			break
		}
		_, _ = io.WriteString(conn, say)
		open = append(open, conn)
	}
	wait(ctx, random, 3*time.Second)
	for _, conn := range open {
		if random.IntN(2) == 0 {
			_ = conn.(*net.TCPConn).SetLinger(0) // a reset
		}
		_ = conn.Close()
	}
}

// troubleRequests asks for each page and leaves in the middle of it.
func (s *soak) troubleRequests(ctx context.Context, random *mathrand.Rand) {
	part, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(20))*time.Millisecond)
	defer cancel()
	path := pick(random, "/metrics", "/", "/-/healthy", "/-/ready", "/nothing", "/metrics?name[]=x&"+strings.Repeat("y", 9000))
	request, err := http.NewRequestWithContext(part, pick(random, http.MethodGet, http.MethodPut, http.MethodHead, "BREW"), "http://"+s.exporter+path, nil)
	if err == nil {
		_, _ = readAnswer(request)
	}
	wait(ctx, random, 100*time.Millisecond)
}

// readAnswer sends a request and returns the answer's text, and an error for another status
// than 200.
func readAnswer(request *http.Request) (string, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, text)
	}
	return string(text), err
}

// wait lets a random time pass, up to most.
func wait(ctx context.Context, random *mathrand.Rand, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
	}
}

func pick(random *mathrand.Rand, from ...string) string { return from[random.IntN(len(from))] }
