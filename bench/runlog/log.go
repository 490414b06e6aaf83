package runlog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// maxLine bounds one line, in bytes: about three million chunks.
const maxLine = 64 << 20

var errNoLog = errors.New("no log of accelbench: the first line does not say what was run")

// Read hands each record of a log to take, the run first, until take returns an error. damaged are lines that could not
// be read. A file that does not begin with a run, or of a later [Schema], is refused; unknown kinds are passed over.
func Read(path string, take func(Record) error) (damaged int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		rec, broken := Decode(lines.Bytes())
		switch run := rec.Run; {
		case n == 1 && (run == nil || run.Schema < 1):
			return 0, errNoLog
		case n == 1 && run.Schema > Schema:
			return 0, fmt.Errorf("it was written by a later version (schema %d, this one reads %d): use that version", run.Schema, Schema)
		case n == 1 && broken != nil:
			return 0, fmt.Errorf("line 1: it does not say what was run: %w", broken)
		case broken != nil:
			damaged++
			continue
		}
		if err := take(rec); err != nil {
			return damaged, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if n == 0 {
		return 0, cmp.Or(lines.Err(), errNoLog)
	}
	return damaged, lines.Err()
}

// Decode reads one line. A record of a kind that is not known is the zero one. Of a request as it is written, what
// stands before the trace and the trace are decoded apart: encoding/json would look through the trace twice.
func Decode(line []byte) (rec Record, err error) {
	body, starts := bytes.CutPrefix(line, []byte(`{"request":`))
	body, ends := bytes.CutSuffix(body, []byte(`}}`))
	head, trace, found := bytes.Cut(body, []byte(`,"trace":`))
	if starts && ends && found {
		q := new(Request)
		if json.Unmarshal(slices.Concat(head, []byte{'}'}), q) == nil && q.Trace.UnmarshalJSON(trace) == nil {
			return Record{Request: q}, nil
		}
	}
	err = json.Unmarshal(line, &rec)
	return rec, err
}

// Find returns the logs that paths stand for, each a log, a folder that holds one, or a folder of such folders.
func Find(paths ...string) (logs []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("finding traces: %w", err)
		}
		found := []string{path}
		if info.IsDir() {
			for _, pattern := range []string{FileName, "*/" + FileName} {
				if found, _ = fs.Glob(os.DirFS(path), pattern); len(found) > 0 { // the pattern is right
					break
				}
			}
			for i := range found {
				found[i] = filepath.Join(path, found[i])
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("finding traces: no %s in %s nor in the folders in it", FileName, path)
		}
		logs = append(logs, found...)
	}
	return logs, nil
}

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
