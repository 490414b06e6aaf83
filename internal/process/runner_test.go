//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// deaf stands in for kill(2) on a process in uninterruptible sleep: signals
// are accepted and nothing happens.
func deaf(pid int, sig syscall.Signal) error {
	if sig == 0 {
		return syscall.Kill(pid, 0)
	}
	return nil
}

// killMarked kills what the test's commands left alive.
func killMarked() {
	for _, pid := range marked(os.Getenv(markName)) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// wantStuck checks that r refuses to run while release was not called, and runs again then.
func wantStuck(t *testing.T, r *Runner, release func()) {
	t.Helper()
	out, err := run(t, r)
	if reasonOf(err) != failure.Stuck || r.Stuck() != 1 {
		t.Errorf("%v and %d stuck, want class stuck and 1", err, r.Stuck())
	}
	if diff := cmp.Diff(Output{ExitCode: -1}, out); diff != "" {
		t.Errorf("something was run (-want +got):\n%s", diff)
	}
	release()
	eventually(t, "recovery", func() error { return none(r.Stuck()) })
	if out, err = run(t, r); err != nil || string(out.Stdout) != "well\n" {
		t.Errorf("after recovery: %q, %v", out.Stdout, err)
	}
}

func TestSurvivesSIGKILL(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		reason failure.Reason
		stdout string
		exit   int
	}{
		"the tool itself":        {"echo half; exec sleep 1000", failure.Timeout, "half\n", -1},
		"what a wrapper started": {"sleep 1000 & echo table", "", "table\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			watchLeaks(t)
			sick := processtest.WriteFile(t, filepath.Join(t.TempDir(), "sick"), "", 0o644)
			r := runner(script(t, `[ -e "`+sick+`" ] || { echo well; exit; }`+"\n"+c.script), 2*time.Second)
			r.Subreaper.kill, r.patience = deaf, time.Second
			out, err := run(t, r)
			if reasonOf(err) != c.reason || string(out.Stdout) != c.stdout || out.ExitCode != c.exit {
				t.Errorf("%q, exit %d, %v", out.Stdout, out.ExitCode, err)
			}
			wantStuck(t, r, func() {
				if err := os.Remove(sick); err != nil {
					t.Fatal(err)
				}
				killMarked()
			})
		})
	}
}

// A program on a dead network mount blocks before it is even started.
func TestStartHangs(t *testing.T) {
	watchLeaks(t)
	mounted := make(chan struct{})
	r := runner(script(t, `echo well`), 100*time.Millisecond)
	r.patience = 0
	r.find = func(name string) (string, error) {
		<-mounted
		return name, nil
	}
	if _, err := run(t, r); reasonOf(err) != failure.Timeout {
		t.Errorf("error %v, want class timeout", err)
	}
	wantStuck(t, r, func() {
		close(mounted)
		r.Timeout, r.patience = time.Minute, bounded
	})
}

// waitFor polls for a file that a script makes.
func waitFor(t *testing.T, path string) {
	t.Helper()
	eventually(t, path, func() error {
		_, err := os.Stat(path)
		return err
	})
}

func TestCancel(t *testing.T) {
	watchLeaks(t)
	ready := filepath.Join(t.TempDir(), "ready")
	r := runner(script(t, `echo half; : > "`+ready+`"; sleep 1000`), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		waitFor(t, ready)
		cancel()
	}()
	began := time.Now()
	out, err := r.RunUntil(ctx, nil)
	if !errors.Is(err, context.Canceled) || reasonOf(err) != failure.Timeout || string(out.Stdout) != "half\n" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if _, err := r.RunUntil(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestClose(t *testing.T) {
	watchLeaks(t)
	ready := filepath.Join(t.TempDir(), "ready")
	r := runner(script(t, `: > "`+ready+`"; sleep 1000`), time.Minute)
	ended := make(chan error, 2)
	for range 2 { // one runs, one waits for its turn
		go func() {
			_, err := r.RunUntil(context.Background(), nil)
			ended <- err
		}()
	}
	waitFor(t, ready)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.RunUntil(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for its turn: %v, want the context's error", err)
	}
	r.Close()
	r.Close()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a run under way ended with %v", err)
		}
	}
	if _, err := r.RunUntil(t.Context(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a run after Close: %v", err)
	}
}

func TestCloseWithStuckChild(t *testing.T) {
	watchLeaks(t)
	r := runner(script(t, `sleep 1000 & echo table`), time.Minute)
	r.Subreaper.kill, r.patience = deaf, time.Second
	if _, err := run(t, r); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if r.Stuck() != 1 {
		t.Errorf("Stuck() = %d after Close, want 1", r.Stuck())
	}
	killMarked()
	eventually(t, "its end", func() error { return none(r.Stuck()) })
}

func TestOneChildAtATime(t *testing.T) {
	watchLeaks(t)
	lock := filepath.Join(t.TempDir(), "lock")
	r := runner(script(t, `mkdir "`+lock+`" || exit 9; sleep 0.05; rmdir "`+lock+`"; echo "$1"`), time.Minute)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			out, err := r.RunUntil(t.Context(), nil, strconv.Itoa(i))
			if err != nil || out.ExitCode != 0 || string(out.Stdout) != fmt.Sprintln(i) {
				t.Errorf("run %d: %q, exit %d, %v", i, out.Stdout, out.ExitCode, err)
			}
		})
	}
	wg.Wait()
}

func TestWhatTheChildSees(t *testing.T) {
	watchLeaks(t)
	r := runner(script(t, `cat
printf '[%s]\n' "$@"
[ "$(cut -d' ' -f5 /proc/$$/stat)" = $$ ] && echo leader`), time.Minute)
	out, err := run(t, r, "-L", "a b", "$(id)", "")
	want := "[-L]\n[a b]\n[$(id)]\n[]\nleader\n"
	if diff := cmp.Diff(want, string(out.Stdout)); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v %s", diff, err, out.Stderr)
	}
}

// A tool finds its libraries, speaks English, and gets no key of ours, no proxy and
// nothing to load.
func TestEnvironmentOfATool(t *testing.T) {
	for name, value := range map[string]string{
		"PATH": os.Getenv("PATH"), "LD_LIBRARY_PATH": "/opt/driver/lib64", "HOME": "/root", "TMPDIR": "/var/tmp", "SITE_CONFIG": "/etc/site",
		"LC_ALL": "zh_CN.UTF-8", "OPENAI_API_KEY": "secret", "http_proxy": "http://user:secret@proxy", "LD_PRELOAD": "",
	} {
		t.Setenv(name, value)
	}
	r := NewRunner(Options{Path: "env", Timeout: time.Minute, Variables: []string{"SITE_CONFIG", "NOT_SET"}, Subreaper: NewSubreaper()})
	out, err := run(t, r)
	want := "PATH=" + os.Getenv("PATH") + "\nLD_LIBRARY_PATH=/opt/driver/lib64\nHOME=/root\nTMPDIR=/var/tmp\nSITE_CONFIG=/etc/site\nLC_ALL=C\n"
	if diff := cmp.Diff(want, string(out.Stdout)); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}

func TestOutputIsComplete(t *testing.T) {
	watchLeaks(t)
	for _, size := range []int{0, 1, 65536, 65537, OutputLimit - 1, OutputLimit, OutputLimit + 1} {
		for _, stream := range []string{"1", "2"} {
			r := runner(script(t, fmt.Sprintf(`head -c %d /dev/zero >&%s`, size, stream)), time.Minute)
			out, err := run(t, r)
			got := len(out.Stdout)
			if stream == "2" {
				got = len(out.Stderr)
			}
			if want := min(size, OutputLimit); got != want {
				t.Errorf("%d of %d bytes on stream %s", got, size, stream)
			}
			if tooLarge := reasonOf(err) == failure.OutputTooLarge; tooLarge != (size > OutputLimit) {
				t.Errorf("%d bytes on stream %s: %v", size, stream, err)
			}
		}
	}
}

// What a wrapper leaves behind becomes our child, and stays a zombie for ever when
// nobody reaps it.
func TestReapsWhatItInherits(t *testing.T) {
	watchLeaks(t)
	ended := runner(script(t, `sleep 1000 & sleep 1000 & echo table`), time.Minute)
	hung := runner(script(t, `timeout 1000 sleep 1000 & sleep 1000`), 200*time.Millisecond)
	for range 3 {
		if _, err := run(t, ended); err != nil {
			t.Error(err)
		}
		if _, err := run(t, hung); reasonOf(err) != failure.Timeout {
			t.Errorf("error %v, want class timeout", err)
		}
	}
	wantNoChild(t)
}

func TestErrorNamesTheCommand(t *testing.T) {
	watchLeaks(t)
	_, err := run(t, runner(script(t, `sleep 1000`), 50*time.Millisecond), "topo", "-m")
	if want := "running smi topo -m: no complete answer within 50ms"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func BenchmarkRun(b *testing.B) {
	r := runner("/bin/true", time.Minute)
	for b.Loop() {
		if _, err := r.RunUntil(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
