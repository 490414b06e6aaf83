// Package side runs the command of each side of a comparison: a server under
// one binding, then the same under another. What a command started ends with its
// side, on Linux also daemons; docs/design.md says what gets away.
package side

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const maxName = 64

// Side is one side of a comparison and the command that makes it so.
type Side struct {
	Name string   // 1 to 64 letters, digits, '.', '_' and '-', fit for a file name
	Argv []string // the program and its arguments, at least one; no shell reads them
	// Binding is what the command is bound to in words, in a comparison of bindings, and
	// Recommended that it is the one that the cards' node asks for.
	Binding     string
	Recommended bool
}

// Parse reads "name=command line". Quotes and backslashes are read as a shell
// reads them, and nothing else is: variables, pipes and redirections are not
// expanded, and a line with a part that only a shell understands is refused.
func Parse(s string) (Side, error) {
	name, line, found := strings.Cut(s, "=")
	switch {
	case !found:
		return Side{}, fmt.Errorf("reading side %.40q: must be name=command line", s)
	case !isName(name):
		return Side{}, fmt.Errorf("reading side %.40q: its name must be 1 to %d letters, digits, '.', '_' or '-'", name, maxName)
	}
	argv, err := split(line)
	if err != nil {
		return Side{}, fmt.Errorf("reading side %s: %w", name, err)
	}
	return Side{Name: name, Argv: argv}, nil
}

// split reads a command line.
func split(line string) ([]string, error) {
	argv, err := shellquote.Split(line)
	switch {
	case err != nil:
		return nil, errors.New(lowerFirst(err.Error()))
	case len(argv) == 0 || argv[0] == "":
		return nil, errors.New("it has no command")
	case isAssignment(argv[0]):
		return nil, fmt.Errorf("no shell reads the command: write env before %s…", argv[0][:strings.Index(argv[0], "=")+1])
	}
	for _, arg := range argv {
		if slices.Contains([]string{"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"}, arg) {
			return nil, fmt.Errorf("no shell reads the command, so %q means nothing in it: put it into a script", arg)
		}
	}
	return argv, nil
}

// prefixMark stands in a command for what is to be put before a program.
const prefixMark = "{}"

// Template is the command of a server with a place for what binds it.
type Template struct {
	argv []string
	at   int // of the mark
}

// ParseTemplate reads a command line as [Parse] does, in which the word {} stands once.
func ParseTemplate(line string) (Template, error) {
	argv, err := split(line)
	if err != nil {
		return Template{}, fmt.Errorf("reading the server's command: %w", err)
	}
	at := slices.Index(argv, prefixMark)
	switch {
	case at < 0:
		return Template{}, errors.New("reading the server's command: it must have {} where the binding goes, as in '{} vllm serve MODEL'")
	case slices.Contains(argv[at+1:], prefixMark):
		return Template{}, errors.New("reading the server's command: it has {} more than once")
	case at+1 == len(argv):
		return Template{}, errors.New("reading the server's command: nothing stands behind {}")
	}
	return Template{argv, at}, nil
}

// With is the command with a prefix in its place, none for an empty one.
func (t Template) With(prefix []string) []string {
	return slices.Concat(t.argv[:t.at], prefix, t.argv[t.at+1:])
}

// Container reports whether the command is the client of a container engine. The
// server is then no descendant of it, and not bound as it is.
func (s Side) Container() bool {
	return slices.Contains([]string{"docker", "podman", "nerdctl"}, filepath.Base(s.Argv[0]))
}

// LookUp says why the side's program cannot be run, so that it is told before
// another side has been measured.
func (s Side) LookUp() error {
	_, err := s.program()
	return err
}

func (s Side) program() (string, error) {
	path, err := process.LookPath(s.Argv[0])
	if err != nil {
		return "", fmt.Errorf("side %s: looking up %s: %w", s.Name, s.Argv[0], err)
	}
	return path, nil
}

// String is the side as [Parse] reads it, but with the values of options that
// hold secrets left out.
func (s Side) String() string {
	argv := slices.Clone(s.Argv)
	for i, arg := range argv {
		if from, ok := secretAt(s.Argv, i); ok {
			argv[i] = arg[:from] + redacted
		}
	}
	line := shellquote.Join(argv...)
	return s.Name + "=" + strings.ReplaceAll(line, `\<redacted\>`, redacted)
}

// Turn is one start of one side.
type Turn struct {
	Side   int // index, from 0
	Repeat int // from 0
}

// Turns interleaves sides over repeats, every other repeat in reverse (A B B A A
// B …), so that a machine that slowly warms up or fills up is no side's fault.
func Turns(sides, repeats int) []Turn {
	turns := make([]Turn, 0, max(0, sides*repeats))
	for repeat := range repeats {
		for i := range sides {
			if repeat%2 == 1 {
				i = sides - 1 - i
			}
			turns = append(turns, Turn{Side: i, Repeat: repeat})
		}
	}
	return turns
}

func isName(s string) bool {
	if s == "" || len(s) > maxName || s == "." || s == ".." || s[0] == '-' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

// isAssignment reports whether s is NAME=value, which a shell would take as a variable.
func isAssignment(s string) bool {
	name, _, found := strings.Cut(s, "=")
	return found && name != "" && !strings.ContainsAny(name, "/.-")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
