// Package container builds the image without a container engine, looks at what is in it, and starts its programs.
package container

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// image is what an image says of itself.
type image struct {
	Config struct {
		User         string
		Entrypoint   []string
		ExposedPorts map[string]struct{}
		Labels       map[string]string
	}
}

// TestCommands runs README.md's commands for cards with a docker that prints its arguments: what somebody copies starts one
// collector, with the vendor's tool or runtime and no right that is not named.
func TestCommands(t *testing.T) {
	bin := t.TempDir()
	programtest.WriteScript(t, filepath.Join(bin, "docker"), `printf '%s ' "$@"; echo`)
	programtest.WriteScript(t, filepath.Join(bin, "stat"), "echo 42")
	_, section, _ := strings.Cut(programtest.Read(t, "README.md"), "\n## With cards\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var script strings.Builder
	for i, part := range strings.Split(section, "```") {
		if code, isShell := strings.CutPrefix(part, "sh\n"); i%2 == 1 && isShell {
			script.WriteString(code)
		}
	}
	var collectors []string
	for line := range strings.Lines(programtest.Output(t, ".", []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "sh", "-eu", "-c", script.String())) {
		options, flags, isImage := strings.Cut(line, " accelerator-exporter:"+strings.TrimSpace(programtest.Read(t, "../../VERSION"))+" ")
		vendor, rest, _ := strings.Cut(strings.TrimPrefix(flags, "--collector."), " ")
		collectors = append(collectors, vendor)
		if !isImage || strings.TrimSpace(rest) != "--probe.target=http://127.0.0.1:8000" {
			t.Errorf("starts %s", line)
		}
		if strings.Contains(options, "privileged") || !strings.Contains(options, " --cap-drop ALL ") || !strings.Contains(options+" ", " --volume /lib64:/lib64:ro ") {
			t.Errorf("%s has the options %s", vendor, options)
		}
	}
	want := []string{"metax", "ascend", "nvidia", "hygon", "iluvatar", "kunlunxin", "moorethreads", "enflame"}
	if diff := cmp.Diff(want, collectors); diff != "" {
		t.Errorf("want (-) and started (+) differ:\n%s", diff)
	}
}

// The image would not start, or run as root.
func TestImage(t *testing.T) {
	programtest.NeedSuperuser(t)
	programtest.Need(t, "buildah", "make", "go")
	dir := t.TempDir()
	buildah := []string{"--storage-driver", "vfs", "--root", filepath.Join(dir, "store"), "--runroot", filepath.Join(dir, "run")}
	t.Setenv("BUILDER", "buildah "+strings.Join(buildah, " "))
	t.Setenv("PREBUILT", "1")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	programtest.Output(t, programtest.Root(t), nil, "sh", "deploy/container/build.sh", "exporter:test", "--isolation", "chroot", "--pull=never")
	run := func(args ...string) string {
		return strings.TrimSpace(programtest.Output(t, ".", nil, slices.Concat([]string{"buildah"}, buildah, args)...))
	}

	var answer struct{ OCIv1 image }
	programtest.NoError(t, json.Unmarshal([]byte(run("inspect", "--type", "image", "exporter:test")), &answer))
	var want image
	want.Config.User = "65532:65532"
	want.Config.Entrypoint = []string{"/usr/local/bin/accelerator_exporter"}
	want.Config.ExposedPorts = map[string]struct{}{"10068/tcp": {}}
	got := answer.OCIv1
	if version := strings.TrimSpace(programtest.Read(t, "../../VERSION")); got.Config.Labels["org.opencontainers.image.version"] != version {
		t.Errorf("labels %v, want version %s", got.Config.Labels, version)
	}
	got.Config.Labels = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration: want (-) and got (+) differ:\n%s", diff)
	}
	root := run("mount", run("from", "--pull=never", "exporter:test"))
	checkFiles(t, root)
	start(t, root)
}

// checkFiles wants the programs and nothing that could run anything else.
func checkFiles(t *testing.T, root string) {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		names = append(names, name)
		return err
	})
	programtest.NoError(t, err)
	want := []string{
		"LICENSE", "etc/ssl/certs/ca-certificates.crt", "usr/local/bin/accelbench", "usr/local/bin/accelerator_exporter",
		"usr/local/bin/fake/efsmi", "usr/local/bin/fake/hccn_tool", "usr/local/bin/fake/hy-smi", "usr/local/bin/fake/ixsmi", "usr/local/bin/fake/mthreads-gmi",
		"usr/local/bin/fake/mx-smi", "usr/local/bin/fake/npu-smi", "usr/local/bin/fake/nvidia-smi", "usr/local/bin/fake/xpu_smi", "usr/local/bin/fakehost",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files: want (-) and got (+) differ:\n%s", diff)
	}
}

// start starts the exporter of the image, which is static.
func start(t *testing.T, root string) {
	t.Helper()
	address := programtest.FreeAddress(t)
	programtest.Run(t, "the exporter", []string{"FAKEHOST_STATE=" + t.TempDir()}, filepath.Join(root, "usr/local/bin/accelerator_exporter"), "--web.listen-address="+address,
		"--collector.metax.command="+filepath.Join(root, "usr/local/bin/fake/mx-smi"), "--collector.interval=200ms")
	programtest.Eventually(t, time.Minute, "cards", func() error {
		return programtest.PageHas(t, "http://"+address+"/metrics", `accelerator_devices{vendor="metax"} 8`)
	})
}
