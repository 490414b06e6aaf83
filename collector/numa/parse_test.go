package numa

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestParseCPUList(t *testing.T) {
	cases := []struct {
		list string
		want []int // nil: refused
	}{
		{"", []int{}},
		{"\n", []int{}},
		{"0", []int{0}},
		{"0-3\n", span(0, 3)},
		{"0-1,4,6-7", []int{0, 1, 4, 6, 7}},
		{"6-7,0-1", []int{0, 1, 6, 7}},
		{"0-3,2-5,4,0", span(0, 5)},
		{"65535", []int{65535}},
		{"65536", nil},
		{"0-4294967295", nil},
		{"0-99999999999999999999", nil},
		{"3-0", nil},
		{"0-3,", nil},
		{",", nil},
		{"-3", nil},
		{"0--3", nil},
		{"0-3-5", nil},
		{"+1", nil},
		{"1 2", nil},
		{"0-31:2/4", nil},
		{"0x1", nil},
		{"N/A", nil},
	}
	for _, c := range cases {
		got, err := ParseCPUList(c.list)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("ParseCPUList(%q): %v (-want +got):\n%s", c.list, err, diff)
		}
	}
	// The same ranges again and again cost no more than once.
	all := strings.TrimSuffix(strings.Repeat("0-65535,", 8000), ",")
	if got, err := ParseCPUList(all); err != nil || !slices.Equal(got, span(0, 65535)) {
		t.Errorf("many ranges: %d CPUs, %v", len(got), err)
	}
}
