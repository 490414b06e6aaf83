// Package commandline is what the programs share beyond kingpin: values whose errors
// name their flag, misspelt flags that are told with the one that was meant, and help
// that cannot be written without a crash.
package commandline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/internal/spelling"
)

// Exit codes of a command line that could not be done.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

// UsageError is a wrong command line.
type UsageError struct{ Err error }

// Error implements error.
func (u UsageError) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u UsageError) Unwrap() error { return u.Err }

// Parse is app.Parse. Its errors are [UsageError] and name the flag that a misspelt one
// was to be, if there is one near. Help that cannot be written, at which kingpin panics,
// is an error too.
func Parse(app *kingpin.Application, args []string) (command string, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case *fs.PathError:
			err = helpError{cause}
		default:
			panic(cause)
		}
	}()
	command, err = app.Parse(args)
	if err != nil {
		return command, UsageError{guess(err, app, args)}
	}
	return command, nil
}

// helpError is why the help could not be written.
type helpError struct{ error }

func (h helpError) Error() string { return fmt.Sprintf("printing the help: %v", h.error) }

func (h helpError) Unwrap() error { return h.error }

// Fail tells stderr in one line why the program could not do what it was to, and returns
// its exit code. That nobody reads the help on, as after head, is no news.
func Fail(stderr io.Writer, program string, err error) int {
	usage, help := UsageError{}, helpError{}
	switch {
	case errors.As(err, &help) && errors.Is(err, syscall.EPIPE):
		return ExitFailure
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v, try --help\n", program, err)
		return ExitUsage
	}
	fmt.Fprintf(stderr, "%s: %v\n", program, err)
	return ExitFailure
}

// guess says which flag an unknown one was to be. Any other error stays as it is.
func guess(err error, app *kingpin.Application, args []string) error {
	name, found := strings.CutPrefix(err.Error(), "unknown long flag '--")
	if !found {
		return err
	}
	name = strings.TrimSuffix(name, "'")
	flags := app.Model().Flags
	if c, _ := app.ParseContext(args); c != nil && c.SelectedCommand != nil {
		flags = append(append([]*kingpin.FlagModel{}, c.SelectedCommand.Model().Flags...), flags...)
	}
	// A flag that help shows comes first where others are as near.
	var all, hidden []string
	for _, f := range flags {
		if f.Hidden {
			hidden = append(hidden, f.Name)
			continue
		}
		all = append(all, f.Name)
	}
	if near := spelling.Nearest(name, append(all, hidden...)); near != "" {
		return fmt.Errorf("unknown flag --%s (did you mean --%s?)", name, near)
	}
	return errors.New("unknown flag --" + name)
}
