package systemd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// TestHardening holds what the score of TestExposure forgives when it is lost.
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

// TestExposure holds the score of systemd-analyze security. It is that of systemd
// 252; a newer one may know more to ask for, hence the slack.
func TestExposure(t *testing.T) {
	programtest.Need(t, "systemd-analyze")
	const slack = 3 // tenths
	for _, c := range []struct {
		dropIn string
		tenths int
	}{
		{"", 16}, {"root.conf", 22}, {"find-cards.conf", 22}, {"credentials.conf", 16},
	} {
		t.Run(c.dropIn, func(t *testing.T) {
			text := programtest.Read(t, unit)
			if c.dropIn != "" {
				text += "\n" + programtest.Read(t, c.dropIn)
			}
			file := filepath.Join(t.TempDir(), unit)
			programtest.Write(t, file, text)
			if figure := fmt.Sprintf("%d.%d", c.tenths/10, c.tenths%10); !strings.Contains(programtest.Read(t, "README.md"), " "+figure) {
				t.Errorf("README.md does not say %s", figure)
			}
			threshold := strconv.Itoa(c.tenths + slack)
			out, status := run(t, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+threshold, file)
			if status != 0 {
				t.Errorf("exit status %d\n%s", status, out)
			}
			t.Log(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
		})
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

// TestDevices holds the unit to the devices that the tools need, and the
// container's README to the same.
func TestDevices(t *testing.T) {
	text := programtest.Read(t, unit)
	if got := setting(t, text, "DevicePolicy"); got != "closed" {
		t.Errorf("DevicePolicy=%s", got)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^DeviceAllow=(.*)$`).FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	want := []string{
		"char-drm rw", "/dev/mxcd rw", "/dev/htcd rw",
		"char-*devdrv-cdev rw", "/dev/davinci_manager rw", "/dev/devmm_svm rw", "/dev/hisi_hdc rw",
	}
	if !slices.Equal(got, want) {
		t.Errorf("DeviceAllow= %q, want %q", got, want)
	}
}

// TestAsTheService: the lines that run a tool by hand have the service's whole
// PATH, and a shell that looks the tool up in it: systemd-run and sudo would
// look in the caller's.
func TestAsTheService(t *testing.T) {
	environment := regexp.MustCompile(`(?m)^Environment=PATH=(\S+)$`).FindStringSubmatch(programtest.Read(t, unit))
	if environment == nil {
		t.Fatal("the unit has no PATH")
	}
	for name, pattern := range map[string]string{
		"README.md":                     `(?s)\nsystemd-run [^\n]*--uid=accelerator_exporter .*?--setenv=PATH=(\S+) .*\n +(sh[^\n#]*?) +# or mx-smi\n` + "```",
		"../../docs/troubleshooting.md": `(?s)\nsudo -u accelerator_exporter env -i PATH=(\S+) .*?\n +(sh[^;\n]*);[^\n]*\n` + "```",
	} {
		line := regexp.MustCompile(pattern).FindStringSubmatch(programtest.Read(t, name))
		if line == nil {
			t.Fatalf("%s runs no tool", name)
		}
		if line[1] != environment[1] {
			t.Errorf("%s has PATH=%s, want %s", name, line[1], environment[1])
		}
		if line[2] != "sh -c 'npu-smi info'" {
			t.Errorf("%s runs %s", name, line[2])
		}
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

// TestNames: every file that README.md and the header of the unit install is here.
func TestNames(t *testing.T) {
	sources := regexp.MustCompile(`(?m)^#?\s*install (?:-D )?-m \d+ (\S+) /\S+`)
	for name, least := range map[string]int{"README.md": 4, unit: 4, "root.conf": 1, "find-cards.conf": 1, "credentials.conf": 1, "accelerator_exporter.socket": 1} {
		files := sources.FindAllStringSubmatch(programtest.Read(t, name), -1)
		if len(files) < least {
			t.Errorf("%s installs %d files, want %d or more", name, len(files), least)
		}
		for _, m := range files {
			if strings.TrimPrefix(m[1], "bin/") == "accelerator_exporter" {
				continue // the program, which is built
			}
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
