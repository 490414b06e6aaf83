//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// start runs a program until the test ends. It dies with the test binary even
// when that is killed.
func start(t *testing.T, name string, env []string, path string, args ...string) *programtest.Process {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return programtest.Start(t, name, cmd)
}

// served waits for the address that a program logs when it serves.
func served(t *testing.T, p *programtest.Process) (address string) {
	t.Helper()
	logged := regexp.MustCompile(`(?:Listening on".*|msg=serving.*) address=(?:http://)?(127\.0\.0\.1:[1-9]\d*)`)
	programtest.Eventually(t, time.Minute, "it serves", func() error {
		m := logged.FindStringSubmatch(p.Log(t))
		if m == nil {
			return fmt.Errorf("no address in its log:\n%s", p.Log(t))
		}
		address = m[1]
		return nil
	})
	return address
}

// output runs a program that ends by itself.
func output(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", path, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// orphans are processes of programs in a folder that still run.
func orphans(dir string) []string {
	var found []string
	processes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range processes {
		if path, err := os.Readlink(exe); err == nil && strings.HasPrefix(path, dir+"/") {
			found = append(found, fmt.Sprintf("%s runs %s", filepath.Base(filepath.Dir(exe)), path))
		}
	}
	return found
}
