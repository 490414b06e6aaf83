package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made is a proc file system with these files and links, which begin with "->".
func made(t *testing.T, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return FS(root)
}

func TestCheckHostPIDs(t *testing.T) {
	const own, initial = "->pid:[4026532201]", "->pid:[4026531836]"
	cases := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"the host", map[string]string{"self/ns/pid": initial, "self/status": "NSpid:\t40\n"}, ""},
		{"a kernel without namespaces", map[string]string{"self/status": ""}, ""},
		{"a container", map[string]string{"self/ns/pid": own, "self/status": "NSpid:\t40\n"}, " has the PIDs of a container, not the host's"},
		{"a container's, seen from one in it", map[string]string{"self/ns/pid": own, "self/status": "NSpid:\t9040\t40\n", "2/stat": "2 (sh) S 1 2 2 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 1\n"}, " has the PIDs of a container, not the host's"},
		{"the host's, mounted in a container", map[string]string{"self/ns/pid": own, "2/stat": "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1\n"}, ""},
		{"another container's, which does not show us", map[string]string{"self": "->nobody"}, "no such file"},
		{"no procfs", nil, "no such file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := made(t, c.files).CheckHostPIDs()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
