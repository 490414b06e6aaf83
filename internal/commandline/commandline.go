// Package commandline is what the programs share beyond kingpin: help that cannot be
// written is no crash, and a misspelt flag is told with the one that was meant.
package commandline

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/internal/spelling"
)

// Parse is app.Parse, which panics where the help cannot be written: that is an
// [Unwritten] here.
func Parse(app *kingpin.Application, args []string) (command string, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case *fs.PathError:
			err = Unwritten{cause}
		default:
			panic(cause)
		}
	}()
	return app.Parse(args)
}

// Unwritten is why the help could not be written.
type Unwritten struct{ Err error }

// Error implements error.
func (u Unwritten) Error() string { return fmt.Sprintf("printing the help: %v", u.Err) }

// Unwrap returns the cause.
func (u Unwritten) Unwrap() error { return u.Err }

// Unread reports whether nobody reads the help on, as after head: that is no news.
func (u Unwritten) Unread() bool { return errors.Is(u.Err, syscall.EPIPE) }

// Guess turns the complaint about a flag that there is not into one that says which was
// meant, if one of the flags is near. Any other error stays as it is.
func Guess(err error, flags []*kingpin.FlagModel) error {
	if err == nil {
		return nil
	}
	name, found := strings.CutPrefix(err.Error(), "unknown long flag '--")
	if !found {
		return err
	}
	name = strings.TrimSuffix(name, "'")
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
