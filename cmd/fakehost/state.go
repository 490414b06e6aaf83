package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
)

// state is the folder through which the server gives the tools its load, and a
// user says what all of them are to do.
type state struct {
	dir string
}

// openState returns the folder that the user named, or else one in the temporary
// folder. The name of that one can be guessed, so it is made for this user alone, and what
// somebody else may have put in its place is refused.
func openState() (state, error) {
	if dir := os.Getenv("FAKEHOST_STATE"); dir != "" {
		return state{dir: dir}, nil
	}
	st := state{dir: filepath.Join(os.TempDir(), "fakehost-"+strconv.Itoa(os.Getuid()))}
	_ = os.Mkdir(st.dir, 0o700)
	info, err := os.Lstat(st.dir) // not what a link points at
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil // no place to make it, as in an image without /tmp: no load and no faults
	}
	if err != nil {
		return state{}, fmt.Errorf("looking at the state folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm() != 0o700 {
		return state{}, fmt.Errorf("%s must be a folder of your own with mode 0700, and is %s of user %d: remove it, or set FAKEHOST_STATE", st.dir, info.Mode(), owner.Uid)
	}
	return st, nil
}

func (s state) path(name string) string { return filepath.Join(s.dir, name) }

// setting reads a file such as mx-smi.fault, "" when there is none.
func (s state) setting(name string) string {
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// read returns what a tool is to print of.
func (s state) read(t *smi.Tool) smi.State {
	st := smi.State{Load: s.readLoad(), Orders: map[string]string{}}
	for _, name := range t.Orders() {
		st.Orders[name] = s.setting(name)
		if info, err := os.Stat(s.path(name)); err == nil && strings.HasSuffix(name, ".card") {
			st.Since = info.ModTime()
		}
	}
	return st
}

// loadAge is how old a load may be before the server counts as gone.
const loadAge = 5 * time.Second

// writeLoad gives the tools the load, at once, so that nobody reads half of it.
func (s state) writeLoad(l smi.Load) error {
	before := s.readLoad()
	l.At = time.Now()
	if !before.At.IsZero() {
		l.BusySeconds = before.BusySeconds + l.Busy*min(max(0, l.At.Sub(before.At)), loadAge).Seconds()
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	temporary := s.path("load.json.new")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, s.path("load.json"))
}

// readLoad returns what the server does now. Of a server that has ended only the work it has done is left.
func (s state) readLoad() smi.Load {
	var l smi.Load
	data, err := os.ReadFile(s.path("load.json"))
	if err != nil || json.Unmarshal(data, &l) != nil {
		return smi.Load{}
	}
	if time.Since(l.At) > loadAge {
		return smi.Load{At: l.At, BusySeconds: l.BusySeconds}
	}
	return l
}
