package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// readAll splits text into its records and returns what ended it.
func readAll(t *testing.T, text []byte, limit int, plain bool) ([]string, *records, error) {
	t.Helper()
	in, err := unpacked(bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	rec := newRecords(limit)
	rec.reset(in, plain)
	var got []string
	bytesHeld := len(text)
	if bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		bytesHeld *= 1032 // of text that a byte of gzip can hold
	}
	for range bytesHeld + 2 {
		record, err := rec.next(t.Context())
		if _, left := errors.AsType[*leftOut](err); left {
			got = append(got, "too large")
			continue
		}
		if err != nil {
			return got, rec, err
		}
		got = append(got, string(record))
	}
	return got, rec, nil
}

func TestArraySplitting(t *testing.T) {
	for text, want := range map[string][]string{
		`[{"a":"]},{["},2]`:          {`{"a":"]},{["}`, "2"},
		`[{"a":"\\"},{"b":"\""}]`:    {`{"a":"\\"}`, `{"b":"\""}`},
		`[[1,[2,3]],{}]`:             {`[1,[2,3]]`, `{}`},
		`[1 2,,3,]`:                  {"1 2", "", "3", ""}, // each is a bad record of its own
		`[{"a":1]},{"b":2}]`:         {`{"a":1]}`, `{"b":2}`},
		`["123456789012","1234567"]`: {"too large", `"1234567"`},
	} {
		got, _, err := readAll(t, []byte(text), 13, false)
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: ended by %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// blanks is a file of blank lines without end, read by somebody who gives up.
type blanks struct {
	giveUp func()
	reads  int
}

func (b *blanks) Read(p []byte) (int, error) {
	b.reads++
	if b.reads == 3 {
		b.giveUp()
	}
	if b.reads == 100 {
		return 0, errors.New("still reading")
	}
	return copy(p, bytes.Repeat([]byte("\n"), len(p))), nil
}

// A few kilobytes of gzip hold hours of nothing.
func TestNextHeedsItsContext(t *testing.T) {
	for name, begin := range map[string]string{"blank lines": "", "after an array": "[]", "in an array": "[", "in an element": "[1"} {
		ctx, cancel := context.WithCancel(t.Context())
		rec := newRecords(1 << 20)
		rec.reset(io.MultiReader(strings.NewReader(begin), &blanks{giveUp: cancel}), false)
		if _, err := rec.next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRecords checks, for any bytes: records are bounded, reading ends, no
// parser panics, and what is a proper file is split as encoding/json and
// bytes.Split would.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		`{"question":"a"}` + "\n", "\uFEFF[{\"input\":1},\n2]", `[{"conversations":[{"from":"human","value":"a"},{}]}]`,
		`{"timestamp":1,"input_length":600,"hash_ids":[1,1]}`, `{"messages":[{"role":"r","content":"c"}],"max_tokens":1e3}`,
		"\x1f\x8b\x08", `["\"\\",[[{}]], "x"`, "a\r\n\r\nb", `[]x`, "[" + strings.Repeat("[", 300), `["` + strings.Repeat("y", 300),
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	const limit = 200
	trace := newReplay(Config{VocabularySize: DefaultVocabulary, API: openai.Completions})
	parsers := []parse{
		parseOpenQA, parseCodefuse, new(shareGPT).parse, parseLine, trace.parse,
		func(r []byte) (Prompt, error) { return parseCustom(r, openai.Chat) },
	}
	f.Fuzz(func(t *testing.T, text []byte, plain bool) {
		got, rec, err := readAll(t, text, limit, plain)
		if err == nil {
			t.Fatal("more records than bytes")
		}
		if rec != nil && cap(rec.buf) > 2*limit {
			t.Fatalf("held %d bytes", cap(rec.buf))
		}
		for _, record := range got {
			for _, parse := range parsers {
				p, err := parse([]byte(record))
				if _, left := errors.AsType[*leftOut](err); err != nil && (!left || len(err.Error()) > 400) {
					t.Fatalf("%q: %v", record, err)
				}
				if err == nil && (p.Text == "") == (p.Messages == nil && p.Tokens == nil) {
					t.Fatalf("%q: not exactly one of text, messages and tokens: %+v", record, p)
				}
			}
			_ = keysOf([]byte(record))
		}
		if want, proper := reference(text, plain); proper && !cmp.Equal(want, got) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// reference splits a proper file whose records are small.
func reference(text []byte, plain bool) (want []string, proper bool) {
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) || len(text) > 200 {
		return nil, false
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !plain && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		var elements []json.RawMessage
		err := json.Unmarshal(text, &elements)
		for _, e := range elements {
			want = append(want, string(e))
		}
		return want, err == nil
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			want = append(want, string(line))
		}
	}
	return want, true
}
