package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Writer writes a log. It may be used from several goroutines.
type Writer struct {
	mu   sync.Mutex
	file *os.File
}

// Create makes the folder dir, if there is none, and a log in it that begins
// with run, whose Schema it sets. A folder that holds a log already is refused.
func Create(dir string, run Run) (*Writer, error) {
	run.Schema = Schema
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for traces: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s holds the log of another run (%s): choose another folder", dir, FileName)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the file for traces: %w", err)
	}
	w := &Writer{file: file}
	return w, w.Write(Record{Run: &run})
}

// Write adds a line and returns when the kernel has it: no death of this program loses it any more.
func (w *Writer) Write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding a record of traces: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keeping traces: %w", err)
	}
	return nil
}

// Close brings the log to the disk and closes it.
func (w *Writer) Close() error {
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return fmt.Errorf("closing traces: %w", err)
	}
	return nil
}
