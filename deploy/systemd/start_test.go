package systemd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// flagsIn are the flags that a text names, with the values it gives; of one that
// is named twice, the last.
func flagsIn(text string) []string {
	var flags []string
	for _, m := range regexp.MustCompile(`--((?:no-)?(?:web|collector|probe|config|log|path)\.[a-z.-]+(?:=[^\s"'\x60\\]+)?)`).FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(m[1], "=")
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "--"+name || strings.HasPrefix(f, "--"+name+"=") })
		flags = append(flags, "--"+m[1])
	}
	return flags
}

// TestFlags gives the program every flag that the environment file names, all at
// once, with files at the paths it names.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	readme := read(t, "README.md")
	write(t, filepath.Join(dir, "api-key"), "secret\n")
	write(t, filepath.Join(dir, "web.yml"), "basic_auth_users: {}\n")
	probes := regexp.MustCompile("(?s)```yaml\n(probes:.*?)```").FindStringSubmatch(readme)
	if probes == nil {
		t.Fatal("README.md has no file of probes")
	}
	here := func(text string) string { return strings.ReplaceAll(text, "/etc/accelerator_exporter", dir) }
	write(t, filepath.Join(dir, "probes.yml"), here(probes[1]))

	flags := flagsIn(here(read(t, "accelerator_exporter.default")))
	if len(flags) < 25 {
		t.Errorf("only %d flags in the environment file: %s", len(flags), flags)
	}
	succeed(t, filepath.Join(programs(t), "accelerator_exporter"), append(flags, "--config.check")...)

	for _, name := range []string{"README.md", "credentials.conf", "accelerator_exporter.socket"} {
		for _, flag := range flagsIn(read(t, name)) {
			// 2 is a wrong command line; 1, a file that is not on this machine.
			if strings.HasSuffix(flag, ".command") || flag == "--web.systemd-socket" {
				continue // without its value; tried below
			}
			if out, status := run(t, filepath.Join(programs(t), "accelerator_exporter"), flag, "--config.check"); status == 2 {
				t.Errorf("%s: %s: %s", name, flag, out)
			}
		}
	}
}

// TestStart runs the unit's ExecStart with the unit's environment and the
// environment file, as another user without capabilities and new privileges.
func TestStart(t *testing.T) {
	need(t, "setpriv", "sh")
	if os.Geteuid() != 0 {
		lacking(t, "root")
	}
	dir := programs(t)
	address := freeAddress(t)
	text := read(t, unit)
	environment := filepath.Join(t.TempDir(), "default")
	// The folders of a test are for its own user only.
	if err := os.Chmod(filepath.Dir(filepath.Dir(environment)), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, environment, strings.Replace(read(t, "accelerator_exporter.default"), `ARGS=""`,
		`ARGS="--web.listen-address=`+address+` \
--collector.metax --collector.interval=200ms"`, 1))

	// The shell reads this file, which keeps to what both understand, as systemd does.
	line := strings.Replace(setting(t, text, "ExecStart"), program, filepath.Join(dir, "accelerator_exporter"), 1)
	cmd := exec.CommandContext(t.Context(), "setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "--no-new-privs",
		"--bounding-set=-all", "--inh-caps=-all", "sh", "-c", ". "+environment+"; exec "+line)
	for _, m := range regexp.MustCompile(`(?m)^Environment=(.*)$`).FindAllStringSubmatch(text, -1) {
		cmd.Env = append(cmd.Env, m[1])
	}
	// The stand-in is where the driver would put the tool: on the unit's PATH.
	cmd.Env[0] = strings.ReplaceAll(cmd.Env[0], "/opt/mxdriver/bin", filepath.Join(dir, "fake"))
	cmd.Env = append(cmd.Env, "FAKEHOST_STATE="+t.TempDir())
	log := &locked{}
	cmd.Stdout, cmd.Stderr = log, log
	serve(t, cmd, log, address)
}

// TestSocket hands the exporter its port as the socket unit does.
func TestSocket(t *testing.T) {
	need(t, "systemd-socket-activate")
	if got := setting(t, read(t, "accelerator_exporter.socket"), "ListenStream"); got != "10068" {
		t.Errorf("ListenStream=%s", got)
	}
	dir, address, log := programs(t), freeAddress(t), &locked{}
	cmd := exec.CommandContext(t.Context(), "systemd-socket-activate", "--listen="+address, "--",
		filepath.Join(dir, "accelerator_exporter"), "--web.systemd-socket", "--collector.interval=200ms",
		"--collector.metax.command="+filepath.Join(dir, "fake/mx-smi"))
	cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+t.TempDir())
	cmd.Stdout, cmd.Stderr = log, log
	serve(t, cmd, log, address)
}

// serve starts the exporter, waits for eight cards, stops it, and wants a clean end.
func serve(t *testing.T, cmd *exec.Cmd, log *locked, address string) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func(sig os.Signal) error {
		_ = cmd.Process.Signal(sig)
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Second): // the unit's TimeoutStopSec
			_ = cmd.Process.Kill()
			return fmt.Errorf("still there; %w", <-ended)
		}
	}
	const want = `accelerator_devices{vendor="metax"} 8`
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		page, err := get(t.Context(), "http://"+address+"/metrics")
		if err == nil && strings.Contains(page, want) && strings.Contains(page, `accelerator_collector_success{collector="numa"} 1`) {
			break
		}
		if time.Now().After(deadline) {
			_ = stop(syscall.SIGKILL)
			t.Fatalf("no cards: %v\n%s%s", err, page, log)
		}
	}
	if err := stop(syscall.SIGTERM); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
}

func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
