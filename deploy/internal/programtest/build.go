package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Root is the root of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "deploy", "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("the test runs outside the repository: %v", err)
	return ""
}

// Lacking skips a test where it cannot run, except in CI, which must have everything.
func Lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("CI lacks", what)
	}
	t.Skip("needs", what)
}

// FindAll finds those of the named programs that are here, in order: a name on the PATH, or a path in the repository,
// such as bin/tools/promtool, which make tools builds. Without one the test lacks them.
func FindAll(t *testing.T, names ...string) []string {
	t.Helper()
	var found []string
	for _, name := range names {
		if strings.Contains(name, "/") && !filepath.IsAbs(name) {
			name = filepath.Join(Root(t), name)
		}
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		Lacking(t, strings.Join(names, " or "))
	}
	return found
}

// Find finds the first of the named programs that is here, as FindAll does.
func Find(t *testing.T, names ...string) string {
	t.Helper()
	return FindAll(t, names...)[0]
}

// Need is for a test that runs all of the named programs.
func Need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		Find(t, name)
	}
}

// NeedSuperuser is for a test that only root can run.
func NeedSuperuser(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		Lacking(t, "root")
	}
}

// Programs are those of this repository, built once for the tests of a package.
type Programs struct {
	once   sync.Once
	folder string
	err    error
}

// Folder is where they are, built as users do: fake/mx-smi, fake/npu-smi and fake/hccn_tool stand in for the vendors'
// tools. It is no folder of the test, whose parents only its user enters.
func (p *Programs) Folder(t *testing.T) string {
	t.Helper()
	p.once.Do(func() {
		if p.folder, p.err = os.MkdirTemp("", "accelerator-programs-"); p.err != nil {
			return
		}
		if p.err = os.Chmod(p.folder, 0o755); p.err != nil { //nolint:gosec // other users run what is in it
			return
		}
		out, err := exec.CommandContext(t.Context(), "make", "-C", Root(t), "build", "BIN="+p.folder).CombinedOutput()
		if err != nil {
			p.err = fmt.Errorf("make build: %w\n%s", err, out)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.folder
}

// Remove is for when all tests are over.
func (p *Programs) Remove() {
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}

// Build builds the programs into a new folder of one test.
func Build(t *testing.T) string {
	t.Helper()
	programs := new(Programs)
	t.Cleanup(programs.Remove)
	return programs.Folder(t)
}
