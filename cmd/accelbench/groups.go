package main

import (
	"slices"

	"github.com/alecthomas/kingpin/v2"
)

// flagSet is what flags are added to: a command, or a group of its flags.
type flagSet interface {
	Flag(name, help string) *kingpin.FlagClause
}

// flagGroups are the flags of a command in the groups in which help shows them, in
// order. A flag is in the group through which it was added, so that no list has to
// be kept beside.
type flagGroups struct {
	command *kingpin.CmdClause
	titles  []string
	of      map[string]string // the title by a flag's name
}

func newFlagGroups(c *kingpin.CmdClause) *flagGroups {
	return &flagGroups{command: c, of: map[string]string{}}
}

// group is the group of that title, a new one behind the others if there is none.
func (g *flagGroups) group(title string) flagSet {
	if !slices.Contains(g.titles, title) {
		g.titles = append(g.titles, title)
	}
	return flagGroup{g, title}
}

type flagGroup struct {
	all   *flagGroups
	title string
}

// Flag adds a flag to the command and to the group.
func (g flagGroup) Flag(name, help string) *kingpin.FlagClause {
	g.all.of[name] = g.title
	return g.all.command.Flag(name, help)
}
