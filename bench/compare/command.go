package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
)

// Command makes one side of a comparison: it starts a server, or switches one.
type Command struct {
	Name string   // 1 to 64 letters, digits, '.', '_' and '-', fit for a file name
	Argv []string // the program and its arguments, at least one; no shell reads them
	// Binding is what the command is bound to in words, in a comparison of bindings, and
	// Recommended that it is the one that the cards' node asks for.
	Binding     string
	Recommended bool
}

var (
	sideName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$`)
	// secretName is an option or a variable whose value is a credential, such as
	// --api-key, HF_TOKEN and PGPASSWORD. Tokens that are counted are none.
	secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|apikey|[-_]key|^key)$`)
)

// ParseCommand reads "name=command line". Quotes and backslashes are read as a shell
// reads them, and nothing else is: no variables, pipes or redirections.
func ParseCommand(s string) (Command, error) {
	name, line, found := strings.Cut(s, "=")
	switch {
	case !found:
		return Command{}, fmt.Errorf("reading side %.40q: must be name=command line", s)
	case !sideName.MatchString(name) || name == "." || name == "..":
		return Command{}, fmt.Errorf("reading side %.40q: its name must be 1 to 64 letters, digits, '.', '_' or '-'", name)
	}
	argv, err := split(line)
	if err != nil {
		return Command{}, fmt.Errorf("reading side %s: %w", name, err)
	}
	return Command{Name: name, Argv: argv}, nil
}

// split reads a command line.
func split(line string) ([]string, error) {
	argv, err := shellquote.Split(line)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading its quotes: %w", err)
	case len(argv) == 0:
		return nil, errors.New("it has no command")
	}
	return argv, nil
}

// prefixMark stands in a command for what is to be put before a program.
const prefixMark = "{}"

// ParseTemplate reads a command line as [ParseCommand] does, in which the word {} stands before a program.
// The result is the command with a prefix in its place, none for an empty one.
func ParseTemplate(line string) (with func(prefix ...string) []string, err error) {
	argv, err := split(line)
	if err != nil {
		return nil, fmt.Errorf("reading the server's command: %w", err)
	}
	at := slices.Index(argv, prefixMark)
	if at < 0 || at+1 == len(argv) {
		return nil, errors.New("reading the server's command: it must have {} where the binding goes, as in '{} vllm serve MODEL'")
	}
	return func(prefix ...string) []string { return slices.Concat(argv[:at], prefix, argv[at+1:]) }, nil
}

// Line is the command line with secrets left out.
func (s Command) Line() string { return strings.TrimPrefix(s.String(), s.Name+"=") }

// String is the command as [ParseCommand] reads it, but with secrets left out.
func (s Command) String() string {
	argv := slices.Clone(s.Argv)
	for i, arg := range argv {
		if from, ok := secretStart(s.Argv, i); ok {
			argv[i] = arg[:from] + "<redacted>"
		}
	}
	line := shellquote.Join(argv...)
	return s.Name + "=" + strings.ReplaceAll(line, `\<redacted\>`, "<redacted>")
}

// secretStart is from where on argument i is a secret: all of it after --api-key, what
// follows the sign in --api-key=….
func secretStart(argv []string, i int) (from int, ok bool) {
	if name, _, found := strings.Cut(argv[i], "="); found && secretName.MatchString(name) {
		return len(name) + 1, true
	}
	return 0, i > 0 && strings.HasPrefix(argv[i-1], "-") && secretName.MatchString(argv[i-1])
}

// secrets are those of a command line.
func secrets(argv []string) []string {
	var all []string
	for i, arg := range argv {
		if from, ok := secretStart(argv, i); ok {
			all = append(all, arg[from:])
		}
	}
	return all
}

// turn is one start of one side.
type turn struct {
	Side   int // index, from 0
	Repeat int // from 0
}

// newTurns interleaves sides over repeats, every other repeat in reverse (A B B A A
// B …), so that a machine that slowly warms up or fills up is no side's fault.
func newTurns(sides, repeats int) []turn {
	var turns []turn
	for repeat := range repeats {
		for i := range sides {
			if repeat%2 == 1 {
				i = sides - 1 - i
			}
			turns = append(turns, turn{Side: i, Repeat: repeat})
		}
	}
	return turns
}
