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
	"runtime"
	"slices"
	"sync"

	fastjson "github.com/segmentio/encoding/json" // which takes a fifth of the time of encoding/json: a report reads millions of numbers
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
	for batch := decodeBatch(lines); len(batch) > 0; batch = decodeBatch(lines) {
		for _, l := range batch {
			n++
			switch run := l.rec.Run; {
			case n == 1 && run != nil && run.Schema > Schema:
				return 0, fmt.Errorf("it was written by a later version (schema %d, this one reads %d): use that version", run.Schema, Schema)
			case n == 1 && (run == nil || run.Schema < 1):
				return 0, errNoLog
			case n == 1 && l.err != nil:
				return 0, fmt.Errorf("line 1: it does not say what was run: %w", l.err)
			case l.err != nil:
				damaged++
				continue
			}
			if err := take(l.rec); err != nil {
				return damaged, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	if n == 0 {
		return 0, cmp.Or(lines.Err(), errNoLog)
	}
	return damaged, lines.Err()
}

type line struct {
	text []byte
	rec  Record
	err  error
}

// decodeBatch decodes the next lines on all cores. There are none at the end.
func decodeBatch(lines *bufio.Scanner) (batch []line) {
	const size = 1 << 20 // bytes: what is decoded of them is a few times as large, of samples fifty times
	for read := 0; read < size && lines.Scan(); read += 1<<10 + len(lines.Bytes()) {
		batch = append(batch, line{text: bytes.Clone(lines.Bytes())})
	}
	var decoding sync.WaitGroup
	for part := range slices.Chunk(batch, 1+len(batch)/runtime.GOMAXPROCS(0)) {
		decoding.Go(func() {
			for i := range part {
				part[i].rec, part[i].err = decode(part[i].text)
			}
		})
	}
	decoding.Wait()
	return batch
}

// decode reads one line. A record of a kind that is not known is the zero one.
func decode(line []byte) (rec Record, err error) {
	const most = 1 << 17 // lists and objects: the decoder has no bound of their depth
	if bytes.Count(line, []byte{'['})+bytes.Count(line, []byte{'{'}) > most {
		return rec, errors.New("it has more lists and objects than any record")
	}
	err = fastjson.Unmarshal(line, &rec)
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
	return w, w.Write(Record{Run: &run, Rank: run.Rank})
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
