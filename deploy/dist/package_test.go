//go:build e2e

package dist

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const (
	packageName = "accelerator-exporter"
	unit        = "accelerator_exporter.service"
	conffile    = "etc/default/accelerator_exporter"
	share       = "usr/share/" + packageName
	papers      = "usr/share/doc/" + packageName
)

func packageFile(t *testing.T, out, architecture string) string {
	t.Helper()
	return filepath.Join(out, packageName+"_"+version(t)+"_"+architecture+".deb")
}

// settings are the lines of a unit that do something.
func settings(text string) string {
	return regexp.MustCompile(`(?m)^(#.*)?\n`).ReplaceAllString(text, "")
}

// testPackage: the package says what it is, and has each file where systemd, the
// shells and README.md look for it.
func testPackage(t *testing.T, out, architecture string) {
	file := packageFile(t, out, architecture)
	for field, want := range map[string]string{
		"Package": packageName, "Version": version(t), "Architecture": architecture, "Depends": "systemd",
	} {
		if got := strings.TrimSpace(output(t, out, nil, "dpkg-deb", "--field", file, field)); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	if got := output(t, out, nil, "dpkg-deb", "--info", file, "conffiles"); got != "/"+conffile+"\n" {
		t.Errorf("conffiles %q", got)
	}
	entries := readTar(t, file, strings.NewReader(output(t, out, nil, "dpkg-deb", "--fsys-tarfile", file)))
	for path, source := range map[string]string{
		"usr/lib/systemd/system/accelerator_exporter.socket": "accelerator_exporter.socket",
		"usr/lib/sysusers.d/accelerator_exporter.conf":       "accelerator_exporter.sysusers",
		conffile:                            "accelerator_exporter.default",
		share + "/deploy/systemd/root.conf": "root.conf",
		"usr/share/bash-completion/completions/accelbench":    "",
		"usr/share/zsh/vendor-completions/_accelbench":        "",
		"usr/share/fish/vendor_completions.d/accelbench.fish": "",
		papers + "/copyright":                                 "",
	} {
		e, ok := entries[path]
		if !ok || (source != "" && string(e.data) != programtest.Read(t, "../systemd/"+source)) {
			t.Errorf("%s is missing or differs", path)
		}
	}
	ours := strings.ReplaceAll(programtest.Read(t, "../systemd/"+unit), "/usr/local/bin/accelerator_exporter ", "/usr/bin/accelerator_exporter ")
	if diff := cmp.Diff(settings(ours), settings(string(entries["usr/lib/systemd/system/"+unit].data))); diff != "" {
		t.Errorf("the unit (-deploy/systemd +package):\n%s", diff)
	}
	sameAsTree(t, entries, share, []string{"README.md", "CHANGELOG.md", "dashboards/grafana/*.json", "deploy/prometheus/rules/*.yml", "docs/*.md"})
	for _, name := range []string{"accelerator_exporter", "accelbench"} {
		checkProgram(t, entries["usr/bin/"+name], architecture)
	}
	for name := range entries {
		if strings.HasPrefix(name, "usr/local") || strings.Contains(name, "fakehost") || strings.HasPrefix(name, share+"/deploy/systemd/accelerator_exporter.") {
			t.Errorf("%s has no place in a package", name)
		}
	}
	checkChangelog(t, entries[papers+"/changelog.gz"])
}

func checkChangelog(t *testing.T, e entry) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(e.data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), packageName+" ("+version(t)+") ") || !strings.HasSuffix(string(text), "  Tue, 14 Nov 2023 22:13:20 +0000\n") {
		t.Errorf("changelog\n%s", text)
	}
}

// testInstalled installs the package into a folder that dpkg takes for a system,
// upgrades, removes and purges it. lintian looks at it where it is installed; CI goes without.
func testInstalled(t *testing.T, out string) {
	programtest.NeedSuperuser(t)
	programtest.Need(t, "dpkg", "systemd-sysusers", "systemd-analyze")
	system := t.TempDir()
	for name, text := range map[string]string{
		"var/lib/dpkg/status": "", "var/lib/dpkg/available": "",
		"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\nvideo:x:44:\nrender:x:105:\n",
	} {
		programtest.Write(t, filepath.Join(system, name), text)
	}
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.Mkdir(filepath.Join(system, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) {
		t.Helper()
		output(t, out, nil, append([]string{"dpkg", "--root=" + system, "--log=/dev/null", "--force-depends", "--force-architecture", "--force-script-chrootless"}, args...)...)
	}
	read := func(name string) string {
		t.Helper()
		return programtest.Read(t, filepath.Join(system, name))
	}
	file := packageFile(t, out, strings.TrimSpace(output(t, out, nil, "dpkg", "--print-architecture")))
	if lintian, err := exec.LookPath("lintian"); err == nil {
		output(t, out, nil, lintian, "--fail-on=error,warning", file)
	}
	dpkg("--install", file)
	if users, groups := read("etc/passwd"), read("etc/group"); !strings.Contains(users, "\naccelerator_exporter:") || !strings.Contains(groups, "\nvideo:x:44:accelerator_exporter\n") {
		t.Errorf("no user or no group for it:\n%s%s", users, groups)
	}
	checkVersion(t, filepath.Join(system, "usr/bin/accelerator_exporter"))
	checkVersion(t, filepath.Join(system, "usr/bin/accelbench"))
	verifyUnit(t, system)
	if damaged := output(t, out, nil, "dpkg", "--root="+system, "--verify", packageName); damaged != "" {
		t.Errorf("dpkg --verify: %s", damaged)
	}

	const flags = "ARGS=\"--collector.metax\"\n"
	programtest.Write(t, filepath.Join(system, conffile), flags)
	dpkg("--install", file)
	dpkg("--remove", packageName)
	if got := read(conffile); got != flags {
		t.Errorf("the flags are gone: %s", got)
	}
	dpkg("--purge", packageName)
	for _, path := range []string{"usr", conffile} {
		if _, err := os.Stat(filepath.Join(system, path)); !os.IsNotExist(err) {
			t.Errorf("%s is left behind, %v", path, err)
		}
	}
}

// verifyUnit has systemd read the unit where the package has put it. The path of its
// program, which is none of this machine's, is looked for in the folder.
func verifyUnit(t *testing.T, system string) {
	t.Helper()
	units := filepath.Join(system, "usr/lib/systemd/system")
	text := programtest.Read(t, filepath.Join(units, unit))
	started := regexp.MustCompile(`(?m)^ExecStart=(\S+)`).FindStringSubmatch(text)
	if started == nil {
		t.Fatal("the unit starts nothing")
	}
	dir := t.TempDir()
	programtest.Write(t, filepath.Join(dir, unit), strings.Replace(text, started[0], "ExecStart="+filepath.Join(system, started[1]), 1))
	programtest.Write(t, filepath.Join(dir, "accelerator_exporter.socket"), programtest.Read(t, filepath.Join(units, "accelerator_exporter.socket")))
	if text := output(t, dir, nil, "systemd-analyze", "verify", "--recursive-errors=no", "--man=no", filepath.Join(dir, unit), filepath.Join(dir, "accelerator_exporter.socket")); text != "" {
		t.Errorf("systemd-analyze verify: %s", text)
	}
	environment := regexp.MustCompile(`(?m)^EnvironmentFile=-(\S+)$`).FindStringSubmatch(text)
	if environment == nil || environment[1] != "/"+conffile {
		t.Errorf("the unit reads its flags from %q", environment)
	}
}
