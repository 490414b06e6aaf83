package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/bench/configfile"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
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
		m = configfile.Place(n, m)
	}
	m.File = f.path
	return m
}

// ReadFile reads a configuration file. Its error is of type [Mistakes], tells all
// that is wrong, and holds no secret of the file. What is good is returned beside it.
// It takes 5 s for a file that hangs, and no longer than ctx.
func ReadFile(ctx context.Context, path string, read *Files) (File, error) {
	text, err := read.Read(ctx, path, maxConfigBytes)
	switch {
	case errors.Is(err, transport.ErrTooLarge):
		return File{}, Mistakes{{File: path, Text: fmt.Sprintf("more than %d bytes", maxConfigBytes)}}
	case err != nil:
		return File{}, Mistakes{{Text: fmt.Sprintf("opening the configuration: %v", err)}}
	}
	file, mistakes := parse(ctx, []byte(text), filepath.Dir(path), read)
	file.path = path
	for _, all := range []Mistakes{mistakes, file.Unreadable} {
		for i := range all {
			all[i].File = path
		}
	}
	return file, mistakes.Err()
}

// parse reads a configuration's text. Relative file names in it are taken from dir. Its
// mistakes are those of [ReadFile], without the file's name.
func parse(ctx context.Context, data []byte, dir string, read *Files) (File, Mistakes) {
	root, mistakes := configfile.Document(data)
	switch {
	case mistakes != nil:
		return File{}, mistakes
	case root == nil:
		return File{}, Mistakes{{Line: 1, Text: "the file is empty, it must hold probes, such as " + exampleFile}}
	}
	left := configfile.MaxNodes
	entries, mistakes := probesOf(root, newChecker(&left))
	file := File{entries: map[string]*yaml.Node{}}
	names := map[string]*yaml.Node{}
	validate := func(s Spec) (Target, error) { return s.Validate(ctx, dir, read) }
	for _, n := range entries {
		if left <= 0 {
			break
		}
		c := newChecker(&left)
		t := c.readEntry(n, validate)
		found := c.Mistakes
		if name := cmp.Or(t.Name(), c.writtenName(n)); name != "" {
			found = append(found, duplicateName(names, n, name)...)
		}
		mistakes = append(mistakes, found...)
		if len(found) > 0 {
			continue
		}
		file.Targets = append(file.Targets, t)
		file.entries[t.Name()] = n
		for _, m := range t.CheckFiles(ctx, read) {
			file.Unreadable = append(file.Unreadable, configfile.Place(n, m))
		}
	}
	return file, mistakes.Sorted()
}

// probesOf are the entries of the list of probes.
func probesOf(root *yaml.Node, c *checker) ([]*yaml.Node, Mistakes) {
	none := func(n *yaml.Node, field, text string) ([]*yaml.Node, Mistakes) {
		c.At(n, Mistake{Field: field, Text: text + ", such as " + exampleFile})
		return nil, c.Mistakes
	}
	switch {
	case configfile.IsNull(root):
		return none(root, "", "the file is empty, it must hold probes")
	case root.Kind != yaml.MappingNode:
		return none(root, "", "must be the field probes with a list")
	}
	var list, key *yaml.Node
	for k, value := range c.Fields(root, "") {
		switch {
		case k.Value != "probes":
			c.At(k, configfile.UnknownField("", k.Value, map[string]reflect.Type{"probes": reflect.TypeFor[[]Spec]()}))
		case key != nil:
			c.At(k, Mistake{Field: "probes", Text: fmt.Sprintf("is there twice, first in line %d", key.Line)})
		default:
			key, list = k, configfile.Resolved(value)
		}
	}
	switch {
	case key == nil && len(c.Mistakes) > 0:
		return nil, c.Mistakes
	case key == nil:
		return none(root, "", "the file has no probes")
	case configfile.IsNull(list):
		return none(key, "probes", "has nothing in it; write [] for none, or a list")
	case list.Kind != yaml.SequenceNode:
		return none(list, "probes", "must be a list")
	}
	return list.Content, c.Mistakes
}

// readEntry reads one probe. What has the wrong form is told and left out, so that
// the rest is still looked at.
func (c *checker) readEntry(entry *yaml.Node, validate func(Spec) (Target, error)) Target {
	n := configfile.Resolved(entry)
	if configfile.IsNull(n) {
		c.At(entry, Mistake{Field: "probes", Text: "an entry is empty: remove it, or give it a url"})
		return Target{}
	}
	c.Value(n, reflect.TypeFor[Spec](), "")
	if n.Kind != yaml.MappingNode || c.BadMerge { // without what it takes in, what is left says little
		return Target{}
	}
	var spec Spec
	if err := c.withoutMistakes(n).Decode(&spec); err != nil { // the only field that judges as it is read is http
		c.Mistakes = append(c.Mistakes, configfile.Place(entry, Mistake{Field: "http", Text: configfile.WithoutValues(err)}))
		if err := c.withoutMistakes(n).Decode(&spec); err != nil {
			return Target{}
		}
	}
	t, err := validate(spec)
	var more Mistakes
	errors.As(err, &more)
	for _, m := range more {
		if !c.hasMistake(m.Field) {
			c.Mistakes = append(c.Mistakes, configfile.Place(entry, m))
		}
	}
	return t
}

// withoutMistakes is an entry without what is wrong in it.
func (c *checker) withoutMistakes(entry *yaml.Node) *yaml.Node {
	known, _ := configfile.FieldsOf(reflect.TypeFor[Spec]())
	rest := *entry
	rest.Content = nil
	for i := 0; i+1 < len(entry.Content); i += 2 {
		key, value := entry.Content[i], entry.Content[i+1]
		_, isKnown := known[configfile.Resolved(key).Value]
		if isKnown && !c.hasMistake(configfile.Resolved(key).Value) || key.Tag == configfile.MergeTag {
			rest.Content = append(rest.Content, key, value)
		}
	}
	return &rest
}

// hasMistake reports whether something is wrong in the field of an entry that another
// field is, or is within.
func (c *checker) hasMistake(field string) bool {
	first, _, _ := strings.Cut(field, ".")
	return slices.ContainsFunc(c.Mistakes, func(m Mistake) bool { return m.Field == first || strings.HasPrefix(m.Field, first+".") })
}

// writtenName is the name that an entry gives itself, "" for none: two of one name are
// told also where something else is wrong with them.
func (c *checker) writtenName(entry *yaml.Node) string {
	n := configfile.Resolved(entry)
	if n.Kind != yaml.MappingNode || c.hasMistake("name") {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if value := configfile.Resolved(n.Content[i+1]); configfile.Resolved(n.Content[i]).Value == "name" && !configfile.IsNull(value) {
			return value.Value
		}
	}
	return ""
}

// duplicateName is the mistake of a name that another probe has already; else it keeps
// the name.
func duplicateName(names map[string]*yaml.Node, n *yaml.Node, name string) Mistakes {
	other, taken := names[name]
	if !taken {
		names[name] = n
		return nil
	}
	return Mistakes{configfile.Place(n, mistake("name", "two probes are named %.40q, the first in line %d: give each its own", name, other.Line))}
}
