package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// readTime bounds the wait for a file: one on a mount that hangs blocks whoever reads it.
const readTime = 5 * time.Second

// Why a file is not read although it is there.
var (
	ErrNotRegular = errors.New("not a regular file") // a pipe is waited for, a device may never end
	ErrTooLarge   = errors.New("file is too large")
	ErrSlow       = fmt.Errorf("not read within %s", readTime)
)

// Files reads files that may be anything at the moment they are needed. A read that
// hangs is given up, and no other of the same file is started until it is over. The zero
// value is ready; it may be used from several goroutines at once.
type Files struct {
	// Sent is told each credential that is read, which is about to be sent, with the
	// context of the request.
	Sent func(ctx context.Context, credential string)

	read    func(path string, limit int64) (string, error) // readRegular, but in tests
	mu      sync.Mutex
	reading map[wanted]*reading
}

// wanted is what somebody reads.
type wanted struct {
	path  string
	limit int64
}

// reading is a read that may be under way. What it gave is there when done is closed.
type reading struct {
	began time.Time
	done  chan struct{}
	text  string
	err   error
}

// Read returns what a regular file of at most limit bytes holds. It takes at most 5 s,
// and no longer than ctx. Its error is of type [fs.PathError].
func (f *Files) Read(ctx context.Context, path string, limit int64) (string, error) {
	r := f.begin(wanted{path, limit})
	late := time.NewTimer(readTime - time.Since(r.began))
	defer late.Stop()
	select {
	case <-r.done:
		return r.text, r.err
	case <-late.C:
		return "", &fs.PathError{Op: "read", Path: path, Err: ErrSlow}
	case <-ctx.Done():
		return "", &fs.PathError{Op: "read", Path: path, Err: context.Cause(ctx)}
	}
}

// begin starts a read, or joins the one that is under way.
func (f *Files) begin(w wanted) *reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.reading[w]; r != nil {
		return r
	}
	if f.reading == nil {
		f.reading = map[wanted]*reading{}
	}
	r := &reading{began: time.Now(), done: make(chan struct{})}
	f.reading[w] = r
	read := f.read
	if read == nil {
		read = readRegular
	}
	go func() { // nobody can end a read that hangs, so nobody waits for it
		r.text, r.err = read(w.path, w.limit)
		f.mu.Lock()
		delete(f.reading, w)
		f.mu.Unlock()
		close(r.done)
	}()
	return r
}

// readRegular reads a regular file, and waits for nobody who is to write one.
func readRegular(path string, limit int64) (string, error) {
	// Asked before too: opening a device may do something.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	switch info, err := file.Stat(); {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return "", err
	case int64(len(text)) > limit:
		return "", &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d KiB", ErrTooLarge, limit>>10)}
	}
	return string(text), nil
}
