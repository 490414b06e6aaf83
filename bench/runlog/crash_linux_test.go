package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// childFolder names the folder of a child process that is the test's own binary.
const childFolder, childLimit = "RUNLOG_TEST_FOLDER", "RUNLOG_TEST_LIMIT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		child(dir, os.Getenv(childLimit) != "")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes requests until it is killed, or until its disk is full, and tells
// of each that Write took.
func child(dir string, limited bool) {
	if limited {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000}); err != nil {
			fmt.Println(err)
			return
		}
	}
	w, err := Create(dir, Run{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var wg sync.WaitGroup
	for step := range 4 {
		wg.Go(func() {
			for seq := 0; ; seq++ {
				q := example()
				q.Step, q.Seq = step, seq
				if err := w.Write(Record{Request: &q}); err != nil {
					fmt.Println(err)
					return
				}
				fmt.Println("ok", step, seq)
			}
		})
	}
	wg.Wait()
}

// watch runs a child until it ends, or kills it after so many requests, and
// returns the requests it told of and its other lines.
func watch(t *testing.T, dir string, limited bool, killAfter int) (told map[[2]int]bool, rest []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childFolder+"="+dir)
	if limited {
		cmd.Env = append(cmd.Env, childLimit+"=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told = map[[2]int]bool{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var key [2]int
		if n, err := fmt.Sscanf(lines.Text(), "ok %d %d", &key[0], &key[1]); n != 2 || err != nil {
			rest = append(rest, lines.Text())
			continue
		}
		told[key] = true
		if len(told) == killAfter {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return told, rest
}

// mustHold checks that all requests that were written are in the log, and half a
// line more at most.
func mustHold(t *testing.T, path string, told map[[2]int]bool) {
	t.Helper()
	records, damaged := readAll(t, path)
	held := map[[2]int]bool{}
	for _, rec := range records {
		held[[2]int{rec.Request.Step, rec.Request.Seq}] = true
	}
	for key := range told {
		if !held[key] {
			t.Errorf("request %v was written and is not in the log", key)
		}
	}
	if damaged > 1 || len(held) != len(records) {
		t.Errorf("%d damaged lines, %d records of %d requests", damaged, len(records), len(held))
	}
}

func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	told, rest := watch(t, dir, false, 500)
	if len(told) < 500 || len(rest) > 0 {
		t.Fatalf("the child wrote %d requests and said %q", len(told), rest)
	}
	mustHold(t, filepath.Join(dir, FileName), told)
}

// TestFileCannotGrow: a disk that fills up in the middle of a line.
func TestFileCannotGrow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	told, rest := watch(t, dir, true, -1)
	path := filepath.Join(dir, FileName)
	if len(told) < 10 {
		t.Fatalf("the child wrote %d requests and said %q", len(told), rest)
	}
	want := strings.Repeat("writing traces "+path+": file too large\n", 4) // each writer is told, also the three after the first
	if got := strings.Join(rest, "\n") + "\n"; got != want {
		t.Errorf("the child said:\n%swant:\n%s", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 100_000 {
		t.Errorf("the log: %v, %v", info, err)
	}
	mustHold(t, path, told)
}

// TestFullDisk: the message says what is full.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	w := &Writer{file: full}
	defer w.Close()
	for range 2 {
		err := w.Write(Record{Request: new(example())})
		if want := "writing traces /dev/full: no space left on device"; err == nil || err.Error() != want || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
