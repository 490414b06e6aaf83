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
	at := slices.IndexFunc(typed, func(word string) bool { return commandNamed(app, word) != nil })
	if at < 0 {
		names := []string{}
		for _, c := range app.Commands {
			names = append(names, c.Name)
		}
		return withPrefix(append(names, flagNames(app.Flags)...), current)
	}
	command, typed := commandNamed(app, typed[at]), typed[at+1:]
	if i := slices.Index(typed, "--"); i >= 0 && command.Name == compareCommand { // the flags of run follow
		command, typed = commandNamed(app, runCommand), typed[i+1:]
	}
	var awaiting *kingpin.FlagModel // whose value comes next
	arguments := 0
	for _, word := range typed {
		switch {
		case awaiting != nil:
			awaiting = nil
		case !strings.HasPrefix(word, "-"):
			arguments++
		default:
			if f := flagOf(command, word); f != nil && !f.IsBoolFlag() {
				awaiting = f
			}
		}
	}
	name, value, assigned := strings.Cut(current, "=")
	switch f := flagOf(command, name); {
	case assigned && f != nil:
		return completed(f.Value, name+"=", value)
	case awaiting != nil:
		return completed(awaiting.Value, "", current)
	case strings.HasPrefix(current, "-"):
		return withPrefix(append(flagNames(command.Flags), flagNames(app.Flags)...), current)
	case len(command.Args) > 0:
		return completed(command.Args[min(arguments, len(command.Args)-1)].Value, "", current)
	}
	return withPrefix(flagNames(command.Flags), current)
}

// commandNamed is nil if there is none of that name.
func commandNamed(app *kingpin.ApplicationModel, name string) *kingpin.CmdModel {
	if i := slices.IndexFunc(app.Commands, func(c *kingpin.CmdModel) bool { return c.Name == name }); i >= 0 {
		return app.Commands[i]
	}
	return nil
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
	word = strings.ReplaceAll(word, "_", "-")
	if i := slices.IndexFunc(c.Flags, func(f *kingpin.FlagModel) bool { return "--"+f.Name == word }); i >= 0 {
		return c.Flags[i]
	}
	return nil
}

// completed are the words that a value can be, each behind what stands before it in its
// word.
func completed(value kingpin.Value, before, current string) []string {
	v, ok := value.(*flagValue)
	switch {
	case !ok:
		return nil
	case v.File:
		return []string{filesHere}
	case v.List:
		i := strings.LastIndex(current, ",") + 1
		before, current = before+current[:i], current[i:]
	}
	words := withPrefix(v.Words, current)
	for i := range words {
		words[i] = before + words[i]
	}
	return words
}

// withPrefix are the words that begin as typed.
func withPrefix(words []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, typed) })
}
