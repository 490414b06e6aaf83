//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// bench is a folder with the real programs, a data set and a model server.
type bench struct {
	dir string
}

// TestEndToEnd runs the built programs on loopback, as a user would.
func TestEndToEnd(t *testing.T) {
	b := newBench(t)
	t.Run("a sweep against the server's own log", b.sweep)
	t.Run("kill -9, then report", b.killed)
	t.Run("Ctrl-C", b.interrupted)
	t.Run("cards, server and own metrics", b.metrics)
	t.Run("bindings", b.bindings)
	t.Run("machines that are lost", b.machines)
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir()}
	build := exec.Command("go", "build", "-o", b.dir+"/", "../accelbench", "../fakehost", "../accelerator_exporter")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the programs: %v\n%s", err, out)
	}
	noError(t, os.Symlink("fakehost", b.path("mx-smi")))
	var questions strings.Builder
	for i := range 500 {
		fmt.Fprintf(&questions, `{"question": "What should a traveller know about station number %d?"}`+"\n", i)
	}
	noError(t, os.WriteFile(b.path("open_qa.jsonl"), []byte(questions.String()), 0o644))
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// server starts a stand-in server and returns its URL.
func (b *bench) server(t testing.TB, args ...string) string {
	t.Helper()
	return "http://" + b.start(t, regexp.MustCompile(`address=http://(\S+)`), "fakehost", append([]string{"vllm", "--listen-address=127.0.0.1:0"}, args...)...)
}

// start runs a program until the test ends, and returns the address it logs.
func (b *bench) start(t testing.TB, address *regexp.Regexp, name string, args ...string) string {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	noError(t, err)
	cmd := exec.Command(b.path(name), args...)
	cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+b.path("state"))
	cmd.Stdout, cmd.Stderr = log, log
	noError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var found string
	eventually(t, name+" serves", func() error {
		text, err := os.ReadFile(log.Name())
		m := address.FindSubmatch(text)
		if m == nil {
			return fmt.Errorf("no address in its log: %w\n%s", errors.Join(err, errors.New("not there yet")), text)
		}
		found = string(m[1])
		return nil
	})
	return found
}

func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// outcome is what a run of accelbench left.
type outcome struct {
	code           int
	stdout, stderr string
	folder         string // of the one run in the output folder
	report         reportFile
}

// reportFile is the part of report.json that the tests look at.
type reportFile struct {
	Complete bool
	Runs     []struct{ Host string }
	Steps    []stepFile
}

type stepFile struct {
	Name    string
	Stop    string
	Account struct {
		Attempted, Succeeded, Canceled, Unknown int
		Failed                                  map[openai.Reason]int
	}
	Load     struct{ Concurrency int }
	Machines int
	Whole    figures
	Steady   *figures
	Checks   struct {
		Achieved float64 `json:"achieved_concurrency"`
		// AchievedWhole is of the whole step.
		AchievedWhole float64 `json:"achieved_concurrency_whole"`
		KernelClock   float64 `json:"kernel_clock"`
	}
	Cards  []struct{ Watts struct{ Mean float64 } }
	Joules *float64 `json:"joules_per_output_token"`
	Server *struct{ Running struct{ Max float64 } }
}

type figures struct {
	Window       runWindow
	PromptTokens int     `json:"prompt_tokens"`
	OutputTokens int     `json:"output_tokens"`
	Throughput   float64 `json:"output_throughput"`
	Peak         int     `json:"peak_concurrency"`
}

type runWindow struct{ From, To time.Time }

// run runs accelbench in its own folder and wants its exit code.
func (b *bench) run(t *testing.T, code int, args ...string) outcome {
	t.Helper()
	o := b.finish(t, b.command(t, args...))
	if o.code != code {
		t.Fatalf("accelbench %v: exit code %d, want %d\n%s\n%s", args, o.code, code, o.stdout, o.stderr)
	}
	return o
}

// command is accelbench run with the data set and an output folder of its own.
func (b *bench) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(b.path("accelbench"), append([]string{"run", "--dataset-path=" + b.path("open_qa.jsonl"), "--output=results"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	return cmd
}

// finish runs cmd, or waits for it, and reads what it left.
func (b *bench) finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	if cmd.Process == nil {
		noError(t, cmd.Start())
	}
	_ = cmd.Wait()
	o := outcome{code: cmd.ProcessState.ExitCode(), stdout: fmt.Sprint(cmd.Stdout), stderr: fmt.Sprint(cmd.Stderr)}
	folders, err := filepath.Glob(filepath.Join(cmd.Dir, "results", "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("folders of runs: %v %v\n%s", folders, err, o.stderr)
	}
	o.folder = folders[0]
	o.report = readReport(t, filepath.Join(o.folder, "report.json"))
	return o
}

func readReport(t *testing.T, path string) reportFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return reportFile{}
	}
	noError(t, err)
	var r reportFile
	noError(t, json.Unmarshal(text, &r))
	return r
}

// sweep runs the sweep of the users' documents, and holds the report against what
// the server says that it did.
func (b *bench) sweep(t *testing.T) {
	url := b.server(t, "--speed=50")
	levels := []int{8, 16, 32, 64, 100, 128, 150, 200}
	const requests = 480 // so that 200 users are all there for a while
	o := b.run(t, 0, "--backend=openai-chat", "--base-url="+url, "--model=qwen2.5", "--dataset-name=openqa", "--max-concurrency=8,16,32,64,100,128,150,200",
		"--num-prompts="+strconv.Itoa(requests), "--timeout=120s", "--ramp-up=400ms")
	if len(o.report.Steps) != len(levels) {
		t.Fatalf("%d steps", len(o.report.Steps))
	}
	for i, s := range o.report.Steps {
		compareStep(t, s, levels[i], requests)
	}
	compareTotals(t, o, readServed(t, url))
}
