package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const maxFileBytes = 1 << 20

// File is what a configuration file holds.
type File struct {
	Targets    []Target
	Unreadable []error // files that requests need: no mistake in the configuration, since they may come

	path  string
	lines map[string]int // of Targets, by name
}

// At is an error of a target of the file, with its place.
func (f File) At(t Target, err error) error { return withPlace(f.path, f.lines[t.Name()], err) }

// withPlace is an error with its place in the file; line is 0 where there is none.
func withPlace(path string, line int, err error) error {
	if line == 0 {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s:%d: %w", path, line, err)
}

// readBounded reads a file of at most [maxFileBytes].
func readBounded(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return text, err
}

// ReadFile reads a configuration file. Relative file names in it are taken from its folder. Its error is a line for
// each mistake, and repeats no value but names and hosts: it might be a secret.
func ReadFile(path string) (File, error) {
	text, err := readBounded(path)
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration: %w", err)
	}
	var written struct {
		Probes []entry `yaml:"probes"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err = decoder.Decode(&written)
	switch {
	case errors.Is(err, io.EOF), err == nil && written.Probes == nil:
		return File{}, withPlace(path, 1, errors.New("probes: is missing, such as probes: [{url: http://127.0.0.1:8000}]"))
	case err != nil:
		return File{}, yamlError(path, err)
	}
	file := File{path: path, lines: map[string]int{}}
	var all []error
	for _, e := range written.Probes {
		t, wrong := e.spec.Validate(filepath.Dir(path))
		if first := file.lines[t.Name()]; first > 0 && len(wrong) == 0 {
			wrong = []error{fmt.Errorf("name: two probes are named %.40q, the first in line %d: give each its own", t.Name(), first)}
		}
		for _, err := range wrong {
			all = append(all, withPlace(path, e.line, err))
		}
		if len(wrong) > 0 {
			continue
		}
		file.Targets = append(file.Targets, t)
		file.lines[t.Name()] = e.line
		for _, err := range t.CheckFiles() {
			file.Unreadable = append(file.Unreadable, file.At(t, err))
		}
	}
	return file, errors.Join(all...)
}

// entry is a probe as it stands in a file.
type entry struct {
	spec Spec
	line int // the first, 0 for a probe without a field
}

// UnmarshalYAML implements yaml's interface that keeps the decoder strict. What is not written has its default.
func (e *entry) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Spec
	var fields map[string]yaml.Node
	if err := unmarshal(&fields); err != nil {
		return err
	}
	e.spec = DefaultSpec()
	for _, value := range fields {
		if e.line == 0 || value.Line < e.line {
			e.line = value.Line
		}
	}
	err := unmarshal((*plain)(&e.spec))
	if err == nil || errors.As(err, new(*yaml.TypeError)) {
		return err
	}
	// What judges itself as it is read, such as a duration, knows neither field nor line.
	wrong := new(yaml.TypeError)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		key, value := &yaml.Node{Kind: yaml.ScalarNode, Value: name}, fields[name]
		alone := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, &value}}
		if err := alone.Decode(new(plain)); err != nil {
			wrong.Errors = append(wrong.Errors, fmt.Sprintf("line %d: %s: %v", value.Line, name, err))
		}
	}
	return wrong
}

var quotedInYAML = regexp.MustCompile("(?s)`.*`|\".*\"|'.*'")

// yamlError is an error of the YAML library, a line for each mistake, without the values
// that it quotes and the types of this program.
func yamlError(path string, err error) error {
	texts := []string{err.Error()}
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = typed.Errors
	}
	var all []error
	for _, text := range texts {
		text = quotedInYAML.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), "…")
		text, _, _ = strings.Cut(text, " in type ")
		text, _, _ = strings.Cut(text, " into ")
		place := path + ": "
		if rest, ok := strings.CutPrefix(text, "line "); ok { // a number follows
			place, text = path+":", rest
		}
		all = append(all, errors.New(place+text))
	}
	return errors.Join(all...)
}
