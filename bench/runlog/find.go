package runlog

import (
	"fmt"
	"io/fs"
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
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	for _, pattern := range []string{FileName, "*/" + FileName} {
		found, _ := fs.Glob(os.DirFS(path), pattern) // the pattern is right
		for i := range found {
			found[i] = filepath.Join(path, found[i])
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("no %s in %s nor in the folders in it", FileName, path)
}
