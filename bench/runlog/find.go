package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Find returns the logs that paths stand for, in their order and each once. A
// path is a log, a folder that holds one, or a folder of such folders; the last
// gives all of them, sorted by name. It is an error when a path gives none.
func Find(paths ...string) ([]string, error) {
	var logs []string
	seen := map[string]bool{}
	for _, path := range paths {
		found, err := find(path)
		if err != nil {
			return nil, fmt.Errorf("finding traces: %w", err)
		}
		for _, log := range found {
			// A link to the latest run beside the runs must not count it twice.
			same, err := filepath.EvalSymlinks(log)
			if err != nil {
				return nil, fmt.Errorf("finding traces: %w", err)
			}
			if !seen[same] {
				logs = append(logs, log)
			}
			seen[same] = true
		}
	}
	return logs, nil
}

func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return []string{path}, nil
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is neither a file nor a folder", path) // a pipe can be read only once
	}
	if log, err := logIn(path); log != "" || err != nil {
		return []string{log}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var logs []string
	for _, e := range entries {
		log, err := logIn(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		if log != "" {
			logs = append(logs, log)
		}
	}
	if len(logs) == 0 {
		return nil, fmt.Errorf("no %s in %s nor in the folders in it", FileName, path)
	}
	return logs, nil
}

// logIn returns the log in a folder, empty when there is none.
func logIn(dir string) (string, error) {
	path := filepath.Join(dir, FileName)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", err
	case err == nil && info.Mode().IsRegular():
		return path, nil
	}
	return "", nil
}
