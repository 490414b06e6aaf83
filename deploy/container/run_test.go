package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mount is a file or folder of the host at a place in the container.
type mount struct {
	source, target string
	writable       bool
}

// script mounts as an engine does, in a mount namespace of its own that ends
// with the program: the root read-only, the process and system trees, /dev/null,
// and what was asked for. Then it becomes the program.
const script = `set -eu
root=$1 user=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
	mount --rbind "$1" "$root$2"
	[ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
	shift 3
done
shift
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --bind /dev/null "$root/dev/null"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$user" --groups= "$root" "$@"
`

// container is a running program of the image.
type container struct {
	cmd     *exec.Cmd
	log     *locked
	ended   chan error
	stopped bool
}

// start runs the entry point of an image that is unpacked at root.
func start(t *testing.T, i image, root string, mounts []mount, entrypoint []string, args ...string) *container {
	t.Helper()
	for _, dir := range []string{"proc", "sys", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	line := []string{"--mount", "sh", "-c", script, "sh", root, i.Config.User}
	for _, m := range append(mounts, mount{"/dev/null", "/dev/null", true}) {
		mountPoint(t, root, m)
		mode := "ro"
		if m.writable {
			mode = "rw"
		}
		line = append(line, m.source, m.target, mode)
	}
	if len(entrypoint) == 0 {
		entrypoint = i.Config.Entrypoint
	}
	line = append(append(append(line, "--"), entrypoint...), args...)
	c := &container{cmd: exec.CommandContext(t.Context(), "unshare", line...), log: &locked{}, ended: make(chan error, 1)}
	c.cmd.Env = i.Config.Env
	for n, v := range c.cmd.Env {
		// The programs on the way into the container are this machine's.
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			c.cmd.Env[n] = "PATH=" + path + ":/usr/sbin:/sbin"
		}
	}
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.ended <- c.cmd.Wait() }()
	t.Cleanup(func() {
		if !c.stopped {
			_ = c.cmd.Process.Kill()
			<-c.ended
		}
		if t.Failed() {
			t.Logf("the container's log:\n%s", c.log)
		}
	})
	return c
}

// mountPoint makes what a mount covers, as engines do.
func mountPoint(t *testing.T, root string, m mount) {
	t.Helper()
	info, err := os.Stat(m.source)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(root, m.target)
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		err = os.WriteFile(target, nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stop sends SIGTERM and wants the clean end that docker stop waits 10 s for.
func (c *container) stop(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.ended:
		c.stopped = true
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("still there 5 s after SIGTERM")
	}
}

// testRunning starts the image with nothing mounted.
func testRunning(t *testing.T, i image, root string) {
	address := freeAddress(t)
	c := start(t, i, root, nil, nil, "--web.listen-address="+address,
		"--collector.metax.command=/usr/local/bin/fake/mx-smi", "--collector.interval=200ms")
	eventually(t, contains(t, "http://"+address+"/metrics",
		`accelerator_devices{vendor="metax"} 8`,
		`accelerator_collector_success{collector="metax"} 1`,
		`accelerator_collector_success{collector="numa"} 1`,
		`accelerator_numa_memory_total_bytes{node="0"}`,
		`accelerator_exporter_build_info{`,
	))
	if err := contains(t, "http://"+address+"/-/ready", "ready")(); err != nil {
		t.Error(err)
	}
	confined(t, c.cmd.Process.Pid)
	c.stop(t)
}

// confined reads from the kernel what a process may do.
func confined(t *testing.T, pid int) {
	t.Helper()
	status := read(t, fmt.Sprintf("/proc/%d/status", pid))
	for _, want := range []string{
		`(?m)^Uid:\s65532\s65532\s65532\s65532$`, `(?m)^Gid:\s65532\s65532\s65532\s65532$`,
		`(?m)^Groups:\s*$`, `(?m)^CapEff:\s0+$`, `(?m)^CapPrm:\s0+$`, `(?m)^NoNewPrivs:\s1$`,
	} {
		if !regexp.MustCompile(want).MatchString(status) {
			t.Errorf("no %s in\n%s", want, status)
		}
	}
	mounts := read(t, fmt.Sprintf("/proc/%d/mountinfo", pid))
	if !regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ / ro[ ,]`).MatchString(mounts) {
		t.Errorf("the root is not read-only:\n%s", mounts)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	write(t, to, read(t, from))
}

// firstMatch is the first group of a pattern that must be in a text.
func firstMatch(t *testing.T, text, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("no %s", pattern)
	}
	return match[1]
}
