package main

import (
	"regexp"
	"strings"
)

// severalValues are the flags of vLLM and evalscope that take more than one word,
// with what such a word looks like.
func severalValues() map[string]*regexp.Regexp {
	number := regexp.MustCompile(`^[0-9]+(,[0-9]+)*$`)
	pair := regexp.MustCompile(`^[A-Za-z0-9_.-]+=`)
	return map[string]*regexp.Regexp{
		"--goodput":     regexp.MustCompile(`^[a-z0-9]+:[0-9.]+$`),
		"--metadata":    pair,
		"--header":      pair,
		"--parallel":    number,
		"--parallels":   number,
		"--concurrency": number,
	}
}

// respell turns a command line written for vLLM or evalscope into one for
// kingpin: underscores in a flag's name are dashes, and a flag with several
// values is repeated. What follows "--" stays as it is.
func respell(args []string) []string {
	several := severalValues()
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
		word, ok := several[name]
		if !ok {
			out = append(out, name)
			continue
		}
		first := i
		for i+1 < len(args) && word.MatchString(args[i+1]) {
			i++
			out = append(out, name+"="+args[i])
		}
		if i == first { // kingpin says what is wrong with it
			out = append(out, name)
		}
	}
	return out
}
