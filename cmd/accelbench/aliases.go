package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// aliases are the names of one flag: ours, which help shows, and those that it has
// in other tools.
type aliases struct {
	names []string
	set   []*bool
}

// flag adds a flag to c under all of its names; adopt says where its value goes.
func (a *aliases) flag(c flagSet, help string, adopt func(*kingpin.FlagClause), names ...string) {
	if len(names) > 1 {
		help += " Also --" + strings.Join(names[1:], ", --") + "."
	}
	for i, name := range names {
		set := new(bool)
		f := c.Flag(name, help).IsSetByUser(set)
		if i > 0 {
			f.Hidden()
		}
		adopt(f)
		a.names, a.set = append(a.names, name), append(a.set, set)
	}
}

// given is the names that were given.
func (a *aliases) given() []string {
	var names []string
	for i, set := range a.set {
		if *set {
			names = append(names, a.names[i])
		}
	}
	return names
}

// check refuses two names of one flag with, perhaps, two values.
func (a *aliases) check() error {
	if names := a.given(); len(names) > 1 {
		return fmt.Errorf("--%s are the same: give one of them", strings.Join(names, " and --"))
	}
	return nil
}
