package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Without FAKEHOST_STATE the folder's name can be foretold: another user of the host
// must neither read it nor put his own in its place.
func TestStateFolderIsPrivate(t *testing.T) {
	elsewhere := t.TempDir()
	for name, tt := range map[string]struct {
		prepare func(dir string) error
		says    string
	}{
		"none yet":         {func(string) error { return nil }, ""},
		"its own":          {func(dir string) error { return os.Mkdir(dir, 0o700) }, ""},
		"others may enter": {func(dir string) error { return os.Mkdir(dir, 0o755) }, "is drwxr-xr-x of user"},
		"a link":           {func(dir string) error { return os.Symlink(elsewhere, dir) }, "mode 0700, and is L"},
		"a file":           {func(dir string) error { return os.WriteFile(dir, nil, 0o700) }, "mode 0700, and is -rwx"},
		"another user's": {func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			if os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			return os.Chown(dir, 65534, 65534)
		}, "of user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("FAKEHOST_STATE", "")
			t.Setenv("TMPDIR", temporary)
			dir := filepath.Join(temporary, "fakehost-"+strconv.Itoa(os.Getuid()))
			if err := tt.prepare(dir); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			status := run([]string{"mx-smi"}, &stdout, &stderr)
			if tt.says != "" {
				if status != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.says) {
					t.Errorf("status %d, %d bytes, %s", status, stdout.Len(), stderr.String())
				}
				return
			}
			info, err := os.Lstat(dir)
			if status != 0 || err != nil || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("status %d, %s, folder %v %v", status, stderr.String(), info, err)
			}
		})
	}
}

// In an image without a temporary folder the tools print an idle machine.
func TestStateFolderThatCannotBeMade(t *testing.T) {
	t.Setenv("FAKEHOST_STATE", "")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	var stdout, stderr bytes.Buffer
	if status := run([]string{"mx-smi"}, &stdout, &stderr); status != 0 || stdout.Len() == 0 {
		t.Errorf("status %d, %d bytes, %s", status, stdout.Len(), stderr.String())
	}
}
