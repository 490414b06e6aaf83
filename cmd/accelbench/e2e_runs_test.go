//go:build e2e

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// hangsAtFirst is the case in which evalscope 0.5.5 lost a worker for each of the
// first requests that failed, and told of none of them.
func (b *bench) hangsAtFirst(t *testing.T) {
	url := b.server(t, "--speed=100", "--fault=hang", "--fault-requests=12")
	o := b.run(t, 0, "--backend=openai-chat", "--base-url="+url, "--model=qwen2.5", "--max-concurrency=16", "--num-prompts=200", "--timeout=3s", "--output-len=100")
	a := o.report.Steps[0].Account
	want := map[openai.Reason]int{openai.ReasonTimeoutFirstToken: 12}
	if diff := cmp.Diff(want, a.Failed); diff != "" || a.Attempted != 200 || a.Succeeded != 188 {
		t.Errorf("%d attempted, %d succeeded, failed (-want +got):\n%s", a.Attempted, a.Succeeded, diff)
	}
	if s := o.report.Steps[0]; s.Steady != nil && s.Checks.Achieved < 15 {
		t.Errorf("%.1f of 16 users were alive", s.Checks.Achieved)
	}
}

// killed loses what was in flight and nothing else.
func (b *bench) killed(t *testing.T) {
	serverLog := filepath.Join(t.TempDir(), "requests.jsonl")
	url := b.server(t, "--speed=50", "--request-log="+serverLog)
	cmd := b.command(t, "--backend=openai-chat", "--base-url="+url, "--model=qwen2.5", "--max-concurrency=16", "--duration=10m", "--output-len=60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	folder := b.awaitRequests(t, cmd, 300)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	o := b.finish(t, cmd)
	kept := map[string]bool{}
	for _, r := range clientRequests(t, o.folder) {
		kept[r.Trace.RequestID] = true
	}
	const onTheWay = 500 * time.Millisecond // from the server's last token to the client's log, on a busy machine
	finished := 0
	for _, r := range finishedBefore(t, serverLog, died.Add(-onTheWay)) {
		finished++
		if !kept[r] {
			t.Errorf("request %s had ended and is not in the log", r)
		}
	}
	report := exec.Command(b.path("accelbench"), "report", folder)
	out, err := report.CombinedOutput()
	if err != nil || finished < 50 {
		t.Fatalf("%d finished: %v\n%s", finished, err, out)
	}
	r := readReport(t, filepath.Join(folder, "report.json"))
	if a := r.Steps[0].Account; r.Complete || a.Attempted != len(kept) || a.Succeeded != len(kept) {
		t.Errorf("complete %t, %d in the log, reported %+v", r.Complete, len(kept), a)
	}
	if !strings.Contains(string(out), "killed") {
		t.Errorf("the report does not say that the run was killed:\n%s", out)
	}
}

// awaitRequests waits until so many requests are in the log of cmd's run.
func (b *bench) awaitRequests(t *testing.T, cmd *exec.Cmd, n int) (folder string) {
	t.Helper()
	eventually(t, "requests in the log", func() error {
		logs, err := filepath.Glob(filepath.Join(cmd.Dir, "results", "*", runlog.FileName))
		if err != nil || len(logs) != 1 {
			return fmt.Errorf("logs %v: %w", logs, errors.Join(err, errors.New("not one")))
		}
		folder = filepath.Dir(logs[0])
		text, err := os.ReadFile(logs[0])
		if got := bytes.Count(text, []byte(`{"request":`)); err != nil || got < n {
			return fmt.Errorf("%d requests: %w", got, errors.Join(err, errors.New("too few")))
		}
		return nil
	})
	return folder
}

// finishedBefore are the requests that the server had answered in full by then.
func finishedBefore(t *testing.T, serverLog string, then time.Time) []string {
	t.Helper()
	text, err := os.ReadFile(serverLog)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range serverRequests(t, serverLog, bytes.Count(text, []byte("\n"))) {
		if (r.Finish == "stop" || r.Finish == "length") && r.Ended.Before(then) {
			ids = append(ids, r.RequestID)
		}
	}
	return ids
}

// interrupted reports what there is, with what was in flight as canceled.
func (b *bench) interrupted(t *testing.T) {
	url := b.server(t, "--speed=20")
	cmd := b.command(t, "--backend=openai-chat", "--base-url="+url, "--max-concurrency=8,9", "--num-prompts=100000", "--output-len=50")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.awaitRequests(t, cmd, 20)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	o := b.finish(t, cmd)
	if o.code != 130 || len(o.report.Steps) != 1 {
		t.Fatalf("exit code %d, %d steps\n%s", o.code, len(o.report.Steps), o.stderr)
	}
	s := o.report.Steps[0]
	if a := s.Account; s.Stop != "interrupted" || !o.report.Complete || a.Canceled < 1 || a.Canceled > 8 || a.Attempted != a.Succeeded+a.Canceled || a.Mismatch != "" {
		t.Errorf("stopped by %s, complete %t: %+v", s.Stop, o.report.Complete, a)
	}
	if !strings.Contains(o.stdout, "! The step was interrupted after") {
		t.Errorf("no report on the terminal:\n%s", o.stdout)
	}
}

// machines joins two load generators into one load.
func (b *bench) machines(t *testing.T) {
	url := b.server(t, "--speed=50")
	var cmds []*exec.Cmd
	for seed := range 2 {
		cmd := b.command(t, "--seed="+strconv.Itoa(seed), "--backend=openai-chat", "--base-url="+url, "--max-concurrency=8", "--num-prompts=100", "--output-len=100")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	first, second := b.finish(t, cmds[0]), b.finish(t, cmds[1])
	joined := filepath.Join(t.TempDir(), "joined")
	out, err := exec.Command(b.path("accelbench"), "report", first.folder, second.folder, "--output", joined, "--format=table").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := readReport(t, filepath.Join(joined, "report.json")).Steps[0]
	tokens := first.report.Steps[0].Whole.OutputTokens + second.report.Steps[0].Whole.OutputTokens
	got := []int{s.Machines, s.Account.Attempted, s.Checks.Configured, s.Whole.OutputTokens}
	if diff := cmp.Diff([]int{2, 200, 16, tokens}, got); diff != "" {
		t.Errorf("machines, requests, users, tokens (-want +got):\n%s", diff)
	}
}

// metrics samples the cards and the server, and serves the run's own series.
func (b *bench) metrics(t *testing.T) {
	url := b.server(t, "--speed=20")
	exporter := b.start(t, regexp.MustCompile(`Listening on.* address=(\S+)`), "accelerator_exporter", "--web.listen-address=127.0.0.1:0", "--collector.environment=FAKEHOST_STATE",
		"--collector.metax.command="+b.path("mx-smi"), "--collector.interval=200ms", "--no-collector.ascend")
	eventually(t, "cards are exported", func() error {
		if text, err := get("http://" + exporter + "/metrics"); err != nil || !strings.Contains(text, "accelerator_power_watts{") {
			return fmt.Errorf("no watts: %w", err)
		}
		return nil
	})
	own := freeAddress(t)
	cmd := b.command(t, "--backend=openai-chat", "--base-url="+url, "--max-concurrency=16", "--num-prompts=60", "--output-len=300", "--ignore-eos",
		"--exporter=http://"+exporter+"/metrics", "--web.listen-address="+own)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var page string
	eventually(t, "the run's own metrics", func() (err error) {
		page, err = get("http://" + own + "/metrics")
		if err == nil && !strings.Contains(page, `accelerator_bench_in_flight{model="qwen2.5"`) {
			err = errors.New("not there yet")
		}
		return err
	})
	lint := exec.Command("promtool", "check", "metrics")
	lint.Stdin = strings.NewReader(page)
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	o := b.finish(t, cmd)
	s := o.report.Steps[0]
	if len(s.Cards) == 0 || s.Cards[0].Watts.Mean <= 0 || s.Joules == nil || *s.Joules <= 0 {
		t.Errorf("cards %+v, joules per token %v", s.Cards, s.Joules)
	}
	if s.Server == nil || s.Server.Running.Max < 8 {
		t.Errorf("the server's own metrics: %+v", s.Server)
	}
}

func get(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// fullDisk tells in one line what could not be kept.
func (b *bench) fullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	url := b.server(t, "--speed=100")
	cmd := exec.Command(b.path("accelbench"), "run", "--dataset-path="+b.path("open_qa.jsonl"), "--output="+disk, "--backend=openai-chat", "--base-url="+url, "--max-concurrency=8", "--num-prompts=2000", "--quiet")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "no space left on device") || strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("exit code %d:\n%s", cmd.ProcessState.ExitCode(), &stderr)
	}
}

// sides starts two servers in turns, of which one is twice as fast, and finds it.
func (b *bench) sides(t *testing.T) {
	address := freeAddress(t)
	side := func(name, speed string) string {
		return fmt.Sprintf("--side=%s=%s vllm --listen-address=%s --speed=%s", name, b.path("fakehost"), address, speed)
	}
	cmd := exec.Command(b.path("accelbench"), "compare", "--repeat=4", side("slow", "40"), side("fast", "80"),
		"--", "--backend=openai-chat", "--base-url=http://"+address, "--dataset-path="+b.path("open_qa.jsonl"), "--max-concurrency=4", "--num-prompts=40", "--output-len=30", "--quiet")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+b.path("state"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`output \(tok/s\) .* better: \+.* \(p=`).Match(out) || !strings.Contains(string(out), "n=4+4") {
		t.Errorf("the faster side is not found:\n%s", out)
	}
	if _, err := get("http://" + address + "/health"); err == nil {
		t.Error("a side's server is still there")
	}
}
