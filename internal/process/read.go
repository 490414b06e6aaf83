package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a file of a process, such as numa_maps, and follows no link. What is no
// regular file is refused: a pipe in a made-up tree would be waited for. The caller bounds
// what it reads.
func (fs FS) Open(pid int, name string) (*os.File, error) {
	f, err := os.OpenFile(fs.path(pid, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cause(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	if err != nil {
		f.Close()
		return nil, cause(err)
	}
	return f, nil
}

// Read reads a file of a process, such as status, whole or, where it has more bytes than
// most, not at all.
func (fs FS) Read(pid int, name string, most int) ([]byte, error) {
	f, err := fs.Open(pid, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, cause(err)
	}
	if len(text) > most {
		return nil, fmt.Errorf("more than %d bytes", most)
	}
	return text, nil
}

// Between calls read between two looks at the process of a number. Unless both see the
// same process, what was read may be of another, which got the number meanwhile. It returns
// the first look and read's error; read is not called where the first look sees nobody.
func (fs FS) Between(pid int, read func() error) (before Stat, same bool, err error) {
	before, ok := fs.Stat(pid)
	if !ok {
		return Stat{}, false, nil
	}
	err = read()
	after, ok := fs.Stat(pid)
	return before, ok && after.Start == before.Start, err
}

// cause is err without the operation and the path that os puts in front.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
