//go:build e2e

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var soakTime = flag.Duration("soak", time.Minute, "how long TestSoak lasts")

// TestSoak lets everything around the program misbehave at random: tools, endpoint,
// clients, files and the log's reader. What the program holds stays flat, it answers
// scrapes all the while, and it recovers when they behave again.
func TestSoak(t *testing.T) {
	h := &host{dir: t.TempDir()}
	h.buildPrograms(t)
	s := &soak{host: h}
	for _, tool := range []string{"mx-smi", "npu-smi", "hccn_tool"} {
		s.wrapTool(t, tool)
	}
	_, h.vllm = h.start(t, regexp.MustCompile(`address=http://(\S+)`), "fakehost", "vllm", "--listen-address=127.0.0.1:0", "--speed=50", "--background-users=10")
	s.writeKey()
	s.writeProbes(t, "")
	s.startLogged(t)
	eventually(t, "cards of both vendors, and a probe", func() error { return s.well(t) })
	before, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithTimeout(t.Context(), *soakTime)
	defer stop()
	var all sync.WaitGroup
	for i, trouble := range s.troubles(t) {
		random := rand.New(rand.NewPCG(11, uint64(i)))
		all.Go(func() {
			for ctx.Err() == nil {
				trouble(ctx, random)
			}
		})
	}
	all.Go(func() { s.watch(ctx) })
	all.Wait()

	s.behave(t)
	eventually(t, "it recovers", func() error { return s.well(t) })
	eventually(t, "nothing of the tools is left", func() error {
		if out, _ := exec.Command("pgrep", "-f", s.path("left-behind")).Output(); len(out) > 0 {
			return fmt.Errorf("left behind: %s", out)
		}
		return nil
	})
	s.checkCurves(t)
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "it holds what it held before", func() error { return s.asBefore(t.Context(), before) })
}

// soak is a host where everything misbehaves.
type soak struct {
	*host
	logPaused chan time.Duration // the log's reader stops reading for so long

	answered, unanswered int // scrapes
	curves               curves
}

// wrapTool puts a script before a stand-in that also leaves daemons behind.
func (s *soak) wrapTool(t *testing.T, tool string) {
	t.Helper()
	script := strings.NewReplacer("DIR", s.dir, "TOOL", tool).Replace(`#!/bin/sh
export FAKEHOST_STATE=DIR/state
case "$(cat DIR/state/TOOL.daemon 2>/dev/null)" in
setsid) setsid sh DIR/left-behind & ;;
twice) (setsid sh -c 'sh DIR/left-behind & exit 0' &) ;;
closed) setsid sh DIR/left-behind >/dev/null 2>&1 </dev/null & ;;
group) sh DIR/left-behind & ;;
esac
exec DIR/fakehost TOOL "$@"
`)
	for name, text := range map[string]string{tool: script, "left-behind": "sleep 3600\nexit\n"} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// writeProbes writes targets that answer, one behind the server's own fault, one whose
// key is in a file, and what is given as a further line.
func (s *soak) writeProbes(t *testing.T, more string) {
	t.Helper()
	url := "http://" + s.vllm
	text := "probes:\n" +
		fmt.Sprintf("  - {name: good, url: %q, interval: 300ms, timeout: 2s, idle_timeout: 800ms, max_tokens: 16}\n", url+"/fault/none") +
		fmt.Sprintf("  - {name: moody, url: %q, interval: 300ms, timeout: 2s, idle_timeout: 800ms, max_tokens: 64}\n", url) +
		fmt.Sprintf("  - {name: key, url: %q, model: qwen2.5, interval: 300ms, timeout: 2s, http: {authorization: {credentials_file: %q}}}\n", url+"/fault/none", s.path("key")) +
		more
	if err := os.WriteFile(s.path("probes.yml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeKey puts the key in place of whatever is there.
func (s *soak) writeKey() {
	_ = os.RemoveAll(s.path("key"))
	_ = os.WriteFile(s.path("key"), []byte("sk-soak-0123456789"), 0o600)
}

// startLogged starts the exporter with a log whose reader may stop reading.
func (s *soak) startLogged(t *testing.T) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.process = exec.Command(s.path("accelerator_exporter"), "--web.listen-address=127.0.0.1:0", "--web.enable-lifecycle",
		"--config.file="+s.path("probes.yml"), "--collector.metax.command="+s.path("mx-smi"), "--collector.ascend.command="+s.path("npu-smi"),
		"--collector.ascend.hccn-command="+s.path("hccn_tool"), "--collector.detail=full",
		"--collector.interval=300ms", "--collector.inventory-interval=1s", "--collector.timeout=1s")
	s.process.Stderr = w
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s.logPaused = make(chan time.Duration)
	address := make(chan string, 1)
	go s.readLog(r, address)
	t.Cleanup(func() {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		r.Close()
	})
	select {
	case s.exporter = <-address:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not serve")
	}
}

// readLog reads the log in pieces, and tells the address that is in the first ones.
func (s *soak) readLog(r *os.File, address chan<- string) {
	listening := regexp.MustCompile(`Listening on.* address=(\S+)`)
	var first []byte
	piece := make([]byte, 64<<10)
	for {
		select {
		case pause := <-s.logPaused:
			time.Sleep(pause)
		default:
		}
		n, err := r.Read(piece)
		if err != nil {
			return
		}
		if first = append(first, piece[:n]...); address == nil {
			first = nil
		} else if m := listening.FindSubmatch(first); m != nil {
			address <- string(m[1])
			address = nil
		}
	}
}

// well returns what is missing of cards, a good probe, and a probe with a key.
func (s *soak) well(t *testing.T) error {
	response, err := s.scrape(t.Context())
	if err != nil {
		return err
	}
	return has(response, `accelerator_info\{[^}]*device="0"[^}]*vendor="metax"\}`, `accelerator_info\{[^}]*device="0"[^}]*vendor="ascend"\}`,
		`accelerator_probe_success\{model="qwen2.5",target="good"\}`, `accelerator_probe_success\{model="qwen2.5",target="moody"\}`,
		`accelerator_probe_success\{model="qwen2.5",target="key"\}`)
}

// scrape reads the metrics as Prometheus does, within its usual time.
func (s *soak) scrape(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.exporter+"/metrics", nil)
	if err != nil {
		return "", err
	}
	return readAnswer(request)
}

// behave ends all that is wrong.
func (s *soak) behave(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"mx-smi.fault", "npu-smi.fault", "hccn_tool.fault", "mx-smi.card", "npu-smi.card", "mx-smi.daemon", "npu-smi.daemon", "hccn_tool.daemon", "vllm.fault",
	} {
		s.set(name, "")
	}
	s.writeKey()
	s.writeProbes(t, "")
	s.reload(t.Context())
}

// set writes a file of the state folder.
func (s *soak) set(name, text string) {
	_ = os.WriteFile(s.path("state/"+name), []byte(text), 0o644)
}

func (s *soak) reload(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.exporter+"/-/reload", nil)
	if err != nil {
		return
	}
	_, _ = readAnswer(request)
}
