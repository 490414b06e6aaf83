package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// otherTool is a tool whose command lines accelbench takes.
type otherTool struct {
	flags []otherFlag
	// imply adds to a command line of that tool what it means there without saying so.
	// It is called for every command line, after the flags of all tools are translated.
	imply func(*translation) error
}

func otherTools() []otherTool { return []otherTool{evalscope(), vllm()} }

// otherFlag is a flag of another tool: another name of a flag of run, or one that run
// has no use for.
type otherFlag struct {
	name    string
	ours    string // the flag of run that it is; "" for none, and then:
	value   bool   // it takes one
	secret  bool   // which must not be repeated
	because string // why it changes nothing, or why it is refused
	// refused reports whether it asks for something that is not done; nil is never.
	refused func(t *translation, value string) bool
}

// word is a flag of a command line with its value, or an argument, which has no flag.
type word struct {
	flag, value string
	isBool      bool // the flag takes no value; it is "true", or "false" after --no-
}

func (w word) String() string {
	switch {
	case w.flag == "":
		return w.value
	case !w.isBool:
		return "--" + w.flag + "=" + w.value
	case w.value == "false":
		return "--no-" + w.flag
	}
	return "--" + w.flag
}

// translation is a command line of run in flags of run alone.
type translation struct {
	words []word
	notes []string          // what is told before the run
	typed []string          // the flags that were typed
	names map[string]string // a flag of run by another name: the name as typed
}

// readRun is a command line of run as kingpin reads it. It is nil for another command,
// for one that kingpin complains about, and where help is asked for.
func readRun(app *kingpin.Application, args []string) []word {
	c, err := app.ParseContext(args)
	if err != nil || c.SelectedCommand == nil || c.SelectedCommand.Model().Name != runCommand {
		return nil
	}
	words := []word{}
	for _, e := range c.Elements {
		switch clause := e.Clause.(type) {
		case *kingpin.ArgClause:
			words = append(words, word{value: *e.Value})
		case *kingpin.FlagClause:
			f := clause.Model()
			if f.Name == "help" || f.Name == "version" {
				return nil
			}
			words = append(words, word{f.Name, *e.Value, f.IsBoolFlag()})
		}
	}
	return words
}

// translate puts a command line of run, or of another tool, into flags of run. Its error
// is of what was typed.
func translate(words []word) (*translation, error) {
	t := &translation{words: slices.Clone(words), names: map[string]string{}}
	for _, w := range words {
		t.typed = append(t.typed, w.flag)
	}
	for _, tool := range otherTools() {
		for _, f := range tool.flags {
			if err := t.replace(f); err != nil {
				return t, err
			}
		}
	}
	for _, tool := range otherTools() {
		if err := tool.imply(t); err != nil {
			return t, err
		}
	}
	return t, nil
}

// args are the translated command line.
func (t *translation) args() []string {
	args := []string{runCommand}
	for _, w := range t.words {
		args = append(args, w.String())
	}
	return args
}

// replace gives a flag of another tool its name here, or takes it out.
func (t *translation) replace(f otherFlag) error {
	if !t.has(f.name) {
		return nil
	}
	if f.ours != "" {
		if t.has(f.ours) {
			first := f.ours
			if name, ok := t.names[f.ours]; ok {
				first = name
			}
			return fmt.Errorf("--%s and --%s are the same: give one of them", first, f.name)
		}
		t.names[f.ours] = f.name
		for i := range t.words {
			if t.words[i].flag == f.name {
				t.words[i].flag = f.ours
			}
		}
		return nil
	}
	value, spelled := t.value(f.name), "--"+f.name
	if !f.value && value == "false" {
		spelled = "--no-" + f.name
	}
	if f.refused != nil && f.refused(t, value) {
		return fmt.Errorf("%s is refused: %s", spelled, f.because)
	}
	t.drop(f.name)
	t.notes = append(t.notes, fmt.Sprintf("%s is accepted, and without effect: %s", spelled, f.because))
	return nil
}

// wasTyped reports whether one of the flags was typed, by that name.
func (t *translation) wasTyped(flags ...string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(t.typed, f) })
}

// has reports whether one of the flags is given by now.
func (t *translation) has(flags ...string) bool {
	return slices.ContainsFunc(t.words, func(w word) bool { return w.flag != "" && slices.Contains(flags, w.flag) })
}

// value is that of a flag, the last where it is repeated, "" if it is not given.
func (t *translation) value(flag string) string {
	value := ""
	for _, w := range t.words {
		if w.flag == flag {
			value = w.value
		}
	}
	return value
}

// arguments are what belongs to no flag.
func (t *translation) arguments() []string {
	var all []string
	for _, w := range t.words {
		if w.flag == "" {
			all = append(all, w.value)
		}
	}
	return all
}

// drop takes a flag out, or the arguments for "".
func (t *translation) drop(flag string) {
	t.words = slices.DeleteFunc(t.words, func(w word) bool { return w.flag == flag })
}

// add gives a flag a value, and reports whether it had none.
func (t *translation) add(flag, value string) bool {
	if t.has(flag) {
		return false
	}
	t.words = append(t.words, word{flag: flag, value: value})
	return true
}

// withTypedNames puts the names that were typed in place of ours in an error.
func (t *translation) withTypedNames(err error) error {
	if err == nil || len(t.names) == 0 {
		return err
	}
	text := regexp.MustCompile(`(--|flag ')[a-z0-9.-]*[a-z0-9]`).ReplaceAllStringFunc(err.Error(), func(flag string) string {
		start := len(flag) - len(strings.TrimLeft(strings.TrimPrefix(flag, "flag '"), "-"))
		if name, ok := t.names[flag[start:]]; ok {
			return flag[:start] + name
		}
		return flag
	})
	return renamed{err, text}
}

// renamed is an error with other names of flags.
type renamed struct {
	error
	text string
}

func (r renamed) Error() string { return r.text }

func (r renamed) Unwrap() error { return r.error }

// registerOthers adds the flags of other tools to run, so that they are read, completed
// and found when misspelt. Help does not show them, and none of them is left when a
// command line is carried out.
func registerOthers(run *kingpin.CmdClause) {
	for _, tool := range otherTools() {
		for _, f := range tool.flags {
			flag := run.Flag(f.name, "").Hidden()
			switch {
			case f.ours != "":
				flag.SetValue(run.GetFlag(f.ours).Model().Value)
			case f.value:
				v := known(new(string))
				v.Secret = f.secret
				bind(flag, v)
			default:
				flag.Bool()
			}
		}
	}
}

// otherNames are the names that a flag of run has in other tools, as help tells them.
func otherNames(flag string) string {
	text := ""
	for _, tool := range otherTools() {
		for _, f := range tool.flags {
			if f.ours == flag {
				text += ", --" + f.name
			}
		}
	}
	if text == "" {
		return ""
	}
	return " Also" + strings.TrimPrefix(text, ",") + "."
}
