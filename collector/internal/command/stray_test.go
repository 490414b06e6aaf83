//go:build linux

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// wantNoChild checks that we have no child at this moment, dead ones included.
func wantNoChild(t *testing.T) {
	t.Helper()
	all, err := process.FS("/proc").Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Parent == os.Getpid() {
			t.Errorf("child %d is left in state %c", p.PID, p.State)
		}
	}
}

// wantNothing checks that nothing the test started lives at this moment.
func wantNothing(t *testing.T) {
	t.Helper()
	if pids := marked(os.Getenv(markName)); len(pids) > 0 {
		t.Errorf("processes %v live on", pids)
	}
	wantNoChild(t)
}

// wantEnded checks that the process whose number a file holds is gone.
func wantEnded(t *testing.T, file string) {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Errorf("the daemon %s is still there", pid)
	}
}

// daemon returns a shell's words that start a daemon, which forks twice, is in a
// session of its own and stays, and that wait until it has written its number to file.
func daemon(t *testing.T, file string) string {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid(1) here")
	}
	program := script(t, `case $2 in
first) setsid "$0" "$1" second & ;;
second) setsid "$0" "$1" third & ;;
third) echo $$ >"$1.new"; mv "$1.new" "$1"; exec sleep 1000 ;;
esac`)
	return fmt.Sprintf("%s %s first; while ! [ -e %[2]s ]; do sleep 0.01; done", program, file)
}

// What a tool leaves behind holds the cards' device files and memory: it ends with the
// tool's run, however it got away.
func TestEndsWhatAToolLeavesBehind(t *testing.T) {
	const long = 30 * time.Second // must not be waited for
	file := filepath.Join(t.TempDir(), "pid")
	start := daemon(t, file)
	for name, body := range map[string]string{
		"a daemon that holds the pipes":      start + "; echo table",
		"a daemon that closed its output":    "(" + start + ") >/dev/null 2>&1; echo table",
		"a daemon of a tool that fails":      start + "; echo table; exit 3",
		"a daemon of a tool that dies":       start + "; echo table; kill -SEGV $$",
		"two daemons":                        start + "; rm " + file + "; " + start + "; echo table",
		"a daemon and a worker in the group": start + "; sleep 1000 & echo table",
	} {
		t.Run(name, func(t *testing.T) {
			watchLeaks(t)
			_ = os.Remove(file)
			r := runner(script(t, body), long)
			out, _ := run(t, r)
			if string(out.Stdout) != "table\n" || out.Duration > long/2 || r.Stuck() != 0 {
				t.Errorf("%q after %s, %d stuck", out.Stdout, out.Duration, r.Stuck())
			}
			wantNothing(t)
		})
	}
}

// The tools of two vendors run at the same time: neither ends what the other still
// works with, and what each leaves behind ends with the last that can have started it.
func TestTwoToolsAtOnce(t *testing.T) {
	for _, order := range [][]string{{"first", "second"}, {"second", "first"}} {
		t.Run(order[0]+" ends before "+order[1], func(t *testing.T) {
			watchLeaks(t)
			dir := t.TempDir()
			shared := process.NewSubreaper()
			ended := map[string]chan string{}
			for _, name := range []string{"first", "second"} {
				pid := filepath.Join(dir, name)
				r := New(Options{Path: script(t, daemon(t, pid)+`
: >`+pid+`-ready; while ! [ -e `+pid+`-end ]; do sleep 0.01; done
grep -c '^State:.[RSD]' /proc/$(cat `+pid+`)/status`), Timeout: time.Minute, Variables: []string{markName}, Subreaper: shared})
				ended[name] = make(chan string, 1)
				go func() {
					out, err := run(t, r)
					ended[name] <- fmt.Sprintf("%s, error %v", out.Stdout, err)
				}()
				waitFor(t, pid+"-ready")
				ready := time.Now()
				eventually(t, "another clock tick, in which start times are told", func() error {
					if time.Since(ready) < 20*time.Millisecond {
						return errors.New("too early")
					}
					return nil
				})
			}
			for _, name := range order {
				processtest.WriteFile(t, filepath.Join(dir, name+"-end"), "", 0o600)
				if said := <-ended[name]; said != "1\n, error <nil>" {
					t.Errorf("at the end of the %s tool its daemon lived no more: %q", name, said)
				}
				if order[0] == "first" { // and what is older than the second tool cannot be of that one
					wantEnded(t, filepath.Join(dir, "first"))
				}
			}
			wantNothing(t)
		})
	}
}
