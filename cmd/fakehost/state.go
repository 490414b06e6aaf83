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

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// state is the folder through which the server tells the tools its load, and a
// user tells all three what to do.
type state struct {
	dir string
}

// openState returns the folder that the user named, or else his own in the temporary
// folder. That one's name can be foretold, so it is made for him alone, and what
// somebody else may have put in its place is refused.
func openState() (state, error) {
	if dir := os.Getenv("FAKEHOST_STATE"); dir != "" {
		return state{dir: dir}, nil
	}
	st := state{dir: filepath.Join(os.TempDir(), "fakehost-"+strconv.Itoa(os.Getuid()))}
	_ = os.Mkdir(st.dir, 0o700)
	info, err := os.Lstat(st.dir) // not what a link points at
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil // no place to make it, as in an image without /tmp: no load, and no orders
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

// loadFile is what the server writes.
type loadFile struct {
	At    time.Time    `json:"at"`
	Cards fakesmi.Load `json:"cards"`
}

// loadAge is how old a load may be before the server counts as gone.
const loadAge = 5 * time.Second

func (s state) path(name string) string { return filepath.Join(s.dir, name) }

// writeLoad replaces the load at once, so that a tool never reads half of it.
func (s state) writeLoad(l fakesmi.Load) error {
	data, err := json.Marshal(loadFile{At: time.Now(), Cards: l})
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

// load is what the server does now; an idle machine when there is none.
func (s state) load() fakesmi.Load {
	var f loadFile
	data, err := os.ReadFile(s.path("load.json"))
	if err != nil || json.Unmarshal(data, &f) != nil || time.Since(f.At) > loadAge {
		return fakesmi.Load{}
	}
	return f.Cards
}

// setting reads a file such as mx-smi.fault, "" when there is none.
func (s state) setting(name string) string {
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// machine makes the machine of a tool, under the load and with what is wrong with its
// cards, such as mx-smi.card.
func (s state) machine(tool string, newMachine func(fakesmi.Load, fakesmi.Faults) model.Report) (model.Report, error) {
	faults, err := fakesmi.ParseFaults(s.setting(tool + ".card"))
	if err != nil {
		return model.Report{}, err
	}
	m := newMachine(s.load(), faults)
	return m, faults.Check(m.Devices)
}

// removeLoad removes the load when the server ends.
func (s state) removeLoad() { _ = os.Remove(s.path("load.json")) }
