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
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// killed keeps the requests that were over, and the report says what happened.
func (b *bench) killed(t *testing.T) {
	url := b.server(t, "--speed=50")
	cmd := b.command(t, "--backend=openai-chat", "--base-url="+url, "--max-concurrency=16", "--duration=10m", "--output-len=60")
	noError(t, cmd.Start())
	folder := b.awaitRequests(t, cmd, 300)
	noError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	out, err := exec.Command(b.path("accelbench"), "report", folder).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	r := readReport(t, filepath.Join(folder, "report.json"))
	if a := r.Steps[0].Account; r.Complete || a.Attempted < 300 || a.Succeeded != a.Attempted {
		t.Errorf("complete %t, %+v", r.Complete, a)
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

// interrupted reports what there is, with what was in flight as canceled.
func (b *bench) interrupted(t *testing.T) {
	url := b.server(t, "--speed=20")
	cmd := b.command(t, "--backend=openai-chat", "--base-url="+url, "--max-concurrency=8,9", "--num-prompts=100000", "--output-len=50")
	noError(t, cmd.Start())
	b.awaitRequests(t, cmd, 20)
	noError(t, cmd.Process.Signal(os.Interrupt))
	o := b.finish(t, cmd)
	if o.code != 130 || len(o.report.Steps) != 1 {
		t.Fatalf("exit code %d, %d steps\n%s", o.code, len(o.report.Steps), o.stderr)
	}
	s := o.report.Steps[0]
	if a := s.Account; s.Stop != "interrupted" || !o.report.Complete || a.Canceled < 1 || a.Canceled > 8 || a.Attempted != a.Succeeded+a.Canceled {
		t.Errorf("stopped by %s, complete %t: %+v", s.Stop, o.report.Complete, a)
	}
	if !strings.Contains(o.stdout, "The step was stopped after") {
		t.Errorf("no report on the terminal:\n%s", o.stdout)
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
	noError(t, cmd.Start())
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
