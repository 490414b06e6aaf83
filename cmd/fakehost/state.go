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
	// Busy is for how many seconds of full load the server has worked since the folder began.
	Busy float64 `json:"busy"`
}

// loadAge is how old a load may be before the server counts as gone.
const loadAge = 5 * time.Second

func (s state) path(name string) string { return filepath.Join(s.dir, name) }

// replace writes a file at once, so that nobody ever reads half of it.
func (s state) replace(name string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	temporary := s.path(name + ".new")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, s.path(name))
}

// writeLoad tells the tools the load, and that it was the same since it was last told.
func (s state) writeLoad(l fakesmi.Load) error {
	before, _ := s.readLoad()
	now := time.Now()
	since := min(max(0, now.Sub(before.At)), loadAge)
	return s.replace("load.json", loadFile{At: now, Cards: l, Busy: before.Busy + l.Busy*since.Seconds()})
}

// readLoad returns what the server wrote last; nothing where it never did.
func (s state) readLoad() (f loadFile, err error) {
	data, err := os.ReadFile(s.path("load.json"))
	if err != nil {
		return loadFile{}, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return loadFile{}, fmt.Errorf("reading the load: %w", err)
	}
	return f, nil
}

// load is what the server does now; an idle machine when there is none.
func (s state) load() fakesmi.Load {
	f, err := s.readLoad()
	if err != nil || time.Since(f.At) > loadAge {
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
func (s state) machine(tool string, newMachine func(fakesmi.Load, fakesmi.Faults) model.Report) (model.Report, fakesmi.Faults, error) {
	faults, err := fakesmi.ParseFaults(s.setting(tool + ".card"))
	if err != nil {
		return model.Report{}, nil, err
	}
	m := newMachine(s.load(), faults)
	if text := s.setting(tool + ".processes"); text != "" {
		if m.Processes, err = fakesmi.ParseProcesses(text, m.Devices); err != nil {
			return model.Report{}, nil, err
		}
	}
	return m, faults, faults.Check(m.Devices)
}

// life brings the life of a tool's machine to now. It is kept in a file such as
// mx-smi.life, which the server writes too: a tool may not be allowed to. Whoever finds
// it taken leaves the writing to the other.
func (s state) life(tool string, faults fakesmi.Faults, devices []model.Device) (*fakesmi.Life, error) {
	name := tool + ".life"
	_ = os.MkdirAll(s.dir, 0o755) // one that cannot be made is one that cannot be written
	unlock, err := lockFile(s.path(tool+".lock"), os.O_CREATE|os.O_RDWR)
	if err == nil {
		defer unlock()
	}
	var l fakesmi.Life
	if data, err := os.ReadFile(s.path(name)); err == nil {
		if err := json.Unmarshal(data, &l); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	load, _ := s.readLoad() // nothing has worked where there is none
	if !l.Live(fakesmi.Moment{At: time.Now(), Busy: load.Busy}, faults, devices) || err != nil {
		return &l, nil
	}
	return &l, s.replace(name, l)
}

// keepLives brings every tool's machine to now. What is wrong with their files, the
// tools tell.
func (s state) keepLives() {
	for _, tool := range []string{"mx-smi", "ht-smi"} {
		machine, faults, err := s.machine(tool, func(load fakesmi.Load, faults fakesmi.Faults) model.Report {
			return fakesmi.MetaXMachine("", load, faults...)
		})
		if err == nil {
			_, _ = s.life(tool, faults, machine.Devices)
		}
	}
	if h, err := s.ascendHost(); err == nil {
		_, _ = s.life("npu-smi", h.faults, h.machine.Devices)
	}
}

// errLocked is that another process holds a lock.
var errLocked = errors.New("locked")

// lockFile holds a file or a folder until unlock, or until the process is gone.
func lockFile(path string, mode int) (unlock func(), err error) {
	file, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// endLoad tells that the server has ended. What it has done stays known.
func (s state) endLoad() { _ = s.writeLoad(fakesmi.Load{}) }
