package programtest

import (
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Build builds this repository's programs as users do, into a new folder of the
// test that other users can read: fake/mx-smi and fake/npu-smi stand in for the
// vendors' tools.
func Build(t *testing.T) string {
	t.Helper()
	folder := makeFolder(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	buildInto(t, folder)
	return folder
}

// Programs are those of this repository, built once for the tests of a package.
type Programs struct {
	once          sync.Once
	folder, built string
}

// Folder is where they are, as Build leaves them.
func (p *Programs) Folder(t *testing.T) string {
	t.Helper()
	p.once.Do(func() {
		p.folder = makeFolder(t)
		buildInto(t, p.folder)
		p.built = p.folder
	})
	if p.built == "" {
		t.Fatal("the programs were not built")
	}
	return p.built
}

// Remove is for when all tests are over.
func (p *Programs) Remove() {
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}

// makeFolder makes one that is not the test's own, whose parents only its user enters.
func makeFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "accelerator-programs-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func buildInto(t *testing.T, folder string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "make", "-C", Root(t), "build", "BIN="+folder).CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
}
