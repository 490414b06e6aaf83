package runlog

import (
	"fmt"
	"os"
	"path/filepath"
)

// Find returns the logs that paths stand for, in their order. A path is a log, a folder
// that holds one, or a folder of such folders; the last gives all of them, sorted by name.
// It is an error when a path gives none.
func Find(paths ...string) ([]string, error) {
	var logs []string
	for _, path := range paths {
		found, err := find(path)
		if err != nil {
			return nil, fmt.Errorf("finding traces: %w", err)
		}
		logs = append(logs, found...)
	}
	return logs, nil
}

func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if log := filepath.Join(path, FileName); isFile(log) {
		return []string{log}, nil
	}
	entries, err := os.ReadDir(path)
	var logs []string
	for _, e := range entries {
		if log := filepath.Join(path, e.Name(), FileName); isFile(log) {
			logs = append(logs, log)
		}
	}
	if err == nil && len(logs) == 0 {
		err = fmt.Errorf("no %s in %s nor in the folders in it", FileName, path)
	}
	return logs, err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
