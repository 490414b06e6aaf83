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

// Kinds are all kinds, in the order to tell them to a user.
func Kinds() []Kind {
	return []Kind{OpenQA, Codefuse, ShareGPT, Custom, Lines, Random, Prefix, Replay}
}

// ParseKind reads the name of a kind, as this package, evalscope or vLLM has it,
// in any case and with - for _.
func ParseKind(name string) (Kind, error) {
	clean := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
	if kind := Kind(clean); slices.Contains(Kinds(), kind) {
		return kind, nil
	}
	switch clean {
	case "share_gpt":
		return ShareGPT, nil
	case "line_by_line":
		return Lines, nil
	case "prefix_repetition", "shared_prefix":
		return Prefix, nil
	case "timed_trace", "mooncake":
		return Replay, nil
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
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func (k Kind) hasFile() bool { return k != Random && k != Prefix }

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
	switch {
	case has("timestamp") && (has("input_length") || has("prompt") || has("messages")):
		return Replay
	case has("conversations"):
		return ShareGPT
	case has("question"):
		return OpenQA
	case has("input") && !has("instruction"): // with one, input is a mere supplement
		return Codefuse
	case has("prompt"), has("messages"):
		return Custom
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
