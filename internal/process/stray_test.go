//go:build linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// wantNoChild checks that we have no child at this moment, dead ones included.
func wantNoChild(t *testing.T) {
	t.Helper()
	all, err := FS("/proc").Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.PPID == os.Getpid() {
			t.Errorf("child %d is left in state %s", p.PID, p.State)
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
			began := time.Now()
			out, _ := run(t, r)
			if took := time.Since(began); string(out.Stdout) != "table\n" || took > long/2 || r.Stuck() != 0 {
				t.Errorf("%q after %s, %d stuck", out.Stdout, took, r.Stuck())
			}
			wantNothing(t)
		})
	}
}

// Which orphans end with tool 100, which began at 20, while tool 200 runs.
func TestOwns(t *testing.T) {
	s := &Subreaper{session: 5, running: map[*Child]bool{}}
	first, second := &Child{subreaper: s, begin: 20}, &Child{subreaper: s, begin: 30}
	for pid, c := range map[int]*Child{100: first, 200: second} {
		c.cmd = &exec.Cmd{Process: &os.Process{Pid: pid}}
		s.running[c] = true
	}
	for name, c := range map[string]struct {
		orphan procfs.ProcStat
		want   bool
	}{
		"in its session":          {procfs.ProcStat{Session: 100, Starttime: 22}, true},
		"a daemon":                {procfs.ProcStat{Session: 104, Starttime: 24}, true},
		"a daemon from before it": {procfs.ProcStat{Session: 106, Starttime: 19}, false},
		"dead, from before it":    {procfs.ProcStat{Session: 106, Starttime: 19, State: "Z"}, true},
		"our own job":             {procfs.ProcStat{Session: 5, Starttime: 31}, false},
		"of the other tool":       {procfs.ProcStat{Session: 200, Starttime: 31}, false},
	} {
		if first.owns(c.orphan) != c.want {
			t.Errorf("%s: owned %t, want %t", name, !c.want, c.want)
		}
	}
}
