//go:build e2e

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// served is what the server says of one step.
type served struct {
	requests, prompt, output int
	ttft, e2e                []time.Duration // how much longer each was for the client
	first, last              time.Time
	busy                     time.Duration // all requests' time in the server
}

// serverSteps sums up the server's log by the steps that the client's log knows.
func serverSteps(t *testing.T, serverLog, folder string, want int) map[int]*served {
	t.Helper()
	sent := map[string]*runlog.Request{}
	for _, r := range clientRequests(t, folder) {
		sent[r.Trace.RequestID] = r
	}
	steps := map[int]*served{}
	for _, r := range serverRequests(t, serverLog, want) {
		client, ok := sent[r.RequestID]
		if !ok {
			t.Fatalf("the client does not know request %s", r.RequestID)
		}
		s := steps[client.Step]
		if s == nil {
			s = &served{first: r.Arrived}
			steps[client.Step] = s
		}
		ttft, _ := openai.TTFT(&client.Trace)
		e2e, _ := openai.E2E(&client.Trace)
		s.requests++
		s.prompt += r.PromptTokens
		s.output += r.OutputTokens
		s.ttft = append(s.ttft, ttft-r.First.Sub(r.Arrived))
		s.e2e = append(s.e2e, e2e-r.Last.Sub(r.Arrived))
		s.busy += r.Ended.Sub(r.Arrived)
		if r.Arrived.Before(s.first) {
			s.first = r.Arrived
		}
		if r.Ended.After(s.last) {
			s.last = r.Ended
		}
	}
	return steps
}

func clientRequests(t *testing.T, folder string) []*runlog.Request {
	t.Helper()
	in, err := runlog.Open(filepath.Join(folder, runlog.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var all []*runlog.Request
	for r, err := in.Next(); err == nil; r, err = in.Next() {
		if r.Request != nil {
			all = append(all, r.Request)
		}
	}
	return all
}

// serverRequests waits for the server's log to hold so many requests: the last
// line comes after the client has its answer.
func serverRequests(t *testing.T, path string, want int) []fakevllm.RequestRecord {
	t.Helper()
	var all []fakevllm.RequestRecord
	eventually(t, "the server's log", func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		all = nil
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var r fakevllm.RequestRecord
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return err
			}
			all = append(all, r)
		}
		if len(all) != want {
			return fmt.Errorf("%d requests, want %d", len(all), want)
		}
		return nil
	})
	return all
}

// compareStep wants counts to agree exactly, half of the latencies to within what
// the loopback adds, and means to within what a busy machine does.
func compareStep(t *testing.T, s stepFile, users, requests int, truth *served) {
	t.Helper()
	a := s.Account
	got := []int{a.Attempted, a.Succeeded, len(a.Failed), a.Canceled, s.Checks.Configured, s.Whole.PromptTokens, s.Whole.OutputTokens}
	want := []int{truth.requests, requests, 0, 0, users, truth.prompt, truth.output}
	if diff := cmp.Diff(want, got); diff != "" || a.Mismatch != "" {
		t.Errorf("%s users: attempted, succeeded, failed, canceled, users, prompt and output tokens (-server +report):\n%s%s", s.Name, diff, a.Mismatch)
	}
	for name, more := range map[string][]time.Duration{"TTFT": truth.ttft, "latency": truth.e2e} {
		slices.Sort(more)
		if m := more[len(more)/2]; m < 0 || m > 5*time.Millisecond {
			t.Errorf("%s users: the client's %s is %v more than the server's (median)", s.Name, name, m)
		}
	}
	span := truth.last.Sub(truth.first)
	for name, pair := range map[string][2]float64{
		"duration":                       {s.Whole.Window.To.Sub(s.Whole.Window.From).Seconds(), span.Seconds()},
		"output tokens/s":                {s.Whole.Throughput, float64(truth.output) / span.Seconds()},
		"requests in flight on the mean": {s.Checks.AchievedWhole, truth.busy.Seconds() / span.Seconds()},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.05*pair[1] {
			t.Errorf("%s users: %s %.3f, the server says %.3f", s.Name, name, pair[0], pair[1])
		}
	}
	if s.Whole.Peak > users || s.Checks.KernelClock != 1 {
		t.Errorf("%s users: %d at the peak, kernel's stamps on %.2f of the answers", s.Name, s.Whole.Peak, s.Checks.KernelClock)
	}
	if s.Steady == nil || math.Abs(s.Checks.Achieved-float64(users)) > 0.05*float64(users) {
		t.Errorf("%s users: %.1f achieved, steady: %t", s.Name, s.Checks.Achieved, s.Steady != nil)
	}
}

// greps takes out of the summary what evalscope-perf does, with its own patterns.
func greps(t *testing.T, text string, levels []int) {
	t.Helper()
	for _, pattern := range []string{
		`Average QPS:\s+([\d.]+)`, `Average latency:\s+([\d.]+)`,
		`Throughput\(average output tokens per second\):\s+([\d.]+)`, `Failed requests:\s+(\d+)\n Average`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
		if len(found) != len(levels) {
			t.Errorf("%s: found %d times", pattern, len(found))
		}
		for _, m := range found {
			if x, err := strconv.ParseFloat(m[1], 64); err != nil || x <= 0 && !strings.HasPrefix(pattern, "Failed") {
				t.Errorf("%s: %q", pattern, m[0])
			}
		}
	}
}

// vllmFiles reads the result files as scripts made for vLLM's do.
func vllmFiles(t *testing.T, dir string, levels []int, requests int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != len(levels) {
		t.Fatalf("%d files: %v", len(files), files)
	}
	var users []int
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Model       string  `json:"model_id"`
			Completed   int     `json:"completed"`
			Failed      int     `json:"failed"`
			Duration    float64 `json:"duration"`
			Concurrency int     `json:"max_concurrency"`
			Output      int     `json:"total_output_tokens"`
			Throughput  float64 `json:"output_throughput"`
			MeanTTFT    float64 `json:"mean_ttft_ms"`
			P99ITL      float64 `json:"p99_itl_ms"`
			MedianTPOT  float64 `json:"median_tpot_ms"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		users = append(users, r.Concurrency)
		if r.Model != "qwen2.5" || r.Completed != requests || r.Failed != 0 || r.MeanTTFT <= 0 || r.P99ITL <= 0 || r.MedianTPOT <= 0 ||
			math.Abs(r.Throughput-float64(r.Output)/r.Duration) > 0.01*r.Throughput {
			t.Errorf("%s: %+v", name, r)
		}
	}
	slices.Sort(users)
	if diff := cmp.Diff(levels, users); diff != "" {
		t.Errorf("max_concurrency (-want +got):\n%s", diff)
	}
}
