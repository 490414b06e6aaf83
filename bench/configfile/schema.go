package configfile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// MaxNodes bounds how many parts of a file are looked at: with aliases a small file
// can have any number.
const MaxNodes = 50_000

// MergeTag is the tag of the key <<.
const MergeTag = "!!merge"

// Checker finds what is wrong with the shape of a YAML text, by the types it is to
// be read into, and says where.
type Checker struct {
	Mistakes Mistakes
	BadMerge bool // a merge key takes in what is wrong

	examples Examples
	left     *int                // parts that may be looked at
	within   map[*yaml.Node]bool // that are being looked at
}

// NewChecker returns one that looks at no more than left parts, which several may share.
func NewChecker(examples Examples, left *int) *Checker {
	return &Checker{examples: examples, left: left, within: map[*yaml.Node]bool{}}
}

// At adds a mistake at a part.
func (c *Checker) At(n *yaml.Node, m Mistake) {
	m.Line = n.Line
	c.Mistakes = append(c.Mistakes, m)
}

// mayLook counts a part, and reports whether it may be looked at: not when there are
// too many.
func (c *Checker) mayLook(n *yaml.Node) bool {
	*c.left--
	if *c.left == 0 {
		c.At(n, Mistake{Text: "the file has too many parts"})
	}
	return *c.left > 0
}

// Value looks at what is to be read into a type. A field with nothing in it keeps
// its default.
func (c *Checker) Value(n *yaml.Node, t reflect.Type, field string) {
	if !c.mayLook(n) {
		return
	}
	n = Resolved(n)
	if c.within[n] {
		c.At(n, Mistake{Field: field, Text: "contains itself"})
		return
	}
	c.within[n] = true
	defer delete(c.within, n)
	t = plain(t)
	if IsNull(n) {
		return
	}
	switch {
	case isMapping(t):
		c.mapping(n, t, field)
	case t.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			c.At(n, c.examples.Wrong(field, "must be a list"))
			return
		}
		for _, item := range n.Content {
			c.Value(item, t.Elem(), field)
		}
	case t.Kind() == reflect.Interface:
	default:
		c.leaf(n, t, field)
	}
}

// mapping looks at what is to be read into a struct or a map.
func (c *Checker) mapping(n *yaml.Node, t reflect.Type, field string) {
	if n.Kind != yaml.MappingNode {
		c.At(n, c.examples.Wrong(field, "must be fields with values"))
		return
	}
	known, others := FieldsOf(t)
	seen := map[string]int{}
	for key, value := range c.Fields(n, field) {
		line, twice := seen[key.Value]
		inner, isKnown := known[key.Value]
		switch {
		case key.Tag == MergeTag:
			c.merged(value, t, field)
			continue
		case twice:
			c.At(key, Mistake{Field: within(field, safeName(key.Value)), Text: fmt.Sprintf("is there twice, first in line %d", line)})
		case isKnown:
			c.Value(value, inner, within(field, key.Value))
		case others != nil:
			c.Value(value, others, field)
		default:
			c.At(key, UnknownField(field, key.Value, known))
		}
		seen[key.Value] = key.Line
	}
}

// merged looks at what a merge key takes in: a mapping, or a list of them.
func (c *Checker) merged(n *yaml.Node, t reflect.Type, field string) {
	if Resolved(n).Kind == yaml.SequenceNode {
		t = reflect.SliceOf(t)
	}
	before := len(c.Mistakes)
	c.Value(n, t, field)
	c.BadMerge = c.BadMerge || len(c.Mistakes) > before
}

// Fields yields the keys of a mapping with their values.
func (c *Checker) Fields(n *yaml.Node, field string) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := Resolved(n.Content[i]), n.Content[i+1]
			if !c.mayLook(key) {
				return
			}
			if key.Kind != yaml.ScalarNode {
				c.At(key, Mistake{Field: field, Text: "has a key that is no name"})
				continue
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// leaf looks at a value without parts.
func (c *Checker) leaf(n *yaml.Node, t reflect.Type, field string) {
	into := reflect.New(t)
	err := n.Decode(into.Interface())
	if err == nil {
		return
	}
	text := "cannot be read"
	switch {
	case t == reflect.TypeFor[model.Duration]():
		text = badDuration(n, err)
	case t == reflect.TypeFor[config.URL]():
		text = "must be a URL"
	case t == reflect.TypeFor[config.TLSVersion]():
		text = "must be one of TLS10, TLS11, TLS12, TLS13"
	case t.Kind() == reflect.Int:
		text = "must be a whole number"
	case t.Kind() == reflect.Bool:
		text = "must be true or false"
	case t.Kind() == reflect.String:
		text = "must be text"
	}
	c.At(n, c.examples.Wrong(field, "%s", text))
}

func badDuration(n *yaml.Node, err error) string {
	number, notANumber := strconv.ParseFloat(n.Value, 64)
	switch {
	case n.Kind != yaml.ScalarNode:
		return "must be a length of time"
	case strings.Contains(err.Error(), "out of range"):
		return "is too long"
	case notANumber == nil && number >= 0:
		return "has no unit"
	case strings.HasPrefix(n.Value, "-"):
		return "must not be negative"
	}
	return "must be whole numbers with units (ms, s, m, h)"
}

// UnknownField is one that is not there. Its name is told where it is one: else it
// may be a value that lost its field.
func UnknownField(parent, name string, known map[string]reflect.Type) Mistake {
	text := "unknown field"
	if safeName(name) != "" {
		text += " " + name
	}
	if field := keyField(name, known); field != "" {
		text += ", did you mean " + field + "?"
	} else if len(known) < 6 {
		text += ", known: " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	}
	return Mistake{Field: parent, Text: text}
}

// keyField is the field for the file of a key, as seen from fields that are known,
// where a name asks for that; "" else.
func keyField(name string, known map[string]reflect.Type) string {
	asks := slices.Contains([]string{"api_key", "api_key_file", "apikey", "key", "key_file", "token", "token_file", "credentials", "credentials_file"}, strings.ToLower(name))
	switch {
	case !asks:
		return ""
	case known["http"] != nil:
		return "http.authorization.credentials_file"
	case known["authorization"] != nil:
		return "authorization.credentials_file"
	}
	return ""
}

// plain is what a pointer points to.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// safeName is a key that has the form of a field's name, "" for another.
func safeName(key string) string {
	const longest = 40
	if len(key) > longest || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return key
}

func within(parent, field string) string {
	if parent == "" || field == "" {
		return parent + field
	}
	return parent + "." + field
}

// Resolved is what a node or an alias stands for.
func Resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// IsNull reports whether a part has nothing in it.
func IsNull(n *yaml.Node) bool { return n.Kind == 0 || n.ShortTag() == "!!null" }

// isMapping reports whether a type is read from fields with values.
func isMapping(t reflect.Type) bool {
	known, others := FieldsOf(t)
	return len(known) > 0 || others != nil
}

// FieldsOf are the types of a struct's fields by their names in YAML, and the type
// of fields with any name, as a map has them, nil if there are none.
func FieldsOf(t reflect.Type) (known map[string]reflect.Type, others reflect.Type) {
	known = map[string]reflect.Type{}
	switch t.Kind() {
	case reflect.Map:
		return known, t.Elem()
	case reflect.Struct:
	default:
		return known, nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported():
		case options == "inline":
			inner, more := FieldsOf(f.Type)
			maps.Copy(known, inner)
			if more != nil {
				others = more
			}
		case name != "" && name != "-":
			known[name] = f.Type
		}
	}
	return known, others
}
