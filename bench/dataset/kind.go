package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kind says what a data set is made of.
type Kind string

// The kinds. Those with a file read one JSON object a line, or one JSON array of
// objects.
const (
	OpenQA   Kind = "openqa"   // evalscope's: question
	Codefuse Kind = "codefuse" // Codefuse-Evol-Instruct: input, or question where it was renamed
	ShareGPT Kind = "sharegpt" // conversations: the first question of each
	Custom   Kind = "custom"   // prompt or messages, max_tokens or output_tokens
	Lines    Kind = "lines"    // plain text, a prompt a line
	Random   Kind = "random"   // made: so many tokens
	Prefix   Kind = "prefix"   // made: few prefixes, many endings
	Replay   Kind = "replay"   // timestamp, and a prompt or lengths with hash_ids (Mooncake's and vLLM's traces)
)

// form is how a kind of data set is told and read.
type form struct {
	kind    Kind
	aliases []string // in evalscope and vLLM
	text    bool     // plain text, not JSON
	timed   bool     // records say when they are due: the file is read once
	// looksLike reports whether the keys of a record are those of the kind; a record with
	// a timestamp is of a timed kind anyway.
	looksLike func(has func(key string) bool) bool
	read      func(Config) reading // nil for prompts that are made of a seed
}

// forms has a line for each kind, in the order to tell them to a user.
func forms() []form {
	just := func(p parse) func(Config) reading { return func(Config) reading { return reading{parse: p} } }
	return []form{
		{kind: OpenQA, read: just(parseOpenQA), looksLike: func(has func(string) bool) bool { return has("question") && !has("conversations") }},
		{kind: Codefuse, read: just(parseCodefuse), looksLike: func(has func(string) bool) bool {
			return has("input") && !has("instruction") && !has("conversations") // with an instruction, input is a mere supplement
		}},
		{kind: ShareGPT, aliases: []string{"share_gpt"}, read: readShareGPT, looksLike: func(has func(string) bool) bool { return has("conversations") }},
		{kind: Custom, read: readCustom, looksLike: func(has func(string) bool) bool { return has("prompt") || has("messages") }},
		{kind: Lines, aliases: []string{"line_by_line"}, text: true, read: just(parseLine)},
		{kind: Random},
		{kind: Prefix, aliases: []string{"prefix_repetition", "shared_prefix"}},
		{kind: Replay, aliases: []string{"timed_trace", "mooncake"}, timed: true, read: readReplay},
	}
}

// form is the kind's line; false for a kind that there is not.
func (k Kind) form() (form, bool) {
	all := forms()
	i := slices.IndexFunc(all, func(f form) bool { return f.kind == k })
	if i < 0 {
		return form{}, false
	}
	return all[i], true
}

// Kinds are all kinds, in the order to tell them to a user.
func Kinds() []Kind {
	var all []Kind
	for _, f := range forms() {
		all = append(all, f.kind)
	}
	return all
}

// ParseKind reads the name of a kind, as this package, evalscope or vLLM has it,
// in any case and with - for _.
func ParseKind(name string) (Kind, error) {
	clean := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
	for _, f := range forms() {
		if string(f.kind) == clean || slices.Contains(f.aliases, clean) {
			return f.kind, nil
		}
	}
	return "", unknownKind(name)
}

func unknownKind(name string) error {
	if name == "" {
		return fmt.Errorf("no kind and no file is given: kinds are %s", kindNames())
	}
	return fmt.Errorf("unknown kind of data set %s: must be one of %s", brief(name), kindNames())
}

func kindNames() string {
	all := fmt.Sprint(Kinds())
	return strings.ReplaceAll(strings.Trim(all, "[]"), " ", ", ")
}

const (
	detectRecords = 10       // looked at
	detectBytes   = 16 << 20 // read at most
)

// Detect tells the kind of a file by the keys of its first records. Plain text
// is known by the name: .txt.
func Detect(path string) (Kind, error) {
	kind, err := detect(path)
	if err != nil {
		return "", readingError(path, err)
	}
	return kind, nil
}

func detect(path string) (Kind, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	in, err := unpacked(f)
	if err != nil {
		return "", err
	}
	rec := newRecords(maxRecord)
	rec.reset(io.LimitReader(in, detectBytes), false)
	var first []string
	for range detectRecords {
		raw, err := rec.next(context.Background())
		if _, ok := errors.AsType[*leftOut](err); ok {
			continue
		}
		if err != nil {
			break // the end, or what reading it for its prompts will say
		}
		keys := keysOf(raw)
		if kind := kindOf(keys); kind != "" {
			return kind, nil
		}
		if first == nil {
			first = keys
		}
	}
	has := "no JSON object is among its first records"
	switch {
	case first == nil && strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".txt"):
		return Lines, nil
	case first != nil:
		has = "its first record has " + listed(first)
	}
	return "", fmt.Errorf("cannot tell its kind: %s; say which of %s it is", has, kindNames())
}

// keysOf returns the keys of a JSON object in their order, none of anything else.
func keysOf(raw []byte) []string {
	var keys []string
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return keys
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return keys
		}
	}
	return keys
}

func kindOf(keys []string) Kind {
	has := func(key string) bool { return slices.Contains(keys, key) }
	timed := has("timestamp") && (has("input_length") || has("prompt") || has("messages"))
	for _, f := range forms() {
		if timed && f.timed || !timed && f.looksLike != nil && f.looksLike(has) {
			return f.kind
		}
	}
	return ""
}

func listed(keys []string) string {
	const most = 8
	more := ""
	if len(keys) > most {
		keys, more = keys[:most], ", …"
	}
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = brief(k)
	}
	return strings.Join(quoted, ", ") + more
}

// brief quotes what somebody else wrote, cut to a length that an error can hold.
func brief(s string) string {
	const most = 40
	if r := []rune(s[:min(len(s), 4*most+4)]); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
