package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// completeCommand is what the shells' scripts run: its arguments are the words typed
// so far, the program's name first and the one to be completed last.
const completeCommand = "complete-words"

// filesHere tells a shell's script to complete the names of files by itself.
const filesHere = ":files"

// The scripts of the shells. Each hands the words over and shows what comes back.
var (
	//go:embed completion/accelbench.bash
	bashScript string
	//go:embed completion/accelbench.zsh
	zshScript string
	//go:embed completion/accelbench.fish
	fishScript string
)

// complete writes the words that may stand in place of the last one, a line each, or
// [filesHere] alone.
func complete(w io.Writer, app *kingpin.ApplicationModel, words []string) error {
	if len(words) < 2 {
		return nil
	}
	for _, word := range candidates(app, words[1:len(words)-1], words[len(words)-1]) {
		if _, err := fmt.Fprintln(w, word); err != nil {
			return err
		}
	}
	return nil
}

// candidates are the words that may stand in place of current behind typed.
func candidates(app *kingpin.ApplicationModel, typed []string, current string) []string {
	command, behind := commandOf(app, typed)
	if command == nil {
		return fitting(append(commandNames(app), flagNames(app.Flags)...), current)
	}
	if i := slices.Index(behind, "--"); i >= 0 && command.Name == compareCommand { // the flags of run follow
		command, behind = commandNamed(app, runCommand), behind[i+1:]
	}
	name, value, assigned := strings.Cut(current, "=")
	switch last := lastOf(behind); {
	case assigned && strings.HasPrefix(name, "--"):
		return valuesOf(flagOf(command, name), name+"=", value)
	case takesValue(flagOf(command, last)):
		return valuesOf(flagOf(command, last), "", current)
	case strings.HasPrefix(current, "-"):
		return fitting(append(flagNames(command.Flags), flagNames(app.Flags)...), current)
	case len(command.Args) > 0:
		return argument(command, len(positional(command, behind)), current)
	}
	return fitting(flagNames(command.Flags), current)
}

// commandOf is the command among words and what stands behind it, nil if there is
// none yet.
func commandOf(app *kingpin.ApplicationModel, words []string) (*kingpin.CmdModel, []string) {
	for i, word := range words {
		if c := commandNamed(app, word); c != nil {
			return c, words[i+1:]
		}
	}
	return nil, nil
}

func commandNamed(app *kingpin.ApplicationModel, name string) *kingpin.CmdModel {
	for _, c := range app.Commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func commandNames(app *kingpin.ApplicationModel) []string {
	var all []string
	for _, c := range app.Commands {
		if !c.Hidden {
			all = append(all, c.Name)
		}
	}
	return all
}

func flagNames(flags []*kingpin.FlagModel) []string {
	var all []string
	for _, f := range flags {
		if !f.Hidden {
			all = append(all, "--"+f.Name)
		}
	}
	return all
}

// flagOf is the flag that a word names, nil if it names none.
func flagOf(c *kingpin.CmdModel, word string) *kingpin.FlagModel {
	name, isFlag := strings.CutPrefix(strings.ReplaceAll(word, "_", "-"), "--")
	for _, f := range c.Flags {
		if isFlag && f.Name == name {
			return f
		}
	}
	return nil
}

func takesValue(f *kingpin.FlagModel) bool { return f != nil && !f.IsBoolFlag() }

func lastOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// positional are the words that are neither flags nor their values.
func positional(c *kingpin.CmdModel, words []string) []string {
	var all []string
	for i := 0; i < len(words); i++ {
		switch {
		case !strings.HasPrefix(words[i], "-"):
			all = append(all, words[i])
		case takesValue(flagOf(c, words[i])):
			i++
		}
	}
	return all
}

// argument completes the argument number n, or the last if that takes all the rest.
func argument(c *kingpin.CmdModel, n int, current string) []string {
	arg := c.Args[min(n, len(c.Args)-1)]
	return completed(arg.Value, "", current)
}

func valuesOf(f *kingpin.FlagModel, before, current string) []string {
	if f == nil {
		return nil
	}
	return completed(f.Value, before, current)
}

// completed asks a value what it can be. What stands before it in its word is put
// before each.
func completed(value kingpin.Value, before, current string) []string {
	if n, ok := value.(named); ok {
		value = n.Value
	}
	if p, ok := value.(interface{ IsPath() bool }); ok && p.IsPath() {
		return []string{filesHere}
	}
	v, ok := value.(interface{ Values() []string })
	if !ok {
		return nil
	}
	if l, ok := value.(interface{ IsList() bool }); ok && l.IsList() {
		if i := strings.LastIndex(current, ","); i >= 0 {
			before, current = before+current[:i+1], current[i+1:]
		}
	}
	words := fitting(v.Values(), current)
	for i := range words {
		words[i] = before + words[i]
	}
	return words
}

// fitting are the words that begin as typed.
func fitting(words []string, typed string) []string {
	var fit []string
	for _, word := range words {
		if strings.HasPrefix(word, typed) {
			fit = append(fit, word)
		}
	}
	return fit
}

// flagsFor are the flags that may stand in a command line.
func flagsFor(app *kingpin.ApplicationModel, args []string) []*kingpin.FlagModel {
	flags := app.Flags
	if c, _ := commandOf(app, args); c != nil {
		flags = append(append([]*kingpin.FlagModel{}, c.Flags...), flags...)
	}
	return flags
}
