package main

import (
	"fmt"

	"github.com/alecthomas/kingpin/v2"
)

// flagValue is what a flag or an argument takes; it implements kingpin.Value.
type flagValue struct {
	Read       func(text string) error // sets it
	Repeatable bool                    // whether it may be given more than once
	Words      []string                // that completion offers
	List       bool                    // whether it is a list of Words, with commas between
	File       bool                    // whether it is the name of a file or folder
	Secret     bool                    // whether it must not be repeated

	flag string
}

// bind puts v behind a flag, which the errors of v name then, or behind an argument.
func bind(to kingpin.Settings, v flagValue) {
	if f, ok := to.(*kingpin.FlagClause); ok {
		v.flag = f.Model().Name
	}
	to.SetValue(&v)
}

// Set implements kingpin.Value.
func (v *flagValue) Set(text string) error {
	if err := v.Read(text); err != nil {
		if v.flag == "" {
			return err
		}
		return fmt.Errorf("--%s: %w", v.flag, err)
	}
	return nil
}

// String is empty: a value may be a secret.
func (v *flagValue) String() string { return "" }

// IsCumulative implements kingpin's interface of a value that may be repeated.
func (v *flagValue) IsCumulative() bool { return v.Repeatable }
