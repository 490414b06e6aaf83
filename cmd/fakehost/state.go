package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// state is the folder through which the server tells the tools its load, and a
// user tells all three what to do.
type state struct {
	dir string
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
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
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
