// Package dist checks what is in the files of a release.
package dist

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const root = "../.."

func version(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(programtest.Read(t, root+"/VERSION"))
}

// command is a program that runs in a folder, with more in its environment.
func command(t *testing.T, dir string, env []string, line ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// output runs a program that must succeed, and returns what it printed.
func output(t *testing.T, dir string, env []string, line ...string) string {
	t.Helper()
	cmd := command(t, dir, env, line...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(line, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}
