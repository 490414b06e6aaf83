package container

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// store is a buildah with a storage of its own.
type store struct {
	root string // of the repository
	args []string
}

func newStore(t *testing.T) *store {
	t.Helper()
	need(t, "buildah", "make", "go")
	dir := t.TempDir()
	return &store{root: repository(t), args: []string{
		"--storage-driver", "vfs", "--root", filepath.Join(dir, "store"), "--runroot", filepath.Join(dir, "run"),
	}}
}

func (s *store) buildah(t *testing.T, args ...string) string {
	t.Helper()
	return strings.TrimSpace(output(t, s.root, "buildah", slices.Concat(s.args, args)...))
}

// build runs build.sh as make image does, with buildah for want of an engine.
func (s *store) build(t *testing.T, tag string, prebuilt bool, options ...string) {
	t.Helper()
	t.Setenv("BUILDER", "buildah "+strings.Join(s.args, " "))
	t.Setenv("PREBUILT", "")
	if prebuilt {
		t.Setenv("PREBUILT", "1")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	args := slices.Concat([]string{"deploy/container/build.sh", tag, "--isolation", "chroot", "--pull=never"}, options)
	output(t, s.root, "sh", args...)
}

// compile builds the Dockerfile as it is, its first stage too. The golang image
// is in a registry; a local image of its name, filled with this machine's
// programs, stands in for it.
func (s *store) compile(t *testing.T, tag string) {
	t.Helper()
	goenv := func(name string) string { return strings.TrimSpace(output(t, s.root, "go", "env", name)) }
	base := t.TempDir()
	programtest.Write(t, filepath.Join(base, "tmp/.keep"), "")
	copyFile(t, certificates(t), filepath.Join(base, "etc/ssl/certs/ca-certificates.crt"))
	goroot := goenv("GOROOT")
	programtest.Write(t, filepath.Join(base, "Dockerfile"), "FROM scratch\nCOPY . /\nENV GOTOOLCHAIN=local GOPATH=/go GOCACHE=/cache GOPROXY=off PATH="+goroot+"/bin:/usr/bin:/bin\n")
	golang := firstMatch(t, programtest.Read(t, "Dockerfile"), `(?m)^FROM --platform=\S+ (golang:\S+) AS build$`)
	s.buildah(t, "build", "--isolation", "chroot", "--tag", "docker.io/library/"+golang, base)

	options := []string{"--volume", goenv("GOMODCACHE") + ":/go/pkg/mod:ro", "--volume", goenv("GOCACHE") + ":/cache"}
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		if _, err := os.Stat(dir); err == nil {
			options = append(options, "--volume", dir+":"+dir+":ro")
		}
	}
	if !strings.HasPrefix(goroot, "/usr/") {
		options = append(options, "--volume", goroot+":"+goroot+":ro")
	}
	t.Setenv("GOPROXY", "off")
	s.build(t, tag, false, options...)
}

// certificates is this machine's bundle of authorities.
func certificates(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"} {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	programtest.Lacking(t, "the package ca-certificates")
	return ""
}

// image is what an image says of itself.
type image struct {
	Architecture string
	Config       struct {
		User         string
		Env          []string
		Entrypoint   []string
		Cmd          []string
		ExposedPorts map[string]struct{}
		Labels       map[string]string
	}
}

func (s *store) inspect(t *testing.T, tag string) (image, string) {
	t.Helper()
	var answer struct {
		FromImageDigest string
		OCIv1           image
	}
	if err := json.Unmarshal([]byte(s.buildah(t, "inspect", "--type", "image", tag)), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.OCIv1, answer.FromImageDigest
}

// unpack returns a folder with the files of the image.
func (s *store) unpack(t *testing.T, tag string) string {
	t.Helper()
	return s.buildah(t, "mount", s.buildah(t, "from", "--pull=never", tag))
}

func TestImage(t *testing.T) {
	s := newStore(t)
	certificates(t)
	s.build(t, "exporter:prebuilt", true)
	s.compile(t, "exporter:compiled")
	got, digest := s.inspect(t, "exporter:prebuilt")

	t.Run("the same image twice", func(t *testing.T) {
		if _, other := s.inspect(t, "exporter:compiled"); digest != other || digest == "" {
			t.Errorf("digests %q with this machine's Go, %q from the Dockerfile's first stage", digest, other)
		}
	})
	t.Run("configuration", func(t *testing.T) {
		type facts struct {
			User              string
			Entrypoint, Ports []string
			Version, Licence  string
		}
		want := facts{
			"65532:65532",
			[]string{"/usr/local/bin/accelerator_exporter"},
			[]string{"10068/tcp"},
			strings.TrimSpace(programtest.Read(t, "../../VERSION")), "Apache-2.0",
		}
		c := got.Config
		ports := make([]string, 0, len(c.ExposedPorts))
		for port := range c.ExposedPorts {
			ports = append(ports, port)
		}
		have := facts{
			c.User, slices.Concat(c.Entrypoint, c.Cmd), ports,
			c.Labels["org.opencontainers.image.version"], c.Labels["org.opencontainers.image.licenses"],
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("files", func(t *testing.T) { checkFiles(t, s.unpack(t, "exporter:prebuilt")) })
	t.Run("running", func(t *testing.T) { testRunning(t, got, s.unpack(t, "exporter:prebuilt")) })
	t.Run("tools of the host", func(t *testing.T) { testTools(t, s, got) })
}

// checkFiles wants the programs and nothing that could run anything else.
func checkFiles(t *testing.T, root string) {
	want := map[string]fs.FileMode{
		"LICENSE":                            0o644,
		"etc/ssl/certs/ca-certificates.crt":  0o644,
		"usr/local/bin/accelbench":           0o755,
		"usr/local/bin/accelerator_exporter": 0o755,
		"usr/local/bin/fake/hccn_tool":       fs.ModeSymlink | 0o777,
		"usr/local/bin/fake/mx-smi":          fs.ModeSymlink | 0o777,
		"usr/local/bin/fake/npu-smi":         fs.ModeSymlink | 0o777,
		"usr/local/bin/fakehost":             0o755,
	}
	have := map[string]fs.FileMode{}
	size := int64(0)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		name, err := filepath.Rel(root, path)
		have[name] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The three programs have some 50 MB; what doubles that was not meant.
	if limit := int64(100 << 20); size > limit {
		t.Errorf("%d bytes of files, at most %d", size, limit)
	}
}
