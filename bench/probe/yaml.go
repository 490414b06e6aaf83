package probe

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is one probe of a file. An error that tells no line is kept, to be told
// with the probe's place.
type entry struct {
	spec Spec
	err  error
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (e *entry) UnmarshalYAML(unmarshal func(any) error) error {
	err := unmarshal(&e.spec)
	if errors.As(err, new(*yaml.TypeError)) {
		return err
	}
	e.err = err
	return nil
}

// outline is where the probes of a file are, for errors.
type outline []yaml.Node

// readOutline reads a file that was read before, so what is wrong is known.
func readOutline(data []byte) outline {
	var file struct {
		Probes outline `yaml:"probes"`
	}
	_ = yaml.Unmarshal(data, &file)
	return file.Probes
}

// empty returns the first entry with nothing in it, which the decoder leaves out,
// -1 for none.
func (o outline) empty() int {
	return slices.IndexFunc(o, func(n yaml.Node) bool {
		if n.Kind == yaml.AliasNode {
			n = *n.Alias
		}
		return n.ShortTag() == "!!null"
	})
}

// name says which probe is meant: by its name, else by what else is known of it and
// is no secret.
func (o outline) name(i int) string {
	var known struct{ Name, URL string }
	_ = o[i].Decode(&known) // what is of another type stays empty
	if known.Name != "" {
		return fmt.Sprintf("probe %d (%.40q)", i+1, known.Name)
	}
	text := fmt.Sprintf("probe %d (line %d, no name", i+1, o[i].Line)
	// Of the URL no more than the host: a path or a user may be a key.
	if u, err := url.Parse(known.URL); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		text += fmt.Sprintf(", url %s://%.80s", u.Scheme, u.Host)
	}
	return text + ")"
}

// shown is an error that repeats no value of the file.
type shown string

func (s shown) Error() string { return string(s) }

// withoutValues is an error of reading YAML without what it repeats of the file:
// a secret in the wrong place would be part of that.
func withoutValues(err error) error {
	if errors.As(err, new(shown)) {
		return err
	}
	if several := (*yaml.TypeError)(nil); errors.As(err, &several) {
		lines := make([]string, 0, len(several.Errors))
		for _, e := range several.Errors {
			lines = append(lines, lineError(e))
		}
		return shown(strings.Join(slices.Compact(lines), "; "))
	}
	// What is quoted may hold quotes: all from the first to the last goes.
	text := regexp.MustCompile("(?s)[`'\"].*[`'\"]").ReplaceAllStringFunc(err.Error(), func(quoted string) string {
		if len(quoted) == 3 { // a sign that is missing
			return quoted
		}
		return "…"
	})
	text = regexp.MustCompile(`(?s)(unknown TLS version|invalid map key):.*`).ReplaceAllString(text, "$1")
	return shown(strings.TrimPrefix(text, "yaml: "))
}

// lineError tells what is known to hold no value of one of the decoder's errors,
// which all start with the line.
func lineError(e string) string {
	line := regexp.MustCompile(`^line \d+: `).FindString(e)
	// A name of another form may be a value that lost its field.
	field := regexp.MustCompile(`^line \d+: field ([a-z_]{1,40}) (not found|already set) in type `).FindStringSubmatch(e)
	mistyped := regexp.MustCompile(`(?s)^line \d+: cannot unmarshal (!!(?:str|int|float|bool|null|seq|map|timestamp|binary)) .*into (\S+)$`).FindStringSubmatch(e)
	switch {
	case field != nil && field[2] == "not found":
		return line + "unknown field " + field[1]
	case field != nil:
		return line + "field " + field[1] + " is there twice"
	case mistyped != nil && strings.HasSuffix(mistyped[2], ".entry"):
		return line + "cannot read " + mistyped[1] + " as a list of probes"
	case mistyped != nil && strings.HasSuffix(mistyped[2], ".plain"):
		return line + "cannot read " + mistyped[1] + " as a mapping"
	case mistyped != nil:
		return line + "cannot read " + mistyped[1] + " as " + mistyped[2]
	case strings.Contains(e, "not found in type"):
		return line + "unknown field"
	case strings.Contains(e, "already"):
		return line + "a key that is there already"
	}
	return line + "not what belongs there"
}
