// Package programtest is what tests of real programs share: finding and building
// them, running them until a test ends, and asking what they serve.
package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Lacking skips a test where it cannot run, except in CI, which must have everything.
func Lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("CI lacks", what)
	}
	t.Skip("needs", what)
}

// Root is the root of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "deploy", "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// FindAll finds those of the named programs that are here, in order: a name on the
// PATH, or a path in the repository, such as bin/tools/promtool, which make tools
// builds. Without one the test lacks them.
func FindAll(t *testing.T, names ...string) []string {
	t.Helper()
	var found []string
	for _, name := range names {
		place := name
		if strings.Contains(name, "/") && !filepath.IsAbs(name) {
			place = filepath.Join(Root(t), name)
		}
		if path, err := exec.LookPath(place); err == nil {
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
