// Package systemd checks the unit and its files with systemd's own programs, and
// runs the exporter as the unit does.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const (
	unit    = "accelerator_exporter.service"
	socket  = "accelerator_exporter.socket"
	program = "/usr/local/bin/accelerator_exporter" // where the unit has it
)

// TestVerify: systemd accepts the unit, its socket and each drop-in as they lie in /etc/systemd/system.
func TestVerify(t *testing.T) {
	programtest.Need(t, "systemd-analyze")
	for _, dropIns := range [][]string{nil, {"root.conf"}, {"find-cards.conf"}, {"devices.conf"}, {"credentials.conf"}, {"root.conf", "find-cards.conf", "devices.conf", "credentials.conf"}} {
		dir := t.TempDir()
		stand := filepath.Join(dir, "accelerator_exporter")
		programtest.WriteScript(t, stand, "")
		programtest.Write(t, filepath.Join(dir, unit), strings.ReplaceAll(programtest.Read(t, unit), program, stand))
		programtest.Write(t, filepath.Join(dir, socket), programtest.Read(t, socket))
		for _, name := range dropIns {
			programtest.Write(t, filepath.Join(dir, unit+".d", name), programtest.Read(t, name))
		}
		out, status := programtest.Status(t, nil, "systemd-analyze", "verify", "--recursive-errors=no", "--man=no", filepath.Join(dir, unit), filepath.Join(dir, socket))
		if status != 0 || out != "" {
			t.Errorf("with %q: exit status %d\n%s", dropIns, status, out)
		}
	}
}

// TestFlags gives the program each flag that the unit's files and README.md name.
func TestFlags(t *testing.T) {
	flag := regexp.MustCompile(`--(?:no-)?(?:web|collector|probe|config|log|path)\.[a-z.-]+(?:=[^\s"'\x60\\]+)?`)
	exporter := filepath.Join(programtest.Build(t), "accelerator_exporter")
	for _, name := range []string{"accelerator_exporter.default", "README.md", "credentials.conf", socket} {
		found := flag.FindAllString(programtest.Read(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s names no flag", name)
		}
		for _, f := range found {
			if strings.HasSuffix(f, ".command") || f == "--web.systemd-socket" {
				continue // without its value; tried below
			}
			// 2 is a wrong command line; 1, a file that is not on this machine.
			if out, status := programtest.Status(t, nil, exporter, f, "--config.check"); status == 2 {
				t.Errorf("%s: %s: %s", name, f, out)
			}
		}
	}
}

// TestStart runs the unit's ExecStart with the unit's environment and the
// environment file, as another user without capabilities and new privileges.
func TestStart(t *testing.T) {
	programtest.Need(t, "setpriv", "sh")
	programtest.NeedSuperuser(t)
	dir, address := programtest.Build(t), programtest.FreeAddress(t)
	environment := filepath.Join(dir, "default") // other users enter this folder
	programtest.Write(t, environment, strings.Replace(programtest.Read(t, "accelerator_exporter.default"), `ARGS=""`,
		`ARGS="--web.listen-address=`+address+` \
--collector.metax --collector.interval=200ms"`, 1))

	// The shell reads this file, which keeps to what both understand, as systemd does.
	text := programtest.Read(t, unit)
	line := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(text)[1]
	line = strings.Replace(line, program, filepath.Join(dir, "accelerator_exporter"), 1)
	cmd := exec.CommandContext(t.Context(), "setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "--no-new-privs",
		"--bounding-set=-all", "--inh-caps=-all", "sh", "-c", ". "+environment+"; exec "+line)
	for _, m := range regexp.MustCompile(`(?m)^Environment=(.*)$`).FindAllStringSubmatch(text, -1) {
		// The stand-in is where the driver would put the tool: on the unit's PATH.
		cmd.Env = append(cmd.Env, strings.ReplaceAll(m[1], "/opt/mxdriver/bin", filepath.Join(dir, "fake")))
	}
	cmd.Env = append(cmd.Env, "FAKEHOST_STATE="+t.TempDir())
	serve(t, cmd, address)
}

// TestSocket hands the exporter its port as the socket unit does.
func TestSocket(t *testing.T) {
	programtest.Need(t, "systemd-socket-activate")
	dir, address := programtest.Build(t), programtest.FreeAddress(t)
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
	programtest.Eventually(t, time.Minute, "cards", func() error {
		return programtest.PageHas(t, "http://"+address+"/metrics", `accelerator_devices{vendor="metax"} 8`, `accelerator_collector_success{collector="numa"} 1`)
	})
	if err := exporter.End(t); err != nil {
		t.Error(err)
	}
}
