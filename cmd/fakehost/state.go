package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
)

// state is the folder through which the server gives the tools its load, and a user says what all of them are to do.
type state string

func (s state) path(name string) string { return filepath.Join(string(s), name) }

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
	if err := os.MkdirAll(string(s), 0o700); err != nil {
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
	if err := json.Unmarshal([]byte(s.setting("load.json")), &l); err != nil {
		return smi.Load{}
	}
	if time.Since(l.At) > loadAge {
		return smi.Load{At: l.At, BusySeconds: l.BusySeconds}
	}
	return l
}
