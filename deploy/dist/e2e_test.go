//go:build e2e

package dist

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"log/slog"
	"os"
	"path/filepath"
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
	epoch    = 1700000000 // of the builds in these tests
	revision = "0123456789ab"
)

// architectures are those of a release, with what a program says of itself.
var architectures = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// TestEndToEnd builds a release and looks at every file of it. make dist-check builds it a second time and compares.
func TestEndToEnd(t *testing.T) {
	programtest.Need(t, "git", "make", "dpkg-deb", "tar", "gzip")
	out := t.TempDir()
	cache := strings.TrimSpace(output(t, root, nil, "go", "env", "GOCACHE"))
	env := []string{"SOURCE_DATE_EPOCH=1700000000", "REVISION=" + revision, "GOCACHE=" + cache, "TZ=Asia/Shanghai", "LC_ALL=C.UTF-8"}
	output(t, root, env, "sh", "-c", `umask 077 && deploy/dist/build.sh "$1"`, "sh", out)

	t.Run("digests", func(t *testing.T) { testDigests(t, out) })
	for architecture := range architectures {
		t.Run("tarball "+architecture, func(t *testing.T) { testTarball(t, out, architecture) })
		t.Run("package "+architecture, func(t *testing.T) { testPackage(t, out, architecture) })
	}
	t.Run("installed package", func(t *testing.T) { testInstalled(t, out) })
	t.Run("chart", func(t *testing.T) { testChart(t, out) })
}

// fileNames are those of a release.
func fileNames(version string) []string {
	return []string{
		"SHA256SUMS",
		"accelerator-exporter-" + version + ".tgz",
		"accelerator-exporter_" + version + "_amd64.deb",
		"accelerator-exporter_" + version + "_arm64.deb",
		"accelerator_exporter-" + version + ".linux-amd64.tar.gz",
		"accelerator_exporter-" + version + ".linux-arm64.tar.gz",
	}
}

// testDigests: the release has the files that the document names, and a digest of each.
func testDigests(t *testing.T, out string) {
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var names, summed []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if diff := cmp.Diff(fileNames(version(t)), names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(programtest.Read(t, filepath.Join(out, "SHA256SUMS"))) {
		summed = append(summed, strings.Fields(line)[1])
	}
	if diff := cmp.Diff(names[1:], summed); diff != "" {
		t.Errorf("digests (-files +got):\n%s", diff)
	}
	output(t, out, nil, "sha256sum", "--strict", "--check", "SHA256SUMS")
	document := programtest.Read(t, root+"/docs/releasing.md")
	for _, name := range fileNames("X.Y.Z") {
		if !strings.Contains(document, "`"+name+"`") {
			t.Errorf("docs/releasing.md does not name %s", name)
		}
	}
}

// tarballFiles are what a tarball must hold of the tree, each pattern a file or more.
var tarballFiles = []string{
	"CHANGELOG.md", "LICENSE", "README.md", "README.zh-CN.md", "VERSION",
	"dashboards/README.md", "dashboards/grafana/*.json",
	"docs/*.md", "docs/images/*", "docs/probes.example.yml",
	"deploy/collect.sh", "deploy/demo/run.sh",
	"deploy/kubernetes/README.md", "deploy/kubernetes/accelerator-exporter/Chart.yaml",
	"deploy/prometheus/*.md", "deploy/prometheus/*.yml", "deploy/prometheus/compat/*.yml", "deploy/prometheus/rules/*.yml", "deploy/prometheus/targets/*.yml",
	"deploy/systemd/README.md", "deploy/systemd/*.conf", "deploy/systemd/accelerator_exporter.*",
}

// sameAsTree wants the files of patterns, below a folder of an archive, as the tree has them.
func sameAsTree(t *testing.T, entries map[string]entry, folder string, patterns []string) {
	t.Helper()
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s fits %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := entries[filepath.Join(folder, name)]; !ok || string(got.data) != programtest.Read(t, path) {
				t.Errorf("%s is missing or differs", name)
			}
		}
	}
	for name := range entries {
		if filepath.Ext(name) == ".go" || strings.Contains(name, "/testdata/") || strings.Contains(name, "/tests/") {
			t.Errorf("%s is of no use without the source", name)
		}
	}
}

// testTarball: the archive has one folder, with the tree's files at their paths,
// the programs and the completions.
func testTarball(t *testing.T, out, architecture string) {
	folder := "accelerator_exporter-" + version(t) + ".linux-" + architecture
	entries := readTarGzip(t, filepath.Join(out, folder+".tar.gz"))
	for name := range entries {
		if first, _, _ := strings.Cut(name, "/"); first != folder {
			t.Errorf("%s is outside %s", name, folder)
		}
	}
	sameAsTree(t, entries, folder, tarballFiles)
	for _, name := range []string{"accelerator_exporter", "accelbench", "fakehost"} {
		checkProgram(t, entries[folder+"/bin/"+name], architecture)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != architecture {
		return
	}
	dir := t.TempDir()
	output(t, dir, nil, "tar", "--extract", "--file="+filepath.Join(out, folder+".tar.gz"))
	for _, name := range []string{"accelerator_exporter", "accelbench"} {
		checkVersion(t, filepath.Join(dir, folder, "bin", name))
	}
	if table := output(t, dir, []string{"FAKEHOST_STATE=" + t.TempDir()}, filepath.Join(dir, folder, "bin/fake/mx-smi")); !strings.Contains(table, "MX-SMI") {
		t.Errorf("bin/fake/mx-smi prints\n%s", table)
	}
	checkCompletions(t, filepath.Join(dir, folder))
}

// checkProgram wants a static program for the architecture that does not tell where it was built.
func checkProgram(t *testing.T, e entry, architecture string) {
	t.Helper()
	if e.header == nil {
		t.Fatal("a program is missing")
	}
	name := filepath.Base(e.header.Name)
	if e.header.FileInfo().Mode().Perm() != 0o755 {
		t.Errorf("%s: %s", name, e.header.FileInfo().Mode())
	}
	file, err := elf.NewFile(bytes.NewReader(e.data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if file.Machine != architectures[architecture] {
		t.Errorf("%s is for %s, want %s", name, file.Machine, architecture)
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC }) {
		t.Errorf("%s is dynamically linked", name)
	}
	info, err := buildinfo.Read(bytes.NewReader(e.data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	want := map[string]string{"-buildmode": "exe", "-compiler": "gc", "-trimpath": "true", "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": architecture}
	want[map[string]string{"amd64": "GOAMD64", "arm64": "GOARM64"}[architecture]] = map[string]string{"amd64": "v1", "arm64": "v8.0"}[architecture]
	delete(settings, "DefaultGODEBUG")
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Errorf("%s was built with (-want +got):\n%s", name, diff)
	}
	if bytes.Contains(e.data, []byte(programtest.Root(t)+"/")) {
		t.Errorf("%s holds the path of this tree", name)
	}
}

// checkVersion runs a program and wants it to say what it is.
func checkVersion(t *testing.T, program string) {
	t.Helper()
	want := filepath.Base(program) + ", version " + version(t) + " (branch: HEAD, revision: " + revision + ")"
	if got := output(t, ".", nil, program, "--version"); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// checkCompletions wants what the program of the release prints for each shell.
func checkCompletions(t *testing.T, folder string) {
	t.Helper()
	for shell, file := range map[string]string{"bash": "accelbench.bash", "zsh": "_accelbench", "fish": "accelbench.fish"} {
		got := programtest.Read(t, filepath.Join(folder, "completions", file))
		want, err := command(t, ".", nil, filepath.Join(folder, "bin/accelbench"), "completion", shell).Output()
		if err != nil {
			t.Fatalf("completion %s: %v", shell, err)
		}
		if got != string(want) || !strings.Contains(got, "accelbench") {
			t.Errorf("%s holds\n%s", file, got)
		}
	}
}

// testChart: Helm reads the archive as the chart of the tree, without its links.
func testChart(t *testing.T, out string) {
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm tells of every symbolic link
	file := filepath.Join(out, "accelerator-exporter-"+version(t)+".tgz")
	for name, e := range readTarGzip(t, file) {
		if mode := e.header.FileInfo().Mode(); !mode.IsRegular() && !mode.IsDir() {
			t.Errorf("%s: %s leads out of the archive", name, mode)
		}
	}
	packed, err := loader.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := loader.LoadDir("../kubernetes/accelerator-exporter")
	if err != nil {
		t.Fatal(err)
	}
	contents := func(files []*common.File) map[string]string {
		all := map[string]string{}
		for _, f := range files {
			all[f.Name] = string(f.Data)
		}
		return all
	}
	got := contents(packed.Raw)
	if diff := cmp.Diff(contents(tree.Raw), got); diff != "" {
		t.Errorf("files of the chart (-tree +archive):\n%s", diff)
	}
	for _, name := range []string{"files/rules/alerts.yml", "files/dashboards/fleet.json"} {
		if got[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	if err := packed.Validate(); err != nil || packed.Metadata.Version != version(t) {
		t.Errorf("version %s, %v", packed.Metadata.Version, err)
	}
}
