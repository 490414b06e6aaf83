//go:build e2e_numa

package numa

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// bootTime is for a kernel that is emulated, on a machine that does other things too.
const bootTime = 10 * time.Minute

// program returns the path of one that must be there.
func program(t *testing.T, name, deb string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: apt-get install --no-install-recommends %s", name, deb)
	}
	return path
}

// fetched returns a file of a Debian package that `make e2e-numa` unpacks.
func fetched(t *testing.T, pattern string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(programtest.Root(t), "bin/tools/numa", pattern))
	if len(found) == 0 {
		t.Fatalf("bin/tools/numa/%s is missing: make e2e-numa fetches it", pattern)
	}
	return found[0]
}

// archive is an initramfs in the making: the cpio format that the kernel calls newc.
type archive struct {
	bytes.Buffer
	inode int
	have  []string
}

func (a *archive) add(name string, mode int, content []byte) {
	if slices.Contains(a.have, name) {
		return
	}
	a.have = append(a.have, name)
	a.inode++
	pad := func() {
		for a.Len()%4 != 0 {
			a.WriteByte(0)
		}
	}
	fmt.Fprintf(a, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", a.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	a.WriteString(name + "\x00")
	pad()
	a.Write(content)
	pad()
}

// file adds a program or library of this machine, its folders and what it is linked to.
func (a *archive) file(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	programtest.NoError(t, err)
	for i, c := range to {
		if c == '/' {
			a.add(to[:i], 0o40755, nil)
		}
	}
	a.add(to, 0o100755, content)
	out, err := exec.Command("ldd", from).Output()
	if err != nil {
		return // not dynamic
	}
	for _, library := range regexp.MustCompile(`/\S+`).FindAllString(string(out), -1) {
		if to := strings.TrimPrefix(library, "/"); library != from && !slices.Contains(a.have, to) {
			a.file(t, library, to)
		}
	}
}

// initramfs packs the guest's only file system.
func initramfs(t *testing.T) string {
	t.Helper()
	var a archive
	for _, folder := range []string{"bin", "proc", "sys", "run", "dev", "tmp"} {
		a.add(folder, 0o40755, nil)
	}
	programs := programtest.Build(t)
	a.file(t, "init.sh", "init")
	a.file(t, fetched(t, "bin/busybox"), "bin/busybox")
	a.file(t, filepath.Join(programs, "accelerator_exporter"), "bin/accelerator_exporter")
	a.file(t, filepath.Join(programs, "fakehost"), "bin/mx-smi")
	a.file(t, program(t, "numactl", "numactl"), "bin/numactl")
	a.file(t, program(t, "numastat", "numactl"), "bin/numastat")
	a.add("TRAILER!!!", 0, nil)
	path := filepath.Join(t.TempDir(), "initramfs")
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if _, err := io.Copy(z, &a); err != nil {
		t.Fatal(err)
	}
	programtest.NoError(t, z.Close())
	programtest.NoError(t, os.WriteFile(path, packed.Bytes(), 0o600))
	return path
}

// boot runs the guest to its end and returns what it printed, by mark. It has five CPUs on
// nodes 0 to 2, and memory on these and on node 3.
func boot(t *testing.T) map[string]string {
	t.Helper()
	qemu := program(t, "qemu-system-x86_64", "qemu-system-x86")
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", "max", "-nographic", "-no-reboot", "-net", "none",
		"-smp", "5,sockets=5,cores=1", "-m", "1024",
		"-kernel", fetched(t, "boot/vmlinuz-*"), "-initrd", initramfs(t), "-append", "console=ttyS0 quiet loglevel=1 panic=-1",
	}
	for node, size := range []int{448, 256, 192, 128} {
		cpus := []string{",cpus=0-1", ",cpus=2-3", ",cpus=4", ""}[node]
		args = append(args, "-object", fmt.Sprintf("memory-backend-ram,id=m%d,size=%dM", node, size),
			"-numa", fmt.Sprintf("node,nodeid=%d%s,memdev=m%d", node, cpus, node))
	}
	for _, d := range []string{"src=0,dst=1,val=21", "src=0,dst=2,val=31", "src=0,dst=3,val=17", "src=1,dst=2,val=22", "src=1,dst=3,val=28", "src=2,dst=3,val=32"} {
		args = append(args, "-numa", "dist,"+d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	start := time.Now()
	out, err := exec.CommandContext(ctx, qemu, args...).CombinedOutput()
	text := strings.ReplaceAll(string(out), "\r", "")
	parts := map[string]string{}
	for _, part := range strings.Split(text, "=== ")[1:] {
		mark, rest, _ := strings.Cut(part, "\n")
		parts[mark] = rest
	}
	if _, ended := parts["end"]; err != nil || !ended {
		t.Fatalf("the guest did not get to its end in %v: %v\n%s", time.Since(start), err, text)
	}
	t.Logf("the guest took %v", time.Since(start).Round(time.Second))
	return parts
}
