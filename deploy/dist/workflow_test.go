package dist

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rhysd/actionlint"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const workflowFile = root + "/.github/workflows/ci.yml"

// workflow is what the checks look at.
type workflow struct {
	On struct {
		Push        struct{ Branches, Tags []string }
		PullRequest *struct{}      `yaml:"pull_request"`
		Others      map[string]any `yaml:",inline"`
	}
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	Needs       []string
	If          string
	Permissions map[string]string
	Container   any
	Steps       []step
}

type step struct {
	Name, Uses, Run string
	With            map[string]string
	Env             map[string]string
}

func readWorkflow(t *testing.T) workflow {
	t.Helper()
	var w workflow
	programtest.ReadYAML(t, workflowFile, &w)
	return w
}

// step is the one of a job whose commands hold a text.
func (j job) step(t *testing.T, text string) step {
	t.Helper()
	i := slices.IndexFunc(j.Steps, func(s step) bool { return strings.Contains(s.Run, text) })
	if i < 0 {
		t.Fatalf("no step runs %q", text)
	}
	return j.Steps[i]
}

// TestWorkflowIsValid: no key, expression or shell command is wrong.
func TestWorkflowIsValid(t *testing.T) {
	files, err := filepath.Glob(root + "/.github/workflows/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("workflows %q, want one", files)
	}
	shellcheck, _ := exec.LookPath("shellcheck")
	lint := func(text string) []*actionlint.Error {
		t.Helper()
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{Shellcheck: shellcheck})
		if err != nil {
			t.Fatal(err)
		}
		found, err := linter.Lint(workflowFile, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	text := programtest.Read(t, workflowFile)
	for _, e := range lint(text) {
		t.Error(e)
	}
	if len(lint(strings.Replace(text, "github.ref_type", "github.ref_kind", 1))) == 0 {
		t.Error("an expression of what does not exist passes")
	}
}

// TestWorkflowJobs: changes are checked, and a tag is published when the check and
// the build of that tag have passed.
func TestWorkflowJobs(t *testing.T) {
	w := readWorkflow(t)
	if len(w.On.Others) > 0 || !slices.Equal(w.On.Push.Branches, []string{"main"}) ||
		!slices.Equal(w.On.Push.Tags, []string{"v[0-9]+.[0-9]+.[0-9]+"}) || !strings.Contains(programtest.Read(t, workflowFile), "\n  pull_request:\n") {
		t.Errorf("it runs on %+v", w.On)
	}
	needs := map[string][]string{}
	for name, j := range w.Jobs {
		needs[name] = j.Needs
	}
	want := map[string][]string{"check": nil, "build": nil, "image": {"check", "build"}, "publish": {"check", "build", "image"}}
	if diff := cmp.Diff(want, needs); diff != "" {
		t.Errorf("jobs and what they need (-want +got):\n%s", diff)
	}
	if got := w.Jobs["build"].If; got != "github.ref_type == 'tag'" {
		t.Errorf("a release is built if %s", got)
	}
	w.Jobs["check"].step(t, ".ci/run")
	build := w.Jobs["build"]
	build.step(t, `./deploy/dist/notes.sh "$GITHUB_REF_NAME"`)
	build.step(t, "make dist-check")

	golang := regexp.MustCompile(`(?m)^FROM --platform=\S+ (golang:\S+) AS build$`).FindStringSubmatch(programtest.Read(t, "../container/Dockerfile"))
	containers := map[string]any{"check": nil, "build": nil}
	for name := range containers {
		image := w.Jobs[name].Container
		if with, ok := image.(map[string]any); ok {
			image = with["image"]
		}
		if image != golang[1]+"-bookworm" {
			t.Errorf("job %s runs in %v, but images are built with %s", name, image, golang[1])
		}
	}
}

// TestWorkflowIsClosed: a job has no right that it does not need, an action cannot
// change under its name, and nobody's text becomes a command.
func TestWorkflowIsClosed(t *testing.T) {
	text, w := programtest.Read(t, workflowFile), readWorkflow(t)
	rights := map[string]map[string]string{"all": w.Permissions}
	for name, j := range w.Jobs {
		if j.Permissions != nil {
			rights[name] = j.Permissions
		}
	}
	want := map[string]map[string]string{
		"all":     {"contents": "read"},
		"image":   {"contents": "read", "packages": "write"},
		"publish": {"contents": "write"},
	}
	if diff := cmp.Diff(want, rights); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}

	pinned := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`)
	pins := map[string]string{}
	for name, j := range w.Jobs {
		for _, s := range j.Steps {
			if strings.Contains(s.Run, "${{") {
				t.Errorf("job %s: an expression is part of the command %s", name, s.Run)
			}
			if s.Uses == "" {
				continue
			}
			action, pin, _ := strings.Cut(s.Uses, "@")
			if !pinned.MatchString(s.Uses) || !regexp.MustCompile(regexp.QuoteMeta(s.Uses)+` # v\d+\.\d+\.\d+\n`).MatchString(text) {
				t.Errorf("job %s: %s is not pinned to a commit, with its version", name, s.Uses)
			}
			if other, ok := pins[action]; ok && other != pin {
				t.Errorf("%s is pinned to %s and %s", action, other, pin)
			}
			pins[action] = pin
			if action == "actions/checkout" && s.With["persist-credentials"] != "false" {
				t.Errorf("job %s: the token stays in the tree", name)
			}
		}
	}
	if len(pins) == 0 {
		t.Error("no action is used")
	}
}

// runStep runs the commands of a step as the forge does, with a program in the
// place of the one that would reach the network, and returns how that was called.
func runStep(t *testing.T, dir string, s step, stand string, env ...string) string {
	t.Helper()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	programtest.Write(t, filepath.Join(bin, stand), "#!/bin/sh\necho \"$@\" >>'"+log+"'\n")
	if err := os.Chmod(filepath.Join(bin, stand), 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range s.Env {
		env = append(env, key+"="+value)
	}
	env = append(env, "PATH="+bin+":"+os.Getenv("PATH"), "GITHUB_REF_NAME=v"+version(t), "GITHUB_REPOSITORY_OWNER=Some-Owner")
	output(t, dir, env, "bash", "-e", "-c", s.Run)
	return programtest.Read(t, log)
}

// TestPublish: a release has all files that were built and the notes.
func TestPublish(t *testing.T) {
	programtest.Need(t, "bash")
	dir := t.TempDir()
	files := []string{"SHA256SUMS", "a_1_amd64.deb", "a-1.linux-arm64.tar.gz", "a-1.tgz"}
	for _, name := range append(files, "notes.md") {
		programtest.Write(t, filepath.Join(dir, name), name+"\n")
	}
	called := strings.Fields(runStep(t, dir, readWorkflow(t).Jobs["publish"].step(t, "gh release"), "gh"))
	for i, word := range called {
		called[i] = strings.TrimPrefix(word, "./")
	}
	if want := []string{"release", "create", "v" + version(t), "--verify-tag"}; !slices.Equal(called[:4], want) {
		t.Errorf("gh %s, want %s", called, want)
	}
	for _, name := range files {
		if !slices.Contains(called, name) {
			t.Errorf("%s is not published by gh %s", name, called)
		}
	}
	if i := slices.Index(called, "--notes-file"); i < 0 || called[i+1] != "notes.md" {
		t.Errorf("no notes: gh %s", called)
	}
}

// TestPublishImage: the image is pushed for both architectures, under a name that a registry takes.
func TestPublishImage(t *testing.T) {
	programtest.Need(t, "bash", "git")
	s := readWorkflow(t).Jobs["image"].step(t, "build.sh")
	lines := strings.Split(strings.TrimSpace(runStep(t, root, s, "docker")), "\n")
	last := lines[len(lines)-1]
	for _, want := range []string{
		"buildx build --push ", " --tag ghcr.io/some-owner/accelerator-exporter:" + version(t) + " ", " --platform linux/amd64,linux/arm64 ",
		" --build-arg VERSION=" + version(t) + " ",
	} {
		if !strings.Contains(last+" ", want) {
			t.Errorf("no %q in docker %s", want, last)
		}
	}
	if got := slices.Sorted(maps.Keys(s.Env)); !slices.Equal(got, []string{"BUILDER", "PLATFORM"}) {
		t.Errorf("the build sees %s", got)
	}
}
