//go:build e2e

// Package dist builds a release, looks at every file of it, and installs its packages.
package dist

import (
	"debug/buildinfo"
	"debug/elf"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const (
	root     = "../.."
	revision = "0123456789ab" // of the builds in these tests
)

// architectures are those of a release, with what a program says of itself.
var architectures = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// format is a kind of package: its file, what it says of itself, and commands on $PACKAGE and the system in $ROOT.
type format struct{ file, says, ask, install, verify, remove, kept string }

// Debian has no apk: the archive is unpacked, and its script is run.
var formats = []format{{
	file: "accelerator-exporter_VERSION_ARCH.deb", says: "accelerator-exporter VERSION ARCH systemd",
	ask:     `dpkg-deb --show --showformat='${Package} ${Version} ${Architecture} ${Depends}' "$PACKAGE"`,
	install: `dpkg --root="$ROOT" --log=/dev/null --force-depends --force-architecture --install "$PACKAGE"`,
	verify:  `dpkg --root="$ROOT" --verify accelerator-exporter`,
	remove:  `dpkg --root="$ROOT" --log=/dev/null --remove accelerator-exporter`,
	kept:    "etc/default/accelerator_exporter",
}, {
	file: "accelerator-exporter-VERSION-1.MACHINE.rpm", says: "accelerator-exporter VERSION MACHINE systemd cn", // one file is configuration, which no version replaces
	ask:     `rpm --query --queryformat '%{NAME} %{VERSION} %{ARCH} [%{REQUIRES}] [%{FILEFLAGS:fflags}]' --package "$PACKAGE"`,
	install: `rpm --root="$ROOT" --nodeps --ignorearch --upgrade --replacepkgs "$PACKAGE"`,
	verify:  `rpm --root="$ROOT" --verify --nodeps accelerator-exporter`,
	remove:  `rpm --root="$ROOT" --erase accelerator-exporter`,
	kept:    "etc/default/accelerator_exporter.rpmsave",
}, {
	file: "accelerator-exporter_VERSION_MACHINE.apk", says: "accelerator-exporter VERSION MACHINE",
	ask:     `tar --warning=no-unknown-keyword -xzOf "$PACKAGE" .PKGINFO | sed -nE 's/^(pkgname|pkgver|arch) = //p' | paste -sd ' '`,
	install: `tar --warning=no-unknown-keyword -C "$ROOT" -xzf "$PACKAGE"; chroot "$ROOT" /.post-install`,
}}

// newSystem makes $ROOT a system with all that the packages' scripts and the unit need.
const newSystem = `cd "$ROOT"
mkdir -p dev etc usr/bin var/lib/dpkg/info var/lib/dpkg/updates
ln -s usr/bin bin
for program in sh kill systemd-sysusers; do
	cp --dereference "/usr/bin/$program" usr/bin/
	cp --dereference --parents $(ldd "/usr/bin/$program" | grep -o '/[^ ]*') .
done
: >dev/null
: >var/lib/dpkg/status
echo root:x:0:0::/root:/bin/sh >etc/passwd
printf '%s\n' root:x:0: video:x:44: render:x:105: >etc/group`

// TestEndToEnd builds a release and looks at every file of it. make dist-check builds it a second time and compares.
func TestEndToEnd(t *testing.T) {
	programtest.NeedSuperuser(t)
	programtest.Need(t, "git", "make", "dpkg", "rpm", "tar", "gzip", "ldd", "systemd-sysusers", "systemd-analyze")
	out := t.TempDir()
	version := strings.TrimSpace(programtest.Read(t, root+"/VERSION"))
	env := []string{"SOURCE_DATE_EPOCH=1700000000", "REVISION=" + revision, "TZ=Asia/Shanghai", "LC_ALL=C.UTF-8"}
	programtest.Output(t, root, env, "sh", "-c", `umask 077 && deploy/dist/build.sh "$1"`, "sh", out)

	t.Run("files", func(t *testing.T) { testFiles(t, out, version) })
	for architecture := range architectures {
		tarball := "accelerator_exporter-" + version + ".linux-" + architecture
		t.Run(tarball, func(t *testing.T) {
			testTarball(t, filepath.Join(out, tarball+".tar.gz"), tarball, version, architecture)
		})
		for _, f := range formats {
			t.Run(filepath.Ext(f.file)+" "+architecture, func(t *testing.T) { testPackage(t, f, out, version, architecture) })
		}
	}
	t.Run("chart", func(t *testing.T) { testChart(t, filepath.Join(out, "accelerator-exporter-"+version+".tgz"), version) })
}

// testFiles: the release has the files that the document names, and a digest of each.
func testFiles(t *testing.T, out, version string) {
	files, err := os.ReadDir(out)
	programtest.NoError(t, err)
	document := programtest.Read(t, root+"/docs/releasing.md")
	for _, f := range files {
		if name := strings.ReplaceAll(f.Name(), version, "X.Y.Z"); !strings.Contains(document, "`"+name+"`") {
			t.Errorf("docs/releasing.md does not name %s", name)
		}
	}
	digests := strings.Count(programtest.Read(t, filepath.Join(out, "SHA256SUMS")), "\n")
	if len(files) != 11 || digests != 10 {
		t.Errorf("%d files with %d digests: %v", len(files), digests, files)
	}
	programtest.Output(t, out, nil, "sha256sum", "--strict", "--check", "SHA256SUMS")
}

// sameAsTree wants the files of patterns, below a folder, as the tree has them, and nothing that needs the source.
func sameAsTree(t *testing.T, folder string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s fits %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			if got := programtest.Read(t, filepath.Join(folder, strings.TrimPrefix(path, root))); got != programtest.Read(t, path) {
				t.Errorf("%s differs", path)
			}
		}
	}
	if found := programtest.Output(t, folder, nil, "find", ".", "-name", "*.go", "-o", "-name", "testdata", "-o", "-name", "tests"); found != "" {
		t.Errorf("of no use without the source:\n%s", found)
	}
}

// testTarball: the archive has one folder, with the tree's files at their paths, and programs that run.
func testTarball(t *testing.T, file, name, version, architecture string) {
	dir := t.TempDir()
	programtest.Output(t, dir, nil, "tar", "--extract", "--file="+file)
	if found := programtest.Output(t, dir, nil, "ls"); found != name+"\n" {
		t.Errorf("it holds %q", found)
	}
	folder := filepath.Join(dir, name)
	sameAsTree(t, folder, "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "README.zh-CN.md", "VERSION", "dashboards/grafana/*.json", "docs/*.md", "docs/images/*", "docs/probes.example.yml",
		"deploy/collect.sh", "deploy/demo/run.sh", "deploy/kubernetes/accelerator-exporter/Chart.yaml", "deploy/prometheus/*.yml",
		"deploy/prometheus/compat/*.yml", "deploy/prometheus/optional/*.yml", "deploy/prometheus/rules/*.yml", "deploy/prometheus/targets/*.yml", "deploy/systemd/*.conf", "deploy/systemd/accelerator_exporter.*")
	for _, program := range []string{"accelerator_exporter", "accelbench", "fakehost"} {
		checkProgram(t, filepath.Join(folder, "bin", program), architecture)
	}
	if runtime.GOARCH != architecture {
		return
	}
	checkVersion(t, filepath.Join(folder, "bin/accelerator_exporter"), version)
	if table := programtest.Output(t, dir, []string{"FAKEHOST_STATE=" + t.TempDir()}, filepath.Join(folder, "bin/fake/mx-smi")); !strings.Contains(table, "MX-SMI") {
		t.Errorf("bin/fake/mx-smi prints\n%s", table)
	}
	for shell, completion := range map[string]string{"bash": "accelbench.bash", "zsh": "_accelbench"} {
		want := programtest.Output(t, dir, nil, filepath.Join(folder, "bin/accelbench"), "--completion-script-"+shell)
		if got := programtest.Read(t, filepath.Join(folder, "completions", completion)); got != want || got == "" {
			t.Errorf("%s holds\n%s", completion, got)
		}
	}
}

// checkProgram wants a static program for the architecture that does not tell where it was built.
func checkProgram(t *testing.T, path, architecture string) {
	t.Helper()
	file, err := elf.Open(path)
	programtest.NoError(t, err)
	defer file.Close()
	if file.Machine != architectures[architecture] {
		t.Errorf("%s is for %s, want %s", path, file.Machine, architecture)
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC }) {
		t.Errorf("%s is dynamically linked", path)
	}
	info, err := buildinfo.ReadFile(path)
	programtest.NoError(t, err)
	for _, want := range []string{"build\t-trimpath=true", "build\tCGO_ENABLED=0"} {
		if !strings.Contains(info.String(), want) {
			t.Errorf("%s was built without %s:\n%s", path, want, info)
		}
	}
	if strings.Contains(programtest.Read(t, path), programtest.Root(t)+"/") {
		t.Errorf("%s holds the path of this tree", path)
	}
}

// checkVersion runs a program and wants it to say what it is.
func checkVersion(t *testing.T, program, version string) {
	t.Helper()
	want := filepath.Base(program) + ", version " + version + " (branch: HEAD, revision: " + revision + ")"
	if got := programtest.Output(t, ".", nil, program, "--version"); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// testPackage: the package says what it is, and is installed, upgraded and removed in a system of its own. The unit there
// is that of deploy/systemd, but for the path of the program.
func testPackage(t *testing.T, f format, out, version, architecture string) {
	names := strings.NewReplacer("VERSION", version, "ARCH", architecture, "MACHINE", map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[architecture])
	system := t.TempDir()
	env := []string{"ROOT=" + system, "PACKAGE=" + filepath.Join(out, names.Replace(f.file)), "FAKEHOST_STATE=" + t.TempDir()}
	run := func(script string) string { t.Helper(); return programtest.Output(t, out, env, "sh", "-ec", script) }
	read := func(name string) string { t.Helper(); return programtest.Read(t, filepath.Join(system, name)) }
	if says := strings.TrimSpace(run(f.ask)); says != names.Replace(f.says) {
		t.Errorf("it says %q", says)
	}
	run(newSystem)
	run(f.install)
	if users, groups := read("etc/passwd"), read("etc/group"); !strings.Contains(users, "\naccelerator_exporter:") || !strings.Contains(groups, "\nvideo:x:44:accelerator_exporter\n") {
		t.Errorf("no user or no group for it:\n%s%s", users, groups)
	}
	settings := func(text string) string { return regexp.MustCompile(`(?m)^(#.*)?\n`).ReplaceAllString(text, "") }
	ours := strings.ReplaceAll(programtest.Read(t, "../systemd/accelerator_exporter.service"), "/usr/local/bin/", "/usr/bin/")
	if diff := cmp.Diff(settings(ours), settings(read("usr/lib/systemd/system/accelerator_exporter.service"))); diff != "" {
		t.Errorf("the unit (-deploy/systemd +package):\n%s", diff)
	}
	run(`systemd-analyze verify --root="$ROOT" --recursive-errors=no --man=no accelerator_exporter.service accelerator_exporter.socket`)
	sameAsTree(t, filepath.Join(system, "usr/share/accelerator-exporter"), "README.md", "CHANGELOG.md", "dashboards/grafana/*.json", "deploy/prometheus/rules/*.yml", "docs/*.md")
	for _, name := range []string{"accelerator_exporter", "accelbench"} {
		program := filepath.Join(system, "usr/bin", name)
		checkProgram(t, program, architecture)
		if architecture == runtime.GOARCH {
			checkVersion(t, program, version)
		}
	}
	if architecture == runtime.GOARCH {
		run(names.Replace(`tar -C "$ROOT/var" --strip-components=1 -xf accelerator_exporter-VERSION.linux-ARCH.tar.gz accelerator_exporter-VERSION.linux-ARCH/bin
			"$ROOT/usr/bin/accelerator_exporter" --check=cards --collector.metax.command="$ROOT/var/bin/fake/mx-smi"`))
	}
	if f.remove == "" {
		return
	}
	if damaged := run(f.verify); damaged != "" {
		t.Errorf("damaged: %s", damaged)
	}
	const flags = "ARGS=\"--collector.metax\"\n"
	programtest.Write(t, filepath.Join(system, "etc/default/accelerator_exporter"), flags)
	run(f.install)
	if upgraded := read("etc/default/accelerator_exporter"); upgraded != flags {
		t.Errorf("an upgrade changes the flags: %s", upgraded)
	}
	run(f.remove)
	if got := read(f.kept); got != flags {
		t.Errorf("the flags are gone: %s", got)
	}
	if left := run(`find "$ROOT" -path '*/accelerator-exporter/*' ! -path '*/var/*' -o -name 'accel*' -path '*/usr/*'`); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// testChart: Helm reads the archive as the chart of the tree, without its links.
func testChart(t *testing.T, file, version string) {
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm tells of every symbolic link
	packed, err := loader.LoadFile(file)
	programtest.NoError(t, err)
	tree, err := loader.LoadDir("../kubernetes/accelerator-exporter")
	programtest.NoError(t, err)
	contents := func(files []*common.File) map[string]string {
		all := map[string]string{}
		for _, f := range files {
			all[f.Name] = string(f.Data)
		}
		return all
	}
	if diff := cmp.Diff(contents(tree.Raw), contents(packed.Raw)); diff != "" {
		t.Errorf("files of the chart (-tree +archive):\n%s", diff)
	}
	if err := packed.Validate(); err != nil || packed.Metadata.Version != version {
		t.Errorf("version %s, %v", packed.Metadata.Version, err)
	}
}
