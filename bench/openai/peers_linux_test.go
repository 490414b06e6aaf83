//go:build peers

package openai

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

var (
	peers  = flag.String("peers", "", "the folder that deploy/oracle/setup.sh filled; vllm-bench may be put into its bin")
	rounds = flag.Int("rounds", 3, "how often each tool is run at each number of streams")
)

// TestPeers runs accelbench, vLLM's own tool and its port to Rust in turns against a server that keeps when it wrote each
// chunk, and logs the table of docs/accelbench.md. The load is that of the port's own page: a TTFT of 50 ms, an ITL of 10 ms.
func TestPeers(t *testing.T) {
	dir := t.TempDir()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // of the server
	if out, err := exec.Command("go", "build", "-o", dir, "../../cmd/accelbench").CombinedOutput(); err != nil {
		t.Fatalf("building accelbench: %v\n%s", err, out)
	}
	prompts := filepath.Join(dir, "prompts.jsonl")
	noError(t, os.WriteFile(prompts, []byte(strings.Repeat(`{"prompt": "Say the word a hundred times."}`+"\n", 1000)), 0o644))
	tools := [][]string{
		{filepath.Join(dir, "accelbench"), "run", "--output=out", "--quiet"},
		{filepath.Join(*peers, "bin", "vllm-bench"), "--save-detailed"},
		{filepath.Join(*peers, "bin", "vllm"), "bench", "serve", "--save-detailed"},
	}
	t.Log("| streams | client | mean TTFT − 50 ms | p99 ITL − 10 ms | TTFT error p99 | ITL error p50 | p99 | lost | CPU a chunk | resident |")
	for _, c := range []struct{ streams, requests int }{{1, 50}, {10, 100}, {100, 200}, {500, 500}, {1000, 1000}} {
		rows := make([]peerRow, len(tools))
		for range *rounds {
			for i, tool := range tools {
				if _, err := os.Stat(tool[0]); err != nil {
					t.Logf("not found: %v", err)
					continue
				}
				rows[i].run(t, append(slices.Clone(tool), "--backend=openai-chat", "--endpoint=/v1/chat/completions", "--model=pace", "--tokenizer="+filepath.Join(*peers, "model"), "--dataset-name=custom", "--dataset-path="+prompts,
					"--skip-chat-template", "--disable-shuffle", "--custom-output-len=100", "--ignore-eos", "--ready-check-timeout-sec=0", "--save-result", "--result-dir=.", "--result-filename=result.json",
					fmt.Sprint("--num-prompts=", c.requests), fmt.Sprint("--max-concurrency=", c.streams)))
			}
		}
		for i, r := range rows {
			if r.chunks > 0 {
				t.Logf("| %d | %s %s", c.streams, filepath.Base(tools[i][0]), r.text())
			}
		}
	}
}

// peerRow is what became of a client at a number of streams.
type peerRow struct {
	truthRow
	saidTTFT, saidITL []time.Duration
	resident          int64 // KiB
}

func (row *peerRow) run(t *testing.T, line []string) {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "VLLM_TARGET_DEVICE=cpu", "HF_HUB_OFFLINE=1")
	var looking sync.Mutex
	var cpu []float64 // seconds until the first request and until each answer: without the start, of 25 s, and the report
	server := &paced{first: 50 * time.Millisecond, gap: 10 * time.Millisecond, truth: map[string]answer{}, look: func() {
		looking.Lock()
		defer looking.Unlock()
		p, _ := procfs.NewProc(cmd.Process.Pid)
		stat, _ := p.Stat()
		cpu = append(cpu, stat.CPUTime())
	}}
	runtime.GC()
	web := httptest.NewServer(server)
	defer web.Close()
	cmd.Args = append(cmd.Args, "--base-url="+web.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	row.cpu += time.Duration((cpu[len(cpu)-1] - cpu[0]) * 1e9)
	row.resident = max(row.resident, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	traces := tracesOfAccelbench(t, cmd.Dir)
	if traces == nil {
		traces = tracesOfPeer(t, cmd.Dir, server.truth)
	}
	for _, trace := range traces {
		ttft, _ := TTFT(trace)
		row.saidTTFT, row.saidITL = append(row.saidTTFT, ttft), append(row.saidITL, ITLs(trace)...)
		trace.Started = time.Unix(0, server.truth[trace.RequestID].Came) // which vLLM's tool does not say
	}
	row.compare(traces, server.truth)
}

// tracesOfAccelbench reads the log of a run, nil where there is none.
func tracesOfAccelbench(t *testing.T, dir string) (traces []*Trace) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "out", "*", "traces.jsonl"))
	for _, path := range logs {
		log, err := os.Open(path)
		noError(t, err)
		defer log.Close()
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var rec struct{ Request *struct{ Trace *Trace } }
			if noError(t, json.Unmarshal(lines.Bytes(), &rec)); rec.Request != nil {
				traces = append(traces, rec.Request.Trace)
			}
		}
	}
	return traces
}

// tracesOfPeer reads the detailed result of vLLM's tool, whose texts begin with the request's id.
func tracesOfPeer(t *testing.T, dir string, truth map[string]answer) (traces []*Trace) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	noError(t, err)
	var r struct {
		Ttfts []float64
		Itls  [][]float64
		Texts []string `json:"generated_texts"`
	}
	noError(t, json.Unmarshal(text, &r))
	for i, text := range r.Texts {
		id, _, _ := strings.Cut(text, " ")
		trace, at := &Trace{RequestID: id}, r.Ttfts[i]
		for _, itl := range append(r.Itls[i], 0) {
			trace.Chunks = append(trace.Chunks, Chunk{At: time.Duration(at * 1e9)})
			at += itl
		}
		traces = append(traces, trace)
	}
	return traces
}

// text is a row of the table behind the client's name.
func (row *peerRow) text() string {
	slices.Sort(row.saidITL)
	mean := time.Duration(0)
	for _, d := range row.saidTTFT {
		mean += d / time.Duration(len(row.saidTTFT))
	}
	p99 := row.saidITL[len(row.saidITL)*99/100]
	return fmt.Sprintf("| %.2f ms | %.2f ms | %s | %s | %s | %d of %d | %.1f µs | %d MiB |", (mean-50*time.Millisecond).Seconds()*1e3, (p99-10*time.Millisecond).Seconds()*1e3,
		microseconds(row.ttft, 0.99), microseconds(row.itl, 0.5), microseconds(row.itl, 0.99), row.lost, row.chunks, float64(row.cpu.Microseconds())/float64(row.chunks), row.resident>>10)
}
