package numa

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPCINode(t *testing.T) {
	sysfs := t.TempDir()
	// As in the real tree, the entries are links to elsewhere below sysfs.
	for name, text := range map[string]string{
		"0000:3b:00.0": "1\n", "0000:c1:00.0": "-1\n", "10000:e1:1f.7": "5\n", "0000:05:00.0": "", "0000:06:00.0": "2x\n",
	} {
		dir := filepath.Join(sysfs, "devices", "root", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(sysfs, pciDir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../../devices/root/"+name, filepath.Join(sysfs, pciDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(sysfs, "numa_node"), []byte("7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		busID string
		node  int
		ok    bool
	}{
		{"0000:3b:00.0", 1, true},
		{"0000:3B:00.0", 1, true},
		{"00000000:3B:00.0", 1, true},
		{"10000:e1:1f.7", 5, true},
		{"0000:c1:00.0", 0, false}, // the kernel does not know
		{"0000:05:00.0", 0, false}, // empty
		{"0000:06:00.0", 0, false}, // no number
		{"0000:07:00.0", 0, false}, // no such device
		{"3b:00.0", 0, false},
		{"0000:3b:00", 0, false},
		{"0000:3b:20.0", 0, false},
		{"0000:3b:00.8", 0, false},
		{"0000:3b:00.00", 0, false},
		{"", 0, false},
		{"NA", 0, false},
		{"../../..", 0, false},
		{"0000:3b:00.0/../../../..", 0, false},
		{"../0000:3b:00.0", 0, false},
		{"+000:3b:00.0", 0, false},
		{"0x00:3b:00.0", 0, false},
	}
	for _, c := range cases {
		if node, ok := PCINode(sysfs, c.busID); node != c.node || ok != c.ok {
			t.Errorf("PCINode(%q) = %d, %t, want %d, %t", c.busID, node, ok, c.node, c.ok)
		}
	}
	if node, ok := PCINode("", "0000:3b:00.0"); ok {
		t.Errorf("without a sysfs: node %d", node)
	}
}
