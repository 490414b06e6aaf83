package probe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mistake is one thing that is wrong with a configuration. It repeats no value of the
// configuration but names, hosts and the names of files: a secret in the wrong place would
// be one.
type Mistake struct {
	File  string // "" for what is not in a file
	Line  int    // from 1; 0 where it is not known
	Field string // as "http.tls_config.ca_file"; "" for the whole
	Text  string // what is wrong
}

// Error is "file:line: field: what is wrong".
func (m Mistake) Error() string {
	text := m.Text
	if m.Field != "" {
		text = m.Field + ": " + text
	}
	switch {
	case m.File != "" && m.Line > 0:
		return fmt.Sprintf("%s:%d: %s", m.File, m.Line, text)
	case m.File != "":
		return m.File + ": " + text
	}
	return text
}

const (
	maxFileBytes = 1 << 20
	maxMistakes  = 20 // that are shown
)

// Mistakes are several.
type Mistakes []Mistake

// Error is a line for each mistake.
func (m Mistakes) Error() string {
	var lines []string
	for _, one := range m {
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// Err is nil for no mistake.
func (m Mistakes) Err() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// File is what a configuration file holds.
type File struct {
	Targets []Target
	// Unreadable lists the files that requests need and that cannot be read now, or are
	// empty: no mistake in the configuration, since they may come.
	Unreadable Mistakes

	path    string
	entries map[string]entry // by the names of Targets
}

// Mistake is one in a field of a target of the file, with its place.
func (f File) Mistake(t Target, field, text string) Mistake {
	return Mistake{File: f.path, Line: f.entries[t.Name()].line(field), Field: field, Text: text}
}

// ReadFile reads a configuration file. Its error is of type [Mistakes], names all that is
// wrong, and holds no secret of the file.
func ReadFile(path string) (File, error) {
	text, err := readBounded(path)
	if err != nil {
		return File{}, Mistakes{{Text: fmt.Sprintf("reading the configuration: %v", err)}}
	}
	file, mistakes := parse(text, path)
	return file, mistakes.Err()
}

// readBounded reads a file of at most [maxFileBytes].
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return text, err
}

// parse reads a configuration's text. Relative file names in it are taken from the folder
// of path.
func parse(text []byte, path string) (File, Mistakes) {
	var written document
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(&written)
	if err == nil && written.Probes == nil || errors.Is(err, io.EOF) {
		return File{}, Mistakes{{File: path, Line: 1, Field: "probes", Text: "is missing, such as probes: [{url: http://127.0.0.1:8000}]"}}
	}
	if err != nil && !errors.As(err, new(*yaml.TypeError)) { // nothing can be said of the entries
		return File{}, yamlMistakes(path, err)
	}
	if !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) {
		return File{}, Mistakes{{File: path, Text: "has text after its first document"}}
	}
	file := File{path: path, entries: map[string]entry{}}
	mistakes := yamlMistakes(path, err) // written is without the entries that have one
	for _, e := range written.Probes {
		t, err := e.spec.Validate(filepath.Dir(path))
		mistakes = append(mistakes, e.placed(path, err)...)
		if err != nil {
			continue
		}
		if other, taken := file.entries[t.Name()]; taken {
			text := fmt.Sprintf("two probes are named %.40q, the first in line %d: give each its own", t.Name(), other.line(""))
			mistakes = append(mistakes, Mistake{File: path, Line: e.line("name"), Field: "name", Text: text})
			continue
		}
		file.Targets = append(file.Targets, t)
		file.entries[t.Name()] = e
		file.Unreadable = append(file.Unreadable, e.placed(path, t.CheckFiles())...)
	}
	slices.SortStableFunc(mistakes, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	if more := len(mistakes) - maxMistakes; more > 0 {
		mistakes = append(mistakes[:maxMistakes], Mistake{File: path, Text: fmt.Sprintf("and %d more mistakes", more)})
	}
	return file, mistakes
}

// document is a file as it is written.
type document struct {
	Probes []entry `yaml:"probes"`
}

// entry is a probe as it stands in a file.
type entry struct {
	spec   Spec
	fields map[string]yaml.Node
}

// UnmarshalYAML implements yaml's interface that keeps the decoder strict. What is not
// written has its default.
func (e *entry) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Spec
	if err := unmarshal(&e.fields); err != nil {
		return err
	}
	e.spec = DefaultSpec()
	err := unmarshal((*plain)(&e.spec))
	if err == nil || errors.As(err, new(*yaml.TypeError)) {
		return err
	}
	// What judges itself as it is read, such as a duration, knows neither field nor line.
	wrong := &yaml.TypeError{}
	for _, name := range slices.Sorted(maps.Keys(e.fields)) {
		key, value := &yaml.Node{Kind: yaml.ScalarNode, Value: name}, e.fields[name]
		alone := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, &value}}
		if err := alone.Decode((*plain)(new(Spec))); err != nil {
			wrong.Errors = append(wrong.Errors, fmt.Sprintf("line %d: %s: %v", value.Line, name, err))
		}
	}
	return wrong
}

// line is that of the field of a probe that field is or is a part of, or of the entry.
func (e entry) line(field string) int {
	name, _, _ := strings.Cut(field, ".")
	if n, ok := e.fields[name]; ok {
		return n.Line
	}
	first := math.MaxInt
	for _, n := range e.fields {
		first = min(first, n.Line)
	}
	return first
}

// placed gives the mistakes of an entry their lines.
func (e entry) placed(path string, err error) Mistakes {
	var all Mistakes
	errors.As(err, &all)
	for i := range all {
		all[i].File, all[i].Line = path, e.line(all[i].Field)
	}
	return all
}

var (
	yamlLine     = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)
	yamlUnknown  = regexp.MustCompile(`field (\S+) not found in type \S+`)
	quotedInYAML = regexp.MustCompile("(?s)`.*`|\".*\"|'.*'")
)

// yamlMistakes are those of an error of the YAML library, without the values that it quotes.
func yamlMistakes(path string, err error) Mistakes {
	if err == nil {
		return nil
	}
	texts := []string{err.Error()}
	if typed := (*yaml.TypeError)(nil); errors.As(err, &typed) {
		texts = typed.Errors
	}
	var all Mistakes
	for _, text := range texts {
		m := Mistake{File: path, Text: strings.TrimPrefix(text, "yaml: ")}
		if at := yamlLine.FindStringSubmatch(text); at != nil {
			m.Line, _ = strconv.Atoi(at[1])
			m.Text = at[2]
		}
		m.Text = yamlUnknown.ReplaceAllString(m.Text, "unknown field $1")
		m.Text = quotedInYAML.ReplaceAllString(m.Text, "…")
		all = append(all, m)
	}
	return all
}
