package command

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// Available reports whether a program of that name or path can be run now.
func Available(name string) bool {
	_, err := process.LookPath(name)
	return err == nil
}

// lookUp returns the path of the program. The error is a *failure.Error with
// class not_found or permission.
func lookUp(name string) (string, error) {
	path, err := process.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return "", failure.New(failure.Permission, "looking up %s: %w", name, err)
	}
	return "", failure.New(failure.NotFound, "looking up %s: %w", name, err)
}

// startFailure gives an error of starting a program its class.
func startFailure(err error) error {
	var classified *failure.Error
	switch {
	case errors.As(err, &classified):
		return err
	case errors.Is(err, context.Canceled):
		return failure.New(failure.Timeout, "%w", err)
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.NotFound, "%w", err)
	case errors.Is(err, fs.ErrPermission):
		return failure.New(failure.Permission, "%w", err)
	}
	return failure.New(failure.Exit, "%w", err)
}
