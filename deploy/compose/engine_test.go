package compose

import (
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
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// patience bounds each wait. A scrape comes every 15 s.
const patience = 2 * time.Minute

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
	programtest.NeedSuperuser(t)
	// Before anything runs: a test that is skipped with programs starting would find that they did not end well.
	programtest.Need(t, "unshare", "nsenter", "setpriv", "ip", "make", "sh", "amtool", "bin/tools/prometheus", "bin/tools/promtool")
	programtest.Find(t, "alertmanager", "prometheus-alertmanager")
	e := &engine{project: project, dir: t.TempDir(), built: programtest.Build(t), volumes: map[string]string{}}
	// The folders of a test are for its own user only.
	for dir := e.dir; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
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
	name, _, _ := strings.Cut(image, ":")
	switch name {
	case "accelerator-exporter":
		return map[string]string{
			"/usr/local/bin/accelerator_exporter": e.built + "/accelerator_exporter",
			"/usr/local/bin/fakehost":             e.built + "/fakehost",
			"/usr/local/bin/fake/hccn_tool":       e.built + "/fakehost",
			"/usr/local/bin/fake/mx-smi":          e.built + "/fakehost",
			"/usr/local/bin/fake/npu-smi":         e.built + "/fakehost",
		}, []string{"/usr/local/bin/accelerator_exporter"}
	case "prom/prometheus":
		return map[string]string{ // Prometheus 3, whose configuration this is
			"/bin/prometheus": programtest.Find(t, "bin/tools/prometheus"),
			"/bin/promtool":   programtest.Find(t, "bin/tools/promtool"),
			"/bin/sh":         programtest.Find(t, "sh"),
		}, []string{"/bin/prometheus"}
	case "prom/alertmanager":
		return map[string]string{
			"/bin/alertmanager": programtest.Find(t, "alertmanager", "prometheus-alertmanager"),
			"/bin/amtool":       programtest.Find(t, "amtool"),
		}, []string{"/bin/alertmanager"}
	}
	t.Fatalf("nothing stands in for %s", image)
	return nil, nil
}

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
	programtest.Write(t, filepath.Join(root, "etc/hosts"), hosts.String())
	files, entrypoint := e.programs(t, s.Image)
	var mounts []programtest.Mount
	for target, source := range files {
		mounts = append(mounts, programtest.Mount{Source: source, Target: target})
	}
	// What is not static on this machine meets its libraries, Debian's Alertmanager its templates.
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/share/prometheus"} {
		if _, err := os.Stat(dir); err == nil {
			mounts = append(mounts, programtest.Mount{Source: dir, Target: dir})
		}
	}
	user := s.User
	if s.Build != nil {
		user = "65532:65532" // the image's
	}
	for _, v := range s.Volumes {
		source := v.Source
		if v.Type == types.VolumeTypeVolume {
			source = e.volume(t, v.Source, user)
		}
		mounts = append(mounts, programtest.Mount{Source: source, Target: v.Target, Writable: !v.ReadOnly})
	}
	if len(s.Entrypoint) > 0 {
		entrypoint = s.Entrypoint
	}
	if line == nil {
		line = slices.Concat(entrypoint, s.Command)
	}
	args := append([]string{"--net=/proc/" + strconv.Itoa(e.network) + "/ns/net"}, programtest.Chroot(t, root, user, mounts, line...)...)
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

// up starts a service until the test ends, and wants a clean end then.
func (e *engine) up(t *testing.T, name string) {
	t.Helper()
	service := programtest.Start(t, name, e.command(t, e.project.Services[name], nil))
	t.Cleanup(func() {
		if err := service.End(t); err != nil {
			t.Error(err)
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
	return programtest.GetWith(ctx, &client, url)
}

// decode asks for JSON.
func (e *engine) decode(t *testing.T, url string, into any) error {
	body, err := e.get(t.Context(), url)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(body), into)
}
