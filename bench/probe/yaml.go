package probe

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
