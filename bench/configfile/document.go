package configfile

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is the one document of a file, nil of an empty one.
func Document(data []byte) (*yaml.Node, Mistakes) {
	var root, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, Mistakes{syntax(err)}
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Mistakes{{Line: more.Line, Text: "more than one YAML document: remove the line ---"}}
	}
	return root.Content[0], nil
}

// Place gives a mistake the line of its field: the innermost part of it that is in
// the file.
func Place(entry *yaml.Node, m Mistake) Mistake {
	m.Line = entry.Line
	n := Resolved(entry)
	for _, name := range strings.Split(m.Field, ".") {
		i := slices.IndexFunc(n.Content, func(k *yaml.Node) bool { return k.Value == name })
		if n.Kind != yaml.MappingNode || i < 0 || i%2 != 0 {
			break
		}
		m.Line = n.Content[i].Line
		n = Resolved(n.Content[i+1])
	}
	return m
}

// syntax is what is wrong with a text that is no YAML.
func syntax(err error) Mistake {
	text := WithoutValues(err)
	m := Mistake{Text: "not YAML: " + text}
	if at := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(text); at != nil {
		m.Line, _ = strconv.Atoi(at[1])
		m.Text = "not YAML: " + at[2]
	}
	return m
}

// WithoutValues is the text of an error of reading YAML without what it repeats of
// the file: a secret in the wrong place would be part of that.
func WithoutValues(err error) string {
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
