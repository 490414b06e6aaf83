package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Kind says what a data set is made of.
type Kind string

// The kinds, by vLLM's names, and evalscope's for the first.
const (
	OpenQA    Kind = "openqa"
	ShareGPT  Kind = "sharegpt"
	Custom    Kind = "custom"
	Random    Kind = "random"
	Prefix    Kind = "prefix_repetition"
	Replay    Kind = "timed_trace"
	MultiTurn Kind = "multi_turn" // ours
)

// kinds are all kinds, in the order in which their keys are looked for.
var kinds = []kind{
	openQA, shareGPT, trace, multiTurn, custom,
	{name: Random, made: true, open: openSingle},
	{name: Prefix, made: true, open: openSingle},
}

// kind is how the prompts of one kind are made.
type kind struct {
	name Kind
	keys []string                       // a file whose first record has one of them is of this kind
	made bool                           // needs no file
	chat bool                           // needs the chat API
	read func(Config) ([]Record, error) // the records of a file, nil for what reads none at once
	open func(Config) Source            // of one step
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k.name))
	}
	return strings.Join(names, ", ")
}

// find returns the kind of that name; the error lists all.
func find(name Kind) (kind, error) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 {
		return kind{}, fmt.Errorf("unknown data set %q: use %s", name, kindNames())
	}
	return kinds[at], nil
}

// Detect returns the kind of a file by the keys of its first record; CSV is a trace.
func Detect(path string) (Kind, error) {
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		return Replay, nil
	}
	var found Kind
	err := readFile(path, questionExample, func(v map[string]any) error {
		at := slices.IndexFunc(kinds, func(k kind) bool {
			return slices.ContainsFunc(k.keys, func(key string) bool { return v[key] != nil })
		})
		if at >= 0 {
			found = kinds[at].name
		}
		return fmt.Errorf("its keys do not tell what the data set is: give --dataset-name with %s", kindNames()) // no more are wanted
	})
	if found == "" {
		return "", fmt.Errorf("reading data set %s: %w", path, err)
	}
	return found, nil
}
