package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
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
	readme := programtest.Read(t, "README.md")
	programtest.Write(t, filepath.Join(dir, "api-key"), "secret\n")
	programtest.Write(t, filepath.Join(dir, "web.yml"), "basic_auth_users: {}\n")
	probes := regexp.MustCompile("(?s)```yaml\n(probes:.*?)```").FindStringSubmatch(readme)
	if probes == nil {
		t.Fatal("README.md has no file of probes")
	}
	here := func(text string) string { return strings.ReplaceAll(text, "/etc/accelerator_exporter", dir) }
	programtest.Write(t, filepath.Join(dir, "probes.yml"), here(probes[1]))

	flags := flagsIn(here(programtest.Read(t, "accelerator_exporter.default")))
	if len(flags) < 25 {
		t.Errorf("only %d flags in the environment file: %s", len(flags), flags)
	}
	succeed(t, filepath.Join(programs.Folder(t), "accelerator_exporter"), append(flags, "--config.check")...)

	for _, name := range []string{"README.md", "credentials.conf", "accelerator_exporter.socket"} {
		for _, flag := range flagsIn(programtest.Read(t, name)) {
			// 2 is a wrong command line; 1, a file that is not on this machine.
			if strings.HasSuffix(flag, ".command") || flag == "--web.systemd-socket" {
				continue // without its value; tried below
			}
			if out, status := run(t, filepath.Join(programs.Folder(t), "accelerator_exporter"), flag, "--config.check"); status == 2 {
				t.Errorf("%s: %s: %s", name, flag, out)
			}
		}
	}
}

// TestStart runs the unit's ExecStart with the unit's environment and the
// environment file, as another user without capabilities and new privileges.
func TestStart(t *testing.T) {
	programtest.Need(t, "setpriv", "sh")
	programtest.NeedSuperuser(t)
	dir := programs.Folder(t)
	address := programtest.FreeAddress(t)
	text := programtest.Read(t, unit)
	environment := filepath.Join(t.TempDir(), "default")
	// The folders of a test are for its own user only.
	if err := os.Chmod(filepath.Dir(filepath.Dir(environment)), 0o755); err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, environment, strings.Replace(programtest.Read(t, "accelerator_exporter.default"), `ARGS=""`,
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
	serve(t, cmd, address)
}

// TestSocket hands the exporter its port as the socket unit does.
func TestSocket(t *testing.T) {
	programtest.Need(t, "systemd-socket-activate")
	if got := setting(t, programtest.Read(t, "accelerator_exporter.socket"), "ListenStream"); got != "10068" {
		t.Errorf("ListenStream=%s", got)
	}
	dir, address := programs.Folder(t), programtest.FreeAddress(t)
	cmd := exec.CommandContext(t.Context(), "systemd-socket-activate", "--listen="+address, "--",
		filepath.Join(dir, "accelerator_exporter"), "--web.systemd-socket", "--collector.interval=200ms",
		"--collector.metax.command="+filepath.Join(dir, "fake/mx-smi"))
	cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+t.TempDir())
	serve(t, cmd, address)
}

// serve starts the exporter, waits for eight cards, stops it, and wants a clean end.
func serve(t *testing.T, cmd *exec.Cmd, address string) {
	t.Helper()
	exporter := programtest.Start(t, "the exporter", cmd)
	programtest.Eventually(t, patience, "cards", func() error {
		page, err := programtest.Get(t, "http://"+address+"/metrics")
		if err != nil {
			return err
		}
		for _, want := range []string{`accelerator_devices{vendor="metax"} 8`, `accelerator_collector_success{collector="numa"} 1`} {
			if !strings.Contains(page, want) {
				return fmt.Errorf("no %s in\n%s", want, page)
			}
		}
		return nil
	})
	if err := exporter.End(t); err != nil {
		t.Error(err)
	}
}
