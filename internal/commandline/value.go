package commandline

import (
	"fmt"

	"github.com/alecthomas/kingpin/v2"
)

// Value is what a flag or an argument takes; it implements kingpin.Value.
type Value struct {
	Read       func(text string) error // sets it
	Repeatable bool                    // whether it may be given more than once
	Words      []string                // that completion offers
	List       bool                    // whether it is a list of Words, with commas between
	File       bool                    // whether it is the name of a file or folder
	Secret     bool                    // whether it must not be repeated

	flag string
}

// Bind puts v behind a flag, which the errors of v name then, or behind an argument.
func Bind(to kingpin.Settings, v Value) {
	if f, ok := to.(*kingpin.FlagClause); ok {
		v.flag = f.Model().Name
	}
	to.SetValue(&v)
}

// Set implements kingpin.Value.
func (v *Value) Set(text string) error {
	if err := v.Read(text); err != nil {
		if v.flag == "" {
			return err
		}
		return fmt.Errorf("--%s: %w", v.flag, err)
	}
	return nil
}

// String is empty: a value may be a secret.
func (v *Value) String() string { return "" }

// IsCumulative implements kingpin's interface of a value that may be repeated.
func (v *Value) IsCumulative() bool { return v.Repeatable }
