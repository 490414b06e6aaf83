package main

import (
	"regexp"
	"strings"
)

// severalWords are the flags that take more than one word (vLLM's nargs, evalscope's
// lists), with what such a word looks like.
func severalWords() map[string]func(word string) bool {
	like := func(pattern string) func(string) bool { return regexp.MustCompile("^(?:" + pattern + ")$").MatchString }
	users := like(`[0-9]+(,[0-9]+)*`)
	anything := func(word string) bool { return !strings.HasPrefix(word, "-") && !isURL(word) } // a URL is evalscope's first argument
	return map[string]func(string) bool{
		"--goodput":                 like(`[a-z0-9_]+:[0-9.]+`), // report and compare have folders behind it
		"--slo":                     like(`[a-z0-9_]+(:p[0-9.]+)? *<.*`),
		"--metadata":                anything,
		"--header":                  anything,
		"--timeline-itl-thresholds": like(`[0-9.]+(,[0-9.]+)*`),
		"--parallel":                users,
		"--parallels":               users,
		"--concurrency":             users,
	}
}

func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// respell turns a command line written for vLLM or evalscope into one for
// kingpin: underscores in a flag's name are dashes, a flag with several values is
// repeated, and a negative number is a value. What follows "--" stays as it is.
func respell(args []string) []string {
	several, negative := severalWords(), regexp.MustCompile(`^-[0-9.]+$`)
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		name, rest, assigned := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "--") {
			out = append(out, args[i])
			continue
		}
		name = strings.ReplaceAll(name, "_", "-")
		if assigned {
			out = append(out, name+"="+rest)
			continue
		}
		takes, ok := several[name]
		if !ok {
			takes = negative.MatchString
		}
		n := 0
		for i+1 < len(args) && takes(args[i+1]) && (ok || n == 0) {
			i++
			n++
			out = append(out, name+"="+args[i])
		}
		if n == 0 && name != "--metadata" && name != "--header" { // which may have none; kingpin says what is wrong with others
			out = append(out, name)
		}
	}
	return out
}
