//go:build e2e && oracle

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var (
	oracle = flag.String("oracle", "", "the folder that deploy/oracle/setup.sh filled")
	rounds = flag.Int("rounds", 3, "how often each tool is run with each command line")
)

// oracleFigures are means in the result file of both tools, and the server's histogram of the same.
var oracleFigures = []struct{ name, key, histogram string }{
	{"TTFT", "mean_ttft_ms", "vllm:time_to_first_token_seconds"},
	{"ITL", "mean_itl_ms", "vllm:inter_token_latency_seconds"},
	{"TPOT", "mean_tpot_ms", "vllm:request_time_per_output_token_seconds"},
	{"E2E", "mean_e2el_ms", "vllm:e2e_request_latency_seconds"},
}

// TestOracle runs the same command lines by accelbench and by vLLM's own tool, in turns, against a real vLLM, and holds what
// they say against the server's own histograms over the same requests. It logs the table of docs/testing.md.
func TestOracle(t *testing.T) {
	b, url := newBench(t), startVLLM(t)
	t.Log("| API, users | figure | server, ms | accelbench | `vllm bench serve` |")
	for _, api := range [][]string{{"--backend=vllm"}, {"--backend=openai-chat", "--endpoint=/v1/chat/completions"}} {
		for _, users := range []int{1, 4, 8} {
			differences, server := map[string][2]float64{}, map[string]float64{}
			requests := 20 + 20*users
			for round := range *rounds {
				line := append(api[:len(api):len(api)], "--base-url="+url, "--model="+filepath.Join(*oracle, "model"), "--dataset-name=custom", "--dataset-path="+b.prompts(t),
					"--skip-chat-template", "--disable-shuffle", "--custom-output-len=64", "--ignore-eos", fmt.Sprint("--num-prompts=", requests), fmt.Sprint("--max-concurrency=", users),
					fmt.Sprint("--seed=", round), "--ready-check-timeout-sec=0", "--percentile-metrics=ttft,tpot,itl,e2el", "--save-result")
				for tool, program := range [][]string{{b.path("accelbench"), "run"}, {filepath.Join(*oracle, "bin", "vllm"), "bench", "serve"}} {
					said, truth := askOracle(t, url, append(program, line...), requests)
					for _, f := range oracleFigures {
						d := differences[f.name]
						d[tool] += (said[f.key]/truth[f.histogram] - 1) / float64(*rounds)
						differences[f.name] = d
						server[f.name] += truth[f.histogram] / float64(2**rounds)
					}
				}
			}
			for _, f := range oracleFigures {
				ours, theirs := 100*differences[f.name][0], 100*differences[f.name][1]
				t.Logf("| %s, %d | %s | %.2f | %+.1f %% | %+.1f %% |", strings.TrimPrefix(api[0], "--backend="), users, f.name, server[f.name], ours, theirs)
				if math.Abs(ours) > math.Abs(theirs)+1 {
					t.Errorf("%s of %d users: accelbench is farther from the server", f.name, users)
				}
			}
		}
	}
}

// prompts writes a data set for both tools: neither then asks the server how long its words are.
func (b *bench) prompts(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, `{"prompt": "%d: %s"}`+"\n", i, strings.Repeat("return the file of this path, or None. ", 10))
	}
	path := b.path("prompts.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// startVLLM starts the real server and returns its URL.
func startVLLM(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command(filepath.Join(*oracle, "bin", "vllm"), "serve", filepath.Join(*oracle, "model"), "--host=127.0.0.1", "--port="+port, "--enforce-eager", "--max-model-len=2048")
	cmd.Env = append(os.Environ(), "VLLM_TARGET_DEVICE=cpu", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=0", "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	log, err := os.Create(filepath.Join(t.TempDir(), "vllm.log"))
	noError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	noError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the end of its log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		if resp, err := http.Get("http://" + address + "/health"); err == nil {
			resp.Body.Close()
			return "http://" + address
		}
	}
	t.Fatal("vLLM does not answer")
	return ""
}

// askOracle runs a tool, and returns its means and the server's of the same requests, in milliseconds.
func askOracle(t *testing.T, url string, line []string, requests int) (said, truth map[string]float64) {
	t.Helper()
	cmd := exec.Command(line[0], append(line[1:], "--result-dir=.", "--result-filename=result.json")...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "VLLM_TARGET_DEVICE=cpu", "HF_HUB_OFFLINE=1")
	before := histograms(t, url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", line, err, out)
	}
	after := histograms(t, url)
	text, err := os.ReadFile(filepath.Join(cmd.Dir, "result.json"))
	noError(t, err)
	var all map[string]any
	noError(t, json.Unmarshal(text, &all))
	said, truth = map[string]float64{}, map[string]float64{}
	for _, f := range oracleFigures {
		said[f.key], _ = all[f.key].(float64)
		count := after[f.histogram].GetSampleCount() - before[f.histogram].GetSampleCount()
		if f.name != "ITL" && count != uint64(requests) && count != uint64(requests+1) {
			t.Errorf("%s: the server counted %d requests, want %d", f.name, count, requests)
		}
		// accelbench first asks for one token, which takes a TTFT and no time behind it.
		if f.name == "TPOT" || f.name == "E2E" {
			count = uint64(requests)
		}
		truth[f.histogram] = 1e3 * (after[f.histogram].GetSampleSum() - before[f.histogram].GetSampleSum()) / float64(count)
	}
	if n := all["total_output_tokens"]; n != float64(64*requests) {
		t.Errorf("%s counted %v output tokens, want %d", line[0], n, 64*requests)
	}
	return said, truth
}

// histograms are the server's, of its one engine.
func histograms(t *testing.T, url string) map[string]*dto.Histogram {
	t.Helper()
	resp, err := http.Get(url + "/metrics")
	noError(t, err)
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	noError(t, err)
	all := map[string]*dto.Histogram{}
	for _, f := range oracleFigures {
		if family := families[f.histogram]; family != nil {
			all[f.histogram] = family.GetMetric()[0].GetHistogram()
		}
	}
	return all
}
