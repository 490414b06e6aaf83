package systemd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// installed is a folder with the unit, its socket and drop-ins as they lie in
// /etc/systemd/system, with a program at the path that ExecStart names.
func installed(t *testing.T, dropIns ...string) string {
	t.Helper()
	dir := t.TempDir()
	stand := filepath.Join(dir, "accelerator_exporter")
	programtest.Write(t, stand, "#!/bin/sh\n")
	if err := os.Chmod(stand, 0o755); err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, filepath.Join(dir, unit), strings.ReplaceAll(programtest.Read(t, unit), program, stand))
	programtest.Write(t, filepath.Join(dir, "accelerator_exporter.socket"), programtest.Read(t, "accelerator_exporter.socket"))
	for _, name := range dropIns {
		programtest.Write(t, filepath.Join(dir, unit+".d", name), programtest.Read(t, name))
	}
	return dir
}

func verify(t *testing.T, dir string) (string, int) {
	t.Helper()
	return run(t, "systemd-analyze", "verify", "--recursive-errors=no", "--man=no",
		filepath.Join(dir, unit), filepath.Join(dir, "accelerator_exporter.socket"))
}

func TestVerify(t *testing.T) {
	programtest.Need(t, "systemd-analyze")
	for _, with := range [][]string{nil, {"root.conf"}, {"find-cards.conf"}, {"credentials.conf"}, dropIns} {
		t.Run(strings.Join(with, "+"), func(t *testing.T) {
			if out, status := verify(t, installed(t, with...)); status != 0 || out != "" {
				t.Errorf("exit status %d\n%s", status, out)
			}
		})
	}
	t.Run("a mistake is seen", func(t *testing.T) {
		dir := installed(t)
		programtest.Write(t, filepath.Join(dir, unit+".d", "wrong.conf"), "[Service]\nProtectEverything=yes\n")
		if out, status := verify(t, dir); status == 0 {
			t.Errorf("a drop-in with an unknown key passes:\n%s", out)
		}
	})
}

// TestHardening holds the restrictions that docs/security.md promises.
func TestHardening(t *testing.T) {
	text := programtest.Read(t, unit)
	for key, want := range map[string]string{
		"User":                    "accelerator_exporter",
		"ProtectSystem":           "strict",
		"ProtectHome":             "yes",
		"PrivateTmp":              "yes",
		"NoNewPrivileges":         "yes",
		"CapabilityBoundingSet":   "",
		"DevicePolicy":            "closed",
		"LimitCORE":               "0",
		"MemoryMax":               "256M",
		"TasksMax":                "256",
		"RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX AF_NETLINK",
	} {
		if got := setting(t, text, key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
}

func TestSysusers(t *testing.T) {
	programtest.Need(t, "systemd-sysusers")
	programtest.NeedSuperuser(t)
	root := t.TempDir()
	programtest.Write(t, filepath.Join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\n")
	programtest.Write(t, filepath.Join(root, "etc/group"), "root:x:0:\nvideo:x:44:\nrender:x:105:\n")
	programtest.Write(t, filepath.Join(root, "usr/lib/sysusers.d/accelerator_exporter.conf"), programtest.Read(t, "accelerator_exporter.sysusers"))
	succeed(t, "systemd-sysusers", "--root="+root)
	user, group := programtest.Read(t, filepath.Join(root, "etc/passwd")), programtest.Read(t, filepath.Join(root, "etc/group"))
	for _, want := range []string{setting(t, programtest.Read(t, unit), "User"), setting(t, programtest.Read(t, unit), "Group")} {
		if !strings.Contains(user, "\n"+want+":") || !strings.Contains(group, "\n"+want+":") {
			t.Errorf("no user or group %s in\n%s%s", want, user, group)
		}
	}
	for _, want := range []string{"video:x:44:accelerator_exporter\n", "render:x:105:accelerator_exporter\n"} {
		if !strings.Contains(group, want) {
			t.Errorf("no %q in\n%s", want, group)
		}
	}
	if !regexp.MustCompile(`(?m)^accelerator_exporter:.*:\S*/nologin$`).MatchString(user) {
		t.Errorf("the user may log in:\n%s", user)
	}
}

// TestLibraryPath: what npu-smi needs is the same wherever it is written.
func TestLibraryPath(t *testing.T) {
	const want = "/usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver"
	for name, pattern := range map[string]string{
		unit:                            `(?m)^Environment=LD_LIBRARY_PATH=(\S+)$`,
		"accelerator_exporter.default":  `(?m)^#LD_LIBRARY_PATH=(\S+)$`,
		"README.md":                     `--setenv=LD_LIBRARY_PATH=(\S+)`,
		"../container/Dockerfile":       `(?m)^ENV LD_LIBRARY_PATH=(\S+)$`,
		"../../docs/troubleshooting.md": `(?m)^ +LD_LIBRARY_PATH=(\S+) `,
	} {
		m := regexp.MustCompile(pattern).FindStringSubmatch(programtest.Read(t, name))
		if m == nil || m[1] != want {
			t.Errorf("%s has %q", name, m)
		}
	}
}
