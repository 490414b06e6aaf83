package dist

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestNotes: a release carries its part of the changelog, and a wrong tag is refused.
func TestNotes(t *testing.T) {
	const dated = "## 1.2.3 / 2026-11-30\n\n* [FEATURE] One.\n* [BUGFIX] Two.\n\n## 1.2.2 / 2026-10-30\n\n* [FEATURE] Old.\n"
	for name, c := range map[string]struct {
		tag, changelog, want, wrong string
	}{
		"the first part":    {tag: "v1.2.3", changelog: dated, want: "\n* [FEATURE] One.\n* [BUGFIX] Two.\n\n"},
		"another version":   {tag: "v1.2.4", changelog: dated, wrong: "the tag is v1.2.4, but VERSION says 1.2.3"},
		"no v":              {tag: "1.2.3", changelog: dated, wrong: "the tag is 1.2.3"},
		"not dated":         {tag: "v1.2.3", changelog: "## 1.2.3 / unreleased\n", wrong: `begins with "## 1.2.3 / unreleased"`},
		"older changelog":   {tag: "v1.2.3", changelog: "## 1.2.2 / 2026-10-30\n", wrong: `want "## 1.2.3 / YEAR-MONTH-DAY"`},
		"no heading at all": {tag: "v1.2.3", changelog: "text\n", wrong: `begins with "nothing"`},
	} {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			script := filepath.Join(tree, "deploy/dist/notes.sh")
			programtest.Write(t, script, programtest.Read(t, "notes.sh"))
			programtest.Write(t, filepath.Join(tree, "VERSION"), "1.2.3\n")
			programtest.Write(t, filepath.Join(tree, "CHANGELOG.md"), c.changelog)
			if c.wrong == "" {
				if diff := cmp.Diff(c.want, output(t, tree, nil, "sh", script, c.tag)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			out, err := command(t, tree, nil, "sh", script, c.tag).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.wrong) {
				t.Errorf("%v, %s, want %q", err, out, c.wrong)
			}
		})
	}
}

// TestCommit: a build knows its commit and its commit's time, says when the tree
// is not that commit, and does without git.
func TestCommit(t *testing.T) {
	programtest.Need(t, "git")
	script, err := filepath.Abs("../commit.sh")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	env := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(tree), "GIT_CONFIG_GLOBAL=/dev/null", "REVISION=", "SOURCE_DATE_EPOCH="}
	commit := func(more ...string) string {
		t.Helper()
		return output(t, tree, append(env, more...), "sh", "-c", `. "$1" && env`, "sh", script)
	}
	want := func(revision, epoch string, more ...string) {
		t.Helper()
		lines := strings.Split(commit(more...), "\n")
		for _, line := range []string{"REVISION=" + revision, "SOURCE_DATE_EPOCH=" + epoch} {
			if !slices.Contains(lines, line) {
				t.Errorf("no %s in\n%s", line, strings.Join(lines, "\n"))
			}
		}
	}
	want("unknown", "0")
	want("1234", "5678", "REVISION=1234", "SOURCE_DATE_EPOCH=5678")

	programtest.Write(t, filepath.Join(tree, "file"), "text\n")
	git := func(args ...string) string {
		return strings.TrimSpace(output(t, tree, append(env, "GIT_COMMITTER_DATE=1700000000 +0000"), append([]string{"git", "-c", "user.name=n", "-c", "user.email=e"}, args...)...))
	}
	git("init", "--quiet")
	git("add", "file")
	git("commit", "--quiet", "--message=one")
	head := git("rev-parse", "HEAD")[:12]
	want(head, "1700000000")
	programtest.Write(t, filepath.Join(tree, "other"), "text\n")
	want(head+"-modified", "1700000000")
}

// TestCheck: a second build in another folder, by another user's settings, decides;
// and the files must be those of the digests.
func TestCheck(t *testing.T) {
	programtest.Need(t, "git", "tar", "sha256sum")
	tree, release := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"deploy/dist/check.sh": programtest.Read(t, "check.sh"),
		"deploy/commit.sh":     programtest.Read(t, "../commit.sh"),
		"bin/program":          "from an earlier build\n",
		// Stands in for the build: its result depends on the source only.
		"deploy/dist/build.sh": `#!/bin/sh
set -e
cd "$(dirname "$0")/../.."
[ ! -e bin ] && [ "$(umask)" = 0077 ] && [ "$(stat -c %a source)" = 600 ] && [ "$PWD" != "$OTHER" ] && [ -n "$GOCACHE" ] || exit 1
mkdir "$1" && cp source "$1/file" && cd "$1" && sha256sum file >SHA256SUMS
`,
		"source": "one\n",
	} {
		programtest.Write(t, filepath.Join(tree, name), text)
	}
	if err := os.Chmod(filepath.Join(tree, "deploy/dist/build.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, filepath.Join(release, "file"), "one\n")
	programtest.Write(t, filepath.Join(release, "SHA256SUMS"), output(t, release, nil, "sha256sum", "file"))
	env := []string{"OTHER=" + tree, "GIT_CEILING_DIRECTORIES=" + filepath.Dir(tree), "GOCACHE="}
	check := func() (string, error) {
		out, err := command(t, tree, env, "sh", "deploy/dist/check.sh", release).CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil {
		t.Errorf("the same source: %v\n%s", err, out)
	}
	programtest.Write(t, filepath.Join(tree, "source"), "two\n")
	if out, err := check(); err == nil || !strings.Contains(out, "another build of the same tree differs") {
		t.Errorf("another source: %v\n%s", err, out)
	}
	programtest.Write(t, filepath.Join(tree, "source"), "one\n")
	programtest.Write(t, filepath.Join(release, "file"), "changed\n")
	if out, err := check(); err == nil || !strings.Contains(out, "file: FAILED") {
		t.Errorf("a changed file: %v\n%s", err, out)
	}
}
