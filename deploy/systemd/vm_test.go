package systemd

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestUnderSystemd boots a virtual machine with this machine's systemd, installs
// the service in it by the lines of README.md, and has systemd start it with all
// of its restrictions. Its tools are dynamically linked, need the drivers'
// libraries and open the drivers' devices.
//
// It takes a minute or two, and a kernel that is not this machine's own:
//
//	SYSTEMD_TEST_KERNEL=/boot/vmlinuz-… go test -run TestUnderSystemd ./systemd
func TestUnderSystemd(t *testing.T) {
	kernel := os.Getenv("SYSTEMD_TEST_KERNEL")
	if kernel == "" {
		t.Skip("SYSTEMD_TEST_KERNEL names no kernel to boot")
	}
	programtest.Need(t, "qemu-system-x86_64", "gcc", "ldd")
	root := guest(t)
	image := filepath.Join(t.TempDir(), "initramfs")
	pack(t, root, image)

	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-nographic", "-no-reboot",
		"-net", "none", "-m", "1024", "-smp", "2", "-kernel", kernel, "-initrd", image, "-append",
		"console=ttyS0 quiet panic=-1 rdinit=/lib/systemd/systemd systemd.unit=check.service systemd.show_status=0 systemd.log_target=journal")
	out, err := cmd.CombinedOutput()
	text := strings.ReplaceAll(string(out), "\r", "")
	if err != nil || !strings.Contains(text, "end of checks") {
		t.Fatalf("the machine ended early: %v\n%s", err, text)
	}
	passed := len(regexp.MustCompile(`(?m)^ok: `).FindAllString(text, -1))
	if want := strings.Count(programtest.Read(t, "testdata/guest.sh"), "\ncheck "); passed != want || strings.Contains(text, "not ok: ") {
		t.Errorf("%d of %d checks passed\n%s", passed, want, text)
	}
	t.Logf("%d checks passed", passed)
}

// guest makes the machine's files.
func guest(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc/systemd/system", "proc", "sys", "dev", "run", "tmp", "var/log", "root", "usr/local/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		link(t, "usr/"+dir, filepath.Join(root, dir))
	}
	systemdOf(t, root)
	for name, text := range map[string]string{
		"etc/passwd":        "root:x:0:0::/root:/bin/sh\n",
		"etc/group":         "root:x:0:\nvideo:x:44:\nrender:x:105:\nHwHiAiUser:x:1000:\n",
		"etc/shadow":        "root:*:1::::::\n",
		"etc/gshadow":       "root:*::\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\n",
		"etc/hosts":         "127.0.0.1 localhost\n",
		"etc/os-release":    "PRETTY_NAME=guest\n",
		"etc/machine-id":    "",
		"check.sh":          programtest.Read(t, "testdata/guest.sh"),
		"install.sh":        installLines(t),
		"lib/systemd/system/check.service": "[Service]\nType=oneshot\nTimeoutStartSec=infinity\nExecStart=/bin/sh /check.sh\n" +
			"StandardOutput=file:/dev/ttyS0\nStandardError=file:/dev/ttyS0\nExecStopPost=/bin/sh -c 'sleep 2; echo o >/proc/sysrq-trigger'\n",
	} {
		programtest.Write(t, filepath.Join(root, name), text)
	}
	ours := programs.Folder(t)
	for _, name := range []string{"accelerator_exporter", "fakehost"} {
		install(t, filepath.Join(ours, name), filepath.Join(root, "repository/bin", name))
	}
	if err := os.MkdirAll(filepath.Join(root, "repository/bin/fake"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "../fakehost", filepath.Join(root, "repository/bin/fake/mx-smi"))
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := f.Name(); !f.IsDir() && filepath.Ext(name) != ".go" {
			programtest.Write(t, filepath.Join(root, "repository/deploy/systemd", name), programtest.Read(t, name))
		}
	}
	vendorTools(t, root, filepath.Join(ours, "fakehost"))
	return root
}

// installLines are the shell lines of README.md that install and start the service.
func installLines(t *testing.T) string {
	t.Helper()
	_, text, _ := strings.Cut(programtest.Read(t, "README.md"), "## Install")
	text, _, ok := strings.Cut(text, "## Check")
	var lines strings.Builder
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		// Built outside; and without a model server yet.
		if block := m[1]; !strings.HasPrefix(block, "make ") && !strings.HasPrefix(block, "ARGS=") {
			lines.WriteString(block)
		}
	}
	if !ok || !strings.Contains(lines.String(), "systemctl enable --now accelerator_exporter\n") {
		t.Fatalf("README.md installs by\n%s", lines.String())
	}
	return lines.String()
}

// systemdOf copies this machine's systemd, and what the checks call, with the
// libraries of each.
func systemdOf(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{
		"/lib/systemd/systemd", "/lib/systemd/systemd-journald", "systemctl", "journalctl", "systemd-sysusers",
		"sh", "cat", "grep", "sed", "sleep", "kill", "mknod", "chown", "chmod", "mkdir", "install", "usermod", "curl",
		"timeout", "tr", "tail", "rm", "awk", "touch", "seq",
	} {
		source, err := filepath.EvalSymlinks(programtest.Find(t, name))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join("/usr/bin", filepath.Base(name))
		if strings.HasPrefix(name, "/") {
			target = "/usr" + name
		}
		install(t, source, filepath.Join(root, target))
		libraries(t, root, source)
	}
	units, err := filepath.Glob("/lib/systemd/system/*")
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`/((basic|sysinit|local-fs|local-fs-pre|sockets|timers|paths|slices|network|network-online|multi-user|shutdown|umount|final|swap)\.target|systemd-journald(-dev-log)?\.(service|socket))$`)
	for _, name := range units {
		if wanted.MatchString(name) {
			programtest.Write(t, filepath.Join(root, name), programtest.Read(t, name))
		}
	}
}

// libraries copies the libraries that ldd names.
func libraries(t *testing.T, root, program string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(/\S+\.so\S*)`).FindAllString(succeed(t, "ldd", program), -1) {
		target := filepath.Join(root, m)
		if _, err := os.Stat(target); err != nil {
			install(t, m, target)
		}
	}
}

func install(t *testing.T, source, target string) {
	t.Helper()
	programtest.Write(t, target, programtest.Read(t, source))
	if err := os.Chmod(target, 0o755); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

const toolProgram = `#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int print_answer(const char *dir, const char *name);
int main(int argc, char **argv) {
	char name[256] = "answer";
	for (int i = 1; i < argc; i++) {
		strncat(name, " ", sizeof name - strlen(name) - 1);
		strncat(name, argv[i], sizeof name - strlen(name) - 1);
	}
	if (access("/run/only-root", F_OK) == 0 && geteuid() != 0) {
		puts("Operation not permitted, only root user is allowed");
		return 1;
	}
	if (open(DEVICE, O_RDWR) < 0) {
		perror(DEVICE);
		return 1;
	}
	if (open("/dev/forbidden", O_RDONLY) >= 0) {
		puts("a device that is no card's could be opened");
		return 1;
	}
	return print_answer(ANSWERS, name);
}
`

// vendorTools installs tools as the drivers do.
func vendorTools(t *testing.T, root, fakehost string) {
	t.Helper()
	source := t.TempDir()
	programtest.Write(t, source+"/library.c", programtest.ToolLibrary)
	programtest.Write(t, source+"/program.c", toolProgram)
	t.Setenv("FAKEHOST_STATE", t.TempDir())
	for _, v := range []struct {
		program, device, answers, library string
		flags                             []string
		questions                         []string
	}{
		{
			"/opt/mxdriver/bin/mx-smi", "/dev/mxcd", "/opt/mxdriver/share", "/opt/mxdriver/lib/libmxsml.so",
			[]string{"-Wl,-rpath,$ORIGIN/../lib"},
			[]string{"", "-L", "topo -n", "topo -m"},
		},
		{
			"/usr/local/bin/npu-smi", "/dev/davinci_manager", "/usr/local/dcmi", "/usr/local/Ascend/driver/lib64/common/libc_sec.so",
			nil,
			[]string{"info", "info -m", "info -l", "info -t topo"},
		},
	} {
		programtest.Write(t, root+v.program, "")
		programtest.Write(t, root+v.library, "")
		succeed(t, "gcc", "-shared", "-fPIC", "-Wl,-soname,"+filepath.Base(v.library), "-o", root+v.library, source+"/library.c")
		succeed(t, "gcc", append(v.flags, `-DDEVICE="`+v.device+`"`, `-DANSWERS="`+v.answers+`"`,
			"-o", root+v.program, source+"/program.c", root+v.library)...)
		for _, q := range v.questions {
			args := append([]string{filepath.Base(v.program)}, strings.Fields(q)...)
			programtest.Write(t, filepath.Join(root+v.answers, strings.TrimSpace("answer "+q)), succeed(t, fakehost, args...))
		}
	}
}

// pack writes a tree as the archive that the kernel unpacks into its root.
func pack(t *testing.T, root, name string) {
	t.Helper()
	var b bytes.Buffer
	number := 0
	entry := func(name string, mode uint32, body []byte) {
		number++
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
			number, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(name)+1, 0, name)
		b.Write(make([]byte, -b.Len()&3))
		b.Write(body)
		b.Write(make([]byte, -b.Len()&3))
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		short, mode, body := path[len(root)+1:], uint32(info.Mode().Perm()), []byte(nil)
		switch {
		case d.IsDir():
			mode |= 0o040000
		case info.Mode()&fs.ModeSymlink != 0:
			mode |= 0o120000
			to, linkErr := os.Readlink(path)
			body, err = []byte(to), linkErr
		default:
			mode |= 0o100000
			body, err = os.ReadFile(path)
		}
		entry(short, mode, body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	entry("TRAILER!!!", 0, nil)
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
