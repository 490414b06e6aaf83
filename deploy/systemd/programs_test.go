// Package systemd checks the unit and its files with systemd's own programs, and
// runs the exporter as the unit does.
package systemd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// patience bounds each wait; all of them take a fraction of a second on an idle machine.
const patience = time.Minute

const (
	unit    = "accelerator_exporter.service"
	program = "/usr/local/bin/accelerator_exporter" // where the unit has it
)

var dropIns = []string{"root.conf", "find-cards.conf", "credentials.conf"}

// run runs a program to its end and returns what it printed and its exit status.
func run(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// succeed is run for what must exit with 0.
func succeed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, status := run(t, name, args...)
	if status != 0 {
		t.Fatalf("%s %s: exit status %d\n%s", name, strings.Join(args, " "), status, out)
	}
	return out
}

// programs are those of this repository.
var programs programtest.Programs

func TestMain(m *testing.M) {
	status := m.Run()
	programs.Remove()
	os.Exit(status)
}

// setting is the value of a key of the unit, which must be there once.
func setting(t *testing.T, text, key string) string {
	t.Helper()
	matches := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`=(.*)$`).FindAllStringSubmatch(text, -1)
	if len(matches) != 1 {
		t.Fatalf("%d lines %s=, want 1", len(matches), key)
	}
	return matches[0][1]
}
