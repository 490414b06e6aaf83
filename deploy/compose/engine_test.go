package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"golang.org/x/sys/unix"
)

// patience bounds each wait. A scrape comes every 15 s.
const patience = 2 * time.Minute

// lacking skips a test where it cannot run, except in CI, which must have everything.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("CI lacks", what)
	}
	t.Skip("needs", what)
}

// engine runs services of a project with this machine's programs: each in a
// root of its own with its mounts, read-only, as its user, all in one network
// where each service's name is the loopback address.
type engine struct {
	project *types.Project
	dir     string
	network int    // PID of who holds it
	built   string // folder of this repository's programs
	volumes map[string]string
}

func newEngine(t *testing.T, project *types.Project) *engine {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking(t, "root")
	}
	for _, p := range []string{"unshare", "nsenter", "setpriv", "ip", "make"} {
		if _, err := exec.LookPath(p); err != nil {
			lacking(t, p)
		}
	}
	e := &engine{project: project, dir: t.TempDir(), volumes: map[string]string{}}
	// The folders of a test are for its own user only.
	for dir := e.dir; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e.built = filepath.Join(e.dir, "bin")
	if out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "build", "BIN="+e.built).CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	holder := exec.CommandContext(t.Context(), "unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600")
	up := make([]byte, 2)
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err == nil {
		_, err = io.ReadFull(out, up)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	e.network = holder.Process.Pid
	return e
}

// programs are the files of this machine that stand in for an image's.
func (e *engine) programs(t *testing.T, image string) (files map[string]string, entrypoint []string) {
	t.Helper()
	path := func(names ...string) string {
		for _, name := range names {
			if found, err := exec.LookPath(name); err == nil {
				return found
			}
		}
		lacking(t, names[len(names)-1])
		return ""
	}
	tool := func(name string) string {
		built, err := filepath.Abs("../../bin/tools/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return path(built) // Prometheus 3, whose configuration this is
	}
	name, _, _ := strings.Cut(image, ":")
	switch name {
	case "accelerator-exporter":
		return map[string]string{
			"/usr/local/bin/accelerator_exporter": e.built + "/accelerator_exporter",
			"/usr/local/bin/fakehost":             e.built + "/fakehost",
			"/usr/local/bin/fake/mx-smi":          e.built + "/fakehost",
			"/usr/local/bin/fake/npu-smi":         e.built + "/fakehost",
		}, []string{"/usr/local/bin/accelerator_exporter"}
	case "prom/prometheus":
		return map[string]string{"/bin/prometheus": tool("prometheus"), "/bin/promtool": tool("promtool"), "/bin/sh": path("sh")}, []string{"/bin/prometheus"}
	case "prom/alertmanager":
		return map[string]string{
			"/bin/alertmanager": path("alertmanager", "prometheus-alertmanager"), "/bin/amtool": path("amtool"),
		}, []string{"/bin/alertmanager"}
	}
	t.Fatalf("nothing stands in for %s", image)
	return nil, nil
}

// script makes the container: mounts, then the program in its place.
const script = `set -eu
root=$1 user=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
	mount --bind "$1" "$root$2"
	[ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
	shift 3
done
shift
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$user" --groups= "$root" "$@"
`

// command is what runs in a service's container.
func (e *engine) command(t *testing.T, s types.ServiceConfig, line []string) *exec.Cmd {
	t.Helper()
	root, err := os.MkdirTemp(e.dir, s.Name+"-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	var hosts strings.Builder
	for _, name := range e.project.ServiceNames() {
		fmt.Fprintf(&hosts, "127.0.0.1 %s\n", name)
	}
	hostsFile := filepath.Join(root, "etc/hosts")
	if err := errors.Join(os.MkdirAll(filepath.Dir(hostsFile), 0o755), os.WriteFile(hostsFile, []byte(hosts.String()), 0o644)); err != nil {
		t.Fatal(err)
	}
	files, entrypoint := e.programs(t, s.Image)
	mounts := []string{}
	add := func(source, target, mode string) {
		e.mountPoint(t, source, filepath.Join(root, target))
		mounts = append(mounts, source, target, mode)
	}
	for target, source := range files {
		add(source, target, "ro")
	}
	// What is not static on this machine meets its libraries, Debian's Alertmanager its templates.
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/share/prometheus"} {
		if _, err := os.Stat(dir); err == nil {
			add(dir, dir, "ro")
		}
	}
	add("/dev/null", "/dev/null", "rw")
	user := s.User
	if s.Build != nil {
		user = "65532:65532" // the image's
	}
	for _, v := range s.Volumes {
		source, mode := v.Source, "ro"
		if v.Type == types.VolumeTypeVolume {
			source = e.volume(t, v.Source, user)
		}
		if !v.ReadOnly {
			mode = "rw"
		}
		add(source, v.Target, mode)
	}
	for _, dir := range []string{"proc", "sys"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Entrypoint) > 0 {
		entrypoint = s.Entrypoint
	}
	if line == nil {
		line = slices.Concat(entrypoint, s.Command)
	}
	args := []string{"--net=/proc/" + strconv.Itoa(e.network) + "/ns/net", "unshare", "--mount", "sh", "-c", script, "sh", root, user}
	args = slices.Concat(args, mounts, []string{"--"}, line)
	// Not the test's context: it ends before the clean-up that stops the service.
	cmd := exec.CommandContext(context.Background(), "nsenter", args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	for name, value := range s.Environment {
		cmd.Env = append(cmd.Env, name+"="+*value)
	}
	return cmd
}

// volume is the folder of a named volume. The first service that writes it owns it.
func (e *engine) volume(t *testing.T, name, user string) string {
	t.Helper()
	if dir := e.volumes[name]; dir != "" {
		return dir
	}
	dir := filepath.Join(e.dir, "volume-"+name)
	uid, _, _ := strings.Cut(user, ":")
	n, err := strconv.Atoi(uid)
	if err = errors.Join(err, os.Mkdir(dir, 0o755), os.Chown(dir, n, n)); err != nil {
		t.Fatal(err)
	}
	e.volumes[name] = dir
	return dir
}

func (e *engine) mountPoint(t *testing.T, source, target string) {
	t.Helper()
	info, err := os.Stat(source)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		err = os.WriteFile(target, nil, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// up starts a service until the test ends, and wants a clean end then.
func (e *engine) up(t *testing.T, name string) {
	t.Helper()
	log := &locked{}
	cmd := e.command(t, e.project.Services[name], nil)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			t.Errorf("%s: still there 10 s after SIGTERM", name)
			<-ended
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, log)
		}
	})
}

// run runs a command in a service's container to its end.
func (e *engine) run(t *testing.T, name string, line []string) error {
	t.Helper()
	out, err := e.command(t, e.project.Services[name], line).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// get asks for a URL from inside the project's network.
func (e *engine) get(ctx context.Context, url string) (string, error) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		// The thread stays in that network, so it ends with this goroutine.
		type result struct {
			conn net.Conn
			err  error
		}
		done := make(chan result, 1)
		go func() {
			runtime.LockOSThread()
			space, err := os.Open("/proc/" + strconv.Itoa(e.network) + "/ns/net")
			if err == nil {
				err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET)
			}
			if err != nil {
				done <- result{nil, err}
				return
			}
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			done <- result{conn, err}
		}()
		r := <-done
		return r.conn, r.err
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// decode asks for JSON.
func (e *engine) decode(t *testing.T, url string, into any) error {
	body, err := e.get(t.Context(), url)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(body), into)
}

func eventually(t *testing.T, condition func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// locked is a buffer that a running program writes and a test reads.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
