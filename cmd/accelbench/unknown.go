package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/internal/spelling"
)

// withGuess turns the complaint about a flag that there is not into one that says
// which was meant, if one is near. Any other error stays as it is.
func withGuess(err error, flags []*kingpin.FlagModel) error {
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

// flagsFor are the flags that may stand in a command line.
func flagsFor(app *kingpin.ApplicationModel, args []string) []*kingpin.FlagModel {
	flags := app.Flags
	if c, _ := commandOf(app, args); c != nil {
		flags = append(append([]*kingpin.FlagModel{}, c.Flags...), flags...)
	}
	return flags
}
