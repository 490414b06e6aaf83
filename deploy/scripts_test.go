package deploy

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestShellScripts: no script has a mistake that shellcheck knows.
func TestShellScripts(t *testing.T) {
	shellcheck := programtest.Find(t, "shellcheck")
	root := programtest.Root(t)
	shebang := regexp.MustCompile(`^#!(/bin/sh|/usr/bin/env bash)\n`)
	var scripts []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, name) {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if ext := filepath.Ext(name); ext == ".sh" || (ext == "" && shebang.MatchString(programtest.Read(t, path))) {
			scripts = append(scripts, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []string{".ci/run", "deploy/collect.sh", "deploy/demo/run.sh", "deploy/dist/build.sh", "deploy/dist/debian/postinst"} {
		if !slices.Contains(scripts, known) {
			t.Errorf("%s was not found", known)
		}
	}
	check := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), shellcheck, append([]string{"--external-sources", "--source-path=" + root}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, name := range scripts {
		args := []string{name}
		if text := programtest.Read(t, filepath.Join(root, name)); !shebang.MatchString(text) && !strings.HasPrefix(text, "# shellcheck shell=sh\n") {
			args = append(args, "--shell=sh") // what runs it says so
		}
		if out, err := check(args...); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	wrong := filepath.Join(t.TempDir(), "wrong.sh")
	programtest.Write(t, wrong, "#!/bin/sh\nrm -rf $1/*\n")
	if out, err := check(wrong); err == nil {
		t.Errorf("a script with a mistake passes:\n%s", out)
	}
}
