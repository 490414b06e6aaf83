package main

import (
	"regexp"
	"strings"
)

// several is a flag that takes more than one word: vLLM's nargs, evalscope's lists.
type several struct {
	// word is what such a word looks like. Nil is anything but a URL, which is the
	// endpoint of an evalscope command line.
	word *regexp.Regexp
	// none is true where there may be no word at all.
	none bool
}

func severalValues() map[string]several {
	number := regexp.MustCompile(`^[0-9]+(,[0-9]+)*$`)
	return map[string]several{
		"--goodput":                 {word: regexp.MustCompile(`^[a-z0-9_]+:[0-9.]+$`)}, // report and compare have folders behind it
		"--metadata":                {none: true},
		"--header":                  {none: true},
		"--lora-modules":            {},
		"--timeline-itl-thresholds": {word: regexp.MustCompile(`^[0-9.]+(,[0-9.]+)*$`)},
		"--parallel":                {word: number},
		"--parallels":               {word: number},
		"--concurrency":             {word: number},
	}
}

// takes reports whether a word is one of the flag's.
func (s several) takes(word string) bool {
	if s.word != nil {
		return s.word.MatchString(word)
	}
	return !strings.HasPrefix(word, "-") && !isURL(word)
}

func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// respell turns a command line written for vLLM or evalscope into one for
// kingpin: underscores in a flag's name are dashes, a flag with several values is
// repeated, and a negative number is a value. What follows "--" stays as it is.
func respell(args []string) []string {
	all := severalValues()
	negative := regexp.MustCompile(`^-[0-9.]+$`)
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, rest, assigned := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "--") {
			out = append(out, arg)
			continue
		}
		name = strings.ReplaceAll(name, "_", "-")
		if assigned {
			out = append(out, name+"="+rest)
			continue
		}
		flag, ok := all[name]
		if !ok {
			if i+1 < len(args) && negative.MatchString(args[i+1]) {
				i++
				name += "=" + args[i]
			}
			out = append(out, name)
			continue
		}
		first := i
		for i+1 < len(args) && flag.takes(args[i+1]) {
			i++
			out = append(out, name+"="+args[i])
		}
		if i == first && !flag.none { // kingpin says what is wrong with it
			out = append(out, name)
		}
	}
	return out
}
