package command

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// lookUp returns the path of the program. The error is a *failure.Error with
// class not_found or permission.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	err = bare(err)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return "", failure.New(failure.Permission, "looking up %s: %w", name, err)
	case errors.Is(err, exec.ErrNotFound) && !strings.Contains(name, "/"):
		if path := refused(name); path != "" {
			return "", failure.New(failure.Permission, "looking up %s: %s is not executable", name, path)
		}
	}
	return "", failure.New(failure.NotFound, "looking up %s: %w", name, err)
}

// refused returns the file of that name on the PATH that may not be executed,
// which exec.LookPath passes over.
func refused(name string) string {
	if name == "" || name == "." || name == ".." {
		return ""
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// startFailure gives the error of starting the program at path its class.
func startFailure(path string, err error) error {
	var e *fs.PathError
	if !errors.As(err, &e) || e.Path != path {
		return failure.New(failure.Exit, "starting %s: %w", path, err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The file was there a moment ago, so it is what runs it that is missing.
		return failure.New(failure.NotFound, "starting %s: its interpreter: %w", path, e.Err)
	case errors.Is(err, fs.ErrPermission):
		return failure.New(failure.Permission, "starting %s: %w", path, e.Err)
	}
	return failure.New(failure.Exit, "starting %s: %w", path, e.Err)
}

// bare is err without the name and the path that the libraries put in front.
func bare(err error) error {
	var named *exec.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	var pathed *fs.PathError
	if errors.As(err, &pathed) {
		err = pathed.Err
	}
	return err
}
