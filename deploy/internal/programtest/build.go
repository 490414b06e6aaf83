package programtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Build builds this repository's programs as users do, into a new folder of the
// test that other users can read: fake/mx-smi, fake/npu-smi and fake/hccn_tool stand
// in for the vendors' tools.
func Build(t *testing.T) string {
	t.Helper()
	programs := new(Programs)
	t.Cleanup(programs.Remove)
	return programs.Folder(t)
}

// Programs are those of this repository, built once for the tests of a package.
type Programs struct {
	once   sync.Once
	folder string
	err    error
}

// Folder is where they are, as Build leaves them.
func (p *Programs) Folder(t *testing.T) string {
	t.Helper()
	root := Root(t)
	p.once.Do(func() { p.err = p.build(t.Context(), root) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.folder
}

// build builds into a folder that is not the test's own, whose parents only its
// user enters.
func (p *Programs) build(ctx context.Context, root string) (err error) {
	if p.folder, err = os.MkdirTemp("", "accelerator-programs-"); err != nil {
		return err
	}
	if err := os.Chmod(p.folder, 0o755); err != nil { //nolint:gosec // other users run what is in it
		return err
	}
	if out, err := exec.CommandContext(ctx, "make", "-C", root, "build", "BIN="+p.folder).CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// Remove is for when all tests are over.
func (p *Programs) Remove() {
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}
