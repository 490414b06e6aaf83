//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Ctrl-C ends placement whatever it does, also where nobody takes what it prints.
func TestPlacementEndsAtCtrlC(t *testing.T) {
	var page strings.Builder
	for node := range 1024 { // more text than a pipe holds
		fmt.Fprintf(&page, "accelerator_numa_cpus{node=\"%d\"} 4\n", node)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(page.String()))
	}))
	defer web.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var stderr bytes.Buffer
	cmd := exec.Command("accelbench", "placement", "--exporter="+web.URL)
	cmd.Stdout, cmd.Stderr = write, &stderr
	err = cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	printed := 0
	for until := time.Now().Add(20 * time.Second); printed == 0 && time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		if printed, err = unix.IoctlGetInt(int(read.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || printed == 0 {
		t.Errorf("exit code %d after %d bytes, want %d: %s", code, printed, exitInterrupted, &stderr)
	}
}
