package probe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// exampleFile is the least that a file may hold.
const exampleFile = "probes: [{url: http://127.0.0.1:8000}]"

// File is what a configuration file holds.
type File struct {
	// Targets are the probes that are good.
	Targets []Target
	// Unreadable tells which files that requests need cannot be read now, or are
	// empty: no mistake in the configuration, since they may come.
	Unreadable Mistakes

	path    string
	entries map[string]*yaml.Node // by the names of Targets
}

// Mistake is one in a field of a target of the file, with its place.
func (f File) Mistake(t Target, field, text string) Mistake {
	m := Mistake{Field: field, Text: text}
	if n := f.entries[t.Name()]; n != nil {
		m = placed(n, m)
	}
	m.File = f.path
	return m
}

// ReadFile reads a configuration file. Its error is of type [Mistakes], tells all
// that is wrong, and holds no secret of the file. What is good is returned beside it.
func ReadFile(path string) (File, error) {
	f, err := open(path)
	if err != nil {
		return File{}, Mistakes{{Text: fmt.Sprintf("opening the configuration: %v", err)}}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	switch {
	case err != nil:
		return File{}, Mistakes{{File: path, Text: fmt.Sprintf("reading the configuration: %v", err)}}
	case len(data) > maxConfigBytes:
		return File{}, Mistakes{{File: path, Text: fmt.Sprintf("more than %d bytes", maxConfigBytes)}}
	}
	file, mistakes := parse(data, filepath.Dir(path))
	file.path = path
	for _, all := range []Mistakes{mistakes, file.Unreadable} {
		for i := range all {
			all[i].File = path
		}
	}
	return file, mistakes.err()
}

// Parse reads a configuration's text. Relative file names in it are taken from
// dir. Its error is that of [ReadFile], without the file's name.
func Parse(data []byte, dir string) (File, error) {
	file, mistakes := parse(data, dir)
	return file, mistakes.err()
}

func parse(data []byte, dir string) (File, Mistakes) {
	root, mistakes := document(data)
	if mistakes != nil {
		return File{}, mistakes
	}
	left := maxNodes
	entries, mistakes := probesOf(root, newChecker(&left))
	file := File{entries: map[string]*yaml.Node{}}
	names := map[string]*yaml.Node{}
	for _, n := range entries {
		if left <= 0 {
			break
		}
		c := newChecker(&left)
		t := c.readEntry(n, dir)
		found := c.mistakes
		if name := cmp.Or(t.Name(), c.writtenName(n)); name != "" {
			found = append(found, sameName(names, n, name)...)
		}
		mistakes = append(mistakes, found...)
		if len(found) > 0 {
			continue
		}
		file.Targets = append(file.Targets, t)
		file.entries[t.Name()] = n
		for _, m := range t.CheckFiles() {
			file.Unreadable = append(file.Unreadable, placed(n, m))
		}
	}
	return file, mistakes.sorted()
}

// document is the one document of a file.
func document(data []byte) (*yaml.Node, Mistakes) {
	var root, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, Mistakes{{Line: 1, Text: "the file is empty, it must hold probes, such as " + exampleFile}}
	case err != nil:
		return nil, Mistakes{syntax(err)}
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Mistakes{{Line: more.Line, Text: "more than one YAML document: remove the line ---"}}
	}
	return root.Content[0], nil
}

// probesOf are the entries of the list of probes.
func probesOf(root *yaml.Node, c *checker) ([]*yaml.Node, Mistakes) {
	none := func(n *yaml.Node, field, text string) ([]*yaml.Node, Mistakes) {
		c.at(n, Mistake{Field: field, Text: text + ", such as " + exampleFile})
		return nil, c.mistakes
	}
	switch {
	case isNull(root):
		return none(root, "", "the file is empty, it must hold probes")
	case root.Kind != yaml.MappingNode:
		return none(root, "", "must be the field probes with a list")
	}
	var list, key *yaml.Node
	for k, value := range c.fields(root, "") {
		switch {
		case k.Value != "probes":
			c.at(k, unknownField("", k.Value, map[string]reflect.Type{"probes": reflect.TypeFor[[]Spec]()}))
		case key != nil:
			c.at(k, Mistake{Field: "probes", Text: fmt.Sprintf("is there twice, first in line %d", key.Line)})
		default:
			key, list = k, target(value)
		}
	}
	switch {
	case key == nil && len(c.mistakes) > 0:
		return nil, c.mistakes
	case key == nil:
		return none(root, "", "the file has no probes")
	case isNull(list):
		return none(key, "probes", "has nothing in it; write [] for none, or a list")
	case list.Kind != yaml.SequenceNode:
		return none(list, "probes", "must be a list")
	}
	return list.Content, c.mistakes
}

// readEntry reads one probe. What has the wrong form is told and left out, so that
// the rest is still looked at.
func (c *checker) readEntry(entry *yaml.Node, dir string) Target {
	n := target(entry)
	if isNull(n) {
		c.at(entry, Mistake{Field: "probes", Text: "an entry is empty: remove it, or give it a url"})
		return Target{}
	}
	c.value(n, reflect.TypeFor[Spec](), "")
	if n.Kind != yaml.MappingNode || c.badMerge { // without what it takes in, what is left says little
		return Target{}
	}
	var spec Spec
	if err := c.good(n).Decode(&spec); err != nil { // the only field that judges as it is read is http
		c.mistakes = append(c.mistakes, placed(entry, Mistake{Field: "http", Text: withoutValues(err)}))
		if err := c.good(n).Decode(&spec); err != nil {
			return Target{}
		}
	}
	t, err := spec.Validate(dir)
	var more Mistakes
	errors.As(err, &more)
	for _, m := range more {
		if !c.bad(m.Field) {
			c.mistakes = append(c.mistakes, placed(entry, m))
		}
	}
	return t
}

// good is an entry without what is wrong in it.
func (c *checker) good(entry *yaml.Node) *yaml.Node {
	known, _ := fieldsOf(reflect.TypeFor[Spec]())
	rest := *entry
	rest.Content = nil
	for i := 0; i+1 < len(entry.Content); i += 2 {
		key, value := entry.Content[i], entry.Content[i+1]
		_, isKnown := known[target(key).Value]
		if isKnown && !c.bad(target(key).Value) || key.Tag == mergeTag {
			rest.Content = append(rest.Content, key, value)
		}
	}
	return &rest
}

// bad reports whether something is wrong in the field of an entry that another
// field is, or is within.
func (c *checker) bad(field string) bool {
	first, _, _ := strings.Cut(field, ".")
	return slices.ContainsFunc(c.mistakes, func(m Mistake) bool { return m.Field == first || strings.HasPrefix(m.Field, first+".") })
}

// writtenName is the name that an entry gives itself, "" for none: two of one name are
// told also where something else is wrong with them.
func (c *checker) writtenName(entry *yaml.Node) string {
	n := target(entry)
	if n.Kind != yaml.MappingNode || c.bad("name") {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if value := target(n.Content[i+1]); target(n.Content[i]).Value == "name" && !isNull(value) {
			return value.Value
		}
	}
	return ""
}

// sameName tells when a name is another probe's already, and keeps it.
func sameName(names map[string]*yaml.Node, n *yaml.Node, name string) Mistakes {
	other, taken := names[name]
	if !taken {
		names[name] = n
		return nil
	}
	return Mistakes{placed(n, wrong("name", "two probes are named %.40q, the first in line %d: give each its own", name, other.Line))}
}

// placed gives a mistake the line of its field: the innermost part of it that is in
// the file.
func placed(entry *yaml.Node, m Mistake) Mistake {
	m.Line = entry.Line
	n := target(entry)
	for _, name := range strings.Split(m.Field, ".") {
		i := slices.IndexFunc(n.Content, func(k *yaml.Node) bool { return k.Value == name })
		if n.Kind != yaml.MappingNode || i < 0 || i%2 != 0 {
			break
		}
		m.Line = n.Content[i].Line
		n = target(n.Content[i+1])
	}
	return m
}

// syntax is what is wrong with a text that is no YAML.
func syntax(err error) Mistake {
	text := withoutValues(err)
	m := Mistake{Text: "not YAML: " + text}
	if at := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(text); at != nil {
		m.Line, _ = strconv.Atoi(at[1])
		m.Text = "not YAML: " + at[2]
	}
	return m
}

// withoutValues is the text of an error of reading YAML without what it repeats of
// the file: a secret in the wrong place would be part of that.
func withoutValues(err error) string {
	if errors.As(err, new(*yaml.TypeError)) { // the checker has told the usual ones, with their place
		return "a value is not what belongs there"
	}
	// What is quoted may hold quotes: all from the first to the last goes.
	text := regexp.MustCompile("(?s)[`'\"].*[`'\"]").ReplaceAllStringFunc(err.Error(), func(quoted string) string {
		if len(quoted) == 3 { // a sign that is missing
			return quoted
		}
		return "…"
	})
	text = regexp.MustCompile(`(?s)(unknown TLS version|invalid map key):.*`).ReplaceAllString(text, "$1")
	return strings.TrimPrefix(text, "yaml: ")
}
