package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Root is the root of the repository.
func Root(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the source is not known")
	}
	return filepath.Join(filepath.Dir(file), "../../..")
}

// lacking skips a test where it cannot run, except in CI, which must have everything.
func lacking(t *testing.T, what string) {
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
		lacking(t, strings.Join(names, " or "))
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
		lacking(t, "root")
	}
}

// Build builds the programs of this repository as users do: fake/mx-smi, fake/npu-smi and fake/hccn_tool stand in for the
// vendors' tools. The folder is none of the test's own, whose parents only its user enters.
func Build(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "accelerator-programs-")
	NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // other users run what is in it
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-C", Root(t), "build", "BIN="+folder).CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	return folder
}
