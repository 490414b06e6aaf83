// Package container builds the image without a container engine, looks at what is
// in it, and runs it as an engine would.
package container

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// patience bounds each wait; all of them take a fraction of a second on an idle machine.
const patience = time.Minute

// repository is the root of the repository.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// need skips the test without root or without one of the programs.
func need(t *testing.T, programs ...string) {
	t.Helper()
	programtest.NeedSuperuser(t)
	programtest.Need(t, programs...)
}

// output runs a program to its end and returns what it printed.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// contains is a condition: the page at url holds each of the texts.
func contains(t *testing.T, url string, texts ...string) func() error {
	return func() error {
		page, err := programtest.Get(t, url)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(page, text) {
				return fmt.Errorf("%s has no %q:\n%s", url, text, page)
			}
		}
		return nil
	}
}
