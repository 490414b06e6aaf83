//go:build e2e

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// trouble does one wrong thing, and returns how long it may last.
type trouble func(ctx context.Context, random *rand.Rand) time.Duration

// troubles go on side by side.
func (s *soak) troubles() []trouble {
	return []trouble{s.troubleTools, s.troubleCards, s.troubleServer, s.troubleKey, s.troubleConfiguration, s.troubleConnections, s.troubleConnections, s.troubleRequests}
}

func (s *soak) troubleTools(_ context.Context, random *rand.Rand) time.Duration {
	tool := pick(random, "mx-smi", "npu-smi", "hccn_tool")
	s.set(tool+".fault", pick(random, "", "", "hang", "exit", "card_lost",
		map[string]string{"mx-smi": "summary hang", "npu-smi": "ecc hang", "hccn_tool": "stat exit"}[tool],
		map[string]string{"mx-smi": "counters slow 500ms", "npu-smi": "card 3 slow 500ms", "hccn_tool": "card 3 hang"}[tool]))
	s.set(tool+".wrong", pick(random, "", "", "", "child", "ignore_term", "half", "flood", "torn", "garbage"))
	s.set(tool+".daemon", pick(random, "", "setsid", "twice", "closed", "group"))
	return 2 * time.Second
}

func (s *soak) troubleCards(_ context.Context, random *rand.Rand) time.Duration {
	kind := pick(random, "unhealthy", "hot", "memory_full", "ecc", "port_down", "optics")
	s.set(pick(random, "mx-smi", "npu-smi")+".card", fmt.Sprintf("%d %s", random.IntN(8), kind))
	return time.Second
}

func (s *soak) troubleServer(_ context.Context, random *rand.Rand) time.Duration {
	faults := fakevllm.Faults()
	s.set("vllm.fault", string(faults[random.IntN(len(faults))]))
	return 2 * time.Second
}

// troubleKey makes the key's file empty, a folder or long, or takes it away.
func (s *soak) troubleKey(_ context.Context, random *rand.Rand) time.Duration {
	path := s.path("key")
	_ = os.RemoveAll(path)
	switch random.IntN(5) {
	case 0:
		_ = os.Mkdir(path, 0o700)
	case 1:
		_ = os.WriteFile(path, nil, 0o600)
	case 2:
		_ = os.WriteFile(path, make([]byte, 8<<20), 0o600)
	case 3:
		s.writeKey()
	}
	return time.Second
}

func (s *soak) troubleConfiguration(ctx context.Context, random *rand.Rand) time.Duration {
	s.writeTargets(pick(random, "",
		fmt.Sprintf("  - {name: other-%d, url: %q, interval: 500ms, timeout: 1s}\n", random.IntN(3), "http://"+s.vllm),
		"  - {name: gone, url: 'http://127.0.0.1:9', model: x, interval: 500ms, timeout: 1s}\n",
		"  - {name: [\n", "  - {name: "+strings.Repeat("x", 1<<20)+"}\n"))
	if random.IntN(2) == 0 {
		_ = s.process.Process.Signal(syscall.SIGHUP)
	} else {
		_, _ = s.request(ctx, http.MethodPost, "/-/reload")
	}
	return 3 * time.Second
}

// troubleConnections opens many connections that do one of the things no client should. None
// asks for metrics without taking them: those that do keep others out until they time out.
func (s *soak) troubleConnections(ctx context.Context, random *rand.Rand) time.Duration {
	const get = "GET /metrics HTTP/1.1\r\nHost: x\r\n"
	say := pick(random, "", "GET", get, get+"X: "+strings.Repeat("x", 32<<10)+"\r\n\r\n",
		"POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n", "\x16\x03\x01\x02\x00\x01")
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
	return time.Second
}

// troubleRequests asks for a page and leaves in the middle of it.
func (s *soak) troubleRequests(ctx context.Context, random *rand.Rand) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(20))*time.Millisecond)
	defer cancel()
	path := pick(random, "/metrics", "/", "/-/ready", "/nothing", "/metrics?name[]=x&"+strings.Repeat("y", 9000))
	_, _ = s.request(ctx, pick(random, http.MethodGet, http.MethodPut, http.MethodHead, "BREW"), path)
	return 100 * time.Millisecond
}

// behave ends all that is wrong.
func (s *soak) behave() {
	for _, tool := range []string{"mx-smi", "npu-smi", "hccn_tool"} {
		for _, kind := range []string{".fault", ".wrong", ".daemon", ".card"} {
			s.set(tool+kind, "")
		}
	}
	s.set("vllm.fault", "")
	s.writeKey()
	s.writeTargets("")
	_ = s.process.Process.Signal(syscall.SIGHUP)
}

// set writes a file of the state folder.
func (s *soak) set(name, text string) { _ = os.WriteFile(s.path("state/"+name), []byte(text), 0o644) }

// writeKey puts the key in place of whatever is there.
func (s *soak) writeKey() {
	_ = os.RemoveAll(s.path("key"))
	_ = os.WriteFile(s.path("key"), []byte("sk-soak-0123456789"), 0o600)
}

// writeTargets writes a target that answers, one behind the server's own fault, one whose
// key is in a file, and what is given as a further line.
func (s *soak) writeTargets(more string) {
	text := strings.NewReplacer("URL", "http://"+s.vllm, "KEY", s.path("key")).Replace(`probes:
  - {name: good, url: 'URL/fault/none', interval: 300ms, timeout: 2s, idle_timeout: 800ms, max_tokens: 16}
  - {name: moody, url: 'URL', interval: 300ms, timeout: 2s, idle_timeout: 800ms, max_tokens: 64}
  - {name: key, url: 'URL/fault/none', model: qwen2.5, interval: 300ms, timeout: 2s, http: {authorization: {credentials_file: 'KEY'}}}
`)
	_ = os.WriteFile(s.path("probes.yml"), []byte(text+more), 0o644)
}

// request returns an answer's text, and an error for another status than 200.
func (s *soak) request(ctx context.Context, method, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.exporter+path, nil)
	if err != nil {
		return "", err
	}
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
func wait(ctx context.Context, random *rand.Rand, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
	}
}

func pick(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }
