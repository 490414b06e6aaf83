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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

var soakTime = flag.Duration("soak", time.Minute, "how long TestSoak lasts")

// TestSoak lets tools, endpoint, clients and files misbehave at random. What the program
// holds stays flat, it answers scrapes all the while, and it recovers when they behave again.
func TestSoak(t *testing.T) {
	s := startSoak(t)
	eventually(t, "cards of both vendors, and the probes", func() error { return s.well(t) })
	before, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), *soakTime)
	defer stop()
	var all sync.WaitGroup
	for i, trouble := range s.troubles() {
		random := rand.New(rand.NewPCG(11, uint64(i)))
		all.Go(func() {
			for ctx.Err() == nil {
				wait(ctx, random, trouble(ctx, random))
			}
		})
	}
	all.Go(func() { s.watch(ctx) })
	all.Wait()

	s.behave()
	eventually(t, "it recovers", func() error { return s.well(t) })
	eventually(t, "nothing of the tools is left", func() error {
		if out, _ := exec.Command("pgrep", "-f", s.path("left-behind")).Output(); len(out) > 0 {
			return fmt.Errorf("left behind: %s", out)
		}
		return nil
	})
	s.checkGrowth(t)
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "it holds what it held before", func() error {
		now, err := s.look(t.Context())
		if err != nil {
			return err
		}
		for i, f := range figures {
			if now[i] > before[i]+f.stays {
				return fmt.Errorf("%s: %.0f before and %.0f now", f.name, before[i], now[i])
			}
		}
		return nil
	})
}

// soak is a host where everything misbehaves.
type soak struct {
	*host
	answered, unanswered int // scrapes
	lastError            error
	samples              []sample
}

// sample is what the program holds at one moment, as figures has it.
type sample [4]float64

// figures are held against those of the second sixth of the time, and against those before.
var figures = [4]struct {
	name         string
	grows, stays float64
}{
	{"resident MiB", 16, 24}, {"goroutines", 200, 15}, {"open files", 200, 15}, {"children", 3, 2},
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{host: &host{dir: t.TempDir()}}
	s.buildPrograms(t)
	for _, tool := range []string{"mx-smi", "npu-smi", "hccn_tool"} {
		s.wrapTool(t, tool)
	}
	_, s.vllm = s.start(t, regexp.MustCompile(`address=http://(\S+)`), "fakehost", "vllm", "--listen-address=127.0.0.1:0", "--speed=50", "--background-users=10")
	s.writeKey()
	s.writeTargets("")
	s.process, s.exporter = s.start(t, regexp.MustCompile(`Listening on.* address=(\S+)`), "accelerator_exporter",
		"--web.listen-address=127.0.0.1:0", "--web.enable-lifecycle", "--config.file="+s.path("probes.yml"),
		"--collector.metax.command="+s.path("mx-smi"), "--collector.ascend.command="+s.path("npu-smi"),
		"--collector.ascend.hccn-command="+s.path("hccn_tool"), "--collector.detail=full",
		"--collector.interval=300ms", "--collector.inventory-interval=1s", "--collector.timeout=1s")
	return s
}

// wrapTool puts a script before a stand-in that does other wrong things too, and leaves daemons behind.
func (s *soak) wrapTool(t *testing.T, tool string) {
	t.Helper()
	script := strings.NewReplacer("DIR", s.dir, "TOOL", tool).Replace(`
export FAKEHOST_STATE=DIR/state
case "$(cat DIR/state/TOOL.daemon 2>/dev/null)" in
setsid) setsid sh DIR/left-behind & ;;
twice) (setsid sh -c 'sh DIR/left-behind & exit 0' &) ;;
closed) setsid sh DIR/left-behind >/dev/null 2>&1 </dev/null & ;;
group) sh DIR/left-behind & ;;
esac
case "$(cat DIR/state/TOOL.wrong 2>/dev/null)" in
child) sleep 3600 & sleep 3600 ;;
ignore_term) trap '' TERM; sleep 3600; sleep 3600 ;;
half) DIR/fakehost TOOL "$@" | head -c 1000; sleep 3600 ;;
flood) exec yes 'a row without end' ;;
torn) DIR/fakehost TOOL "$@" | head -c 1000 ;;
garbage) echo '| OTHER-SMI 1.0 |' ;;
*) exec DIR/fakehost TOOL "$@" ;;
esac
`)
	s.replaceTool(t, tool, script)
	if err := os.WriteFile(s.path("left-behind"), []byte("sleep 3600\nexit\n"), 0o755); err != nil {
		t.Fatal(err)
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

// watch scrapes about once a second, and looks at the process beside.
func (s *soak) watch(ctx context.Context) {
	for ctx.Err() == nil {
		next := time.After(time.Second)
		now, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.unanswered++
			s.lastError = err
		default:
			s.answered++
			s.samples = append(s.samples, now)
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// look scrapes, and looks at the process.
func (s *soak) look(ctx context.Context) (now sample, err error) {
	text, err := s.scrape(ctx)
	if err != nil {
		return now, err
	}
	for i, name := range []string{"process_resident_memory_bytes", "go_goroutines", "process_open_fds"} {
		if m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text); m != nil {
			now[i], _ = strconv.ParseFloat(m[1], 64)
		}
	}
	now[0] /= 1 << 20
	if all, err := process.FS("/proc").Processes(); err == nil {
		mine := map[int]bool{s.process.Process.Pid: true}
		process.AddDescendants(mine, all)
		now[3] = float64(len(mine) - 1)
	}
	return now, nil
}

// scrape reads the metrics as Prometheus does, within its usual time.
func (s *soak) scrape(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.request(ctx, http.MethodGet, "/metrics")
}

// checkGrowth fails for what grew from the second to the last sixth of the time, and for
// scrapes that got no answer.
func (s *soak) checkGrowth(t *testing.T) {
	t.Helper()
	if len(s.samples) < 6 {
		t.Fatalf("only %d scrapes were answered", len(s.samples))
	}
	median := func(sixth, figure int) float64 {
		var values []float64
		for _, one := range s.samples[sixth*len(s.samples)/6 : (sixth+1)*len(s.samples)/6] {
			values = append(values, one[figure])
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	t.Logf("%d scrapes were answered and %d were not", s.answered, s.unanswered)
	for i, f := range figures {
		early, late := median(1, i), median(5, i)
		t.Logf("%s: %.0f, later %.0f", f.name, early, late)
		if late > early+f.grows {
			t.Errorf("%s grew from %.0f to %.0f", f.name, early, late)
		}
	}
	if s.unanswered > s.answered/20 {
		t.Errorf("%d of %d scrapes were not answered, the last: %v", s.unanswered, s.answered+s.unanswered, s.lastError)
	}
}
