package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func texts(texts ...string) []Prompt {
	prompts := make([]Prompt, len(texts))
	for i, text := range texts {
		prompts[i].Text = text
	}
	return prompts
}

// One pass over a small file of each kind: what is asked, and what is told of the
// records that ask nothing.
func TestFormats(t *testing.T) {
	tests := []struct {
		name, path string
		kind       Kind
		api        openai.API
		want       []Prompt
		count      runlog.DatasetCount
	}{
		{
			name: "openqa", kind: OpenQA, path: "testdata/open_qa.jsonl",
			want: texts("为什么天空是蓝色的？", "How do tides work?", "Last one, without a newline"),
			count: runlog.DatasetCount{Prompts: 3, BadLine: 5, FirstBad: []string{
				`line 4: "question" is of type number, must be string`,
				`line 5: not JSON: unexpected end of JSON input`,
				`line 6: not JSON: invalid character 'o' in literal null (expecting 'u')`,
				`line 7: no "question"`,
				`line 8: "question" is empty`,
			}},
		},
		{
			name: "codefuse as an array", kind: Codefuse, path: "testdata/codefuse.json",
			want: texts("Write a function that adds [1, 2] and {3}, in C.", `Say "]" and \ in Go.`, "Sort a list, 排序"),
			count: runlog.DatasetCount{Prompts: 3, BadLine: 2, FirstBad: []string{
				`element 3: no "input"`,
				`element 4: the record is of type number, must be object`,
			}},
		},
		{
			name: "codefuse renamed", kind: Codefuse, path: "testdata/codefuse_renamed.jsonl",
			want: texts("Write quicksort.", "Write mergesort."), count: runlog.DatasetCount{Prompts: 2},
		},
		{
			name: "codefuse renamed for openqa", kind: OpenQA, path: "testdata/codefuse_renamed.jsonl",
			want: texts("Write quicksort.", "Write mergesort."), count: runlog.DatasetCount{Prompts: 2},
		},
		{
			name: "sharegpt", kind: ShareGPT, path: "testdata/sharegpt.json",
			want: []Prompt{
				{Text: "First question", MaxTokens: 9, Estimated: true},
				{Text: "Second question", MaxTokens: 4, Estimated: true},
			},
			count: runlog.DatasetCount{Prompts: 2, Estimated: 2, Skipped: 6, BadLine: 3, FirstBad: []string{
				`element 6: no "conversations"`,
				`element 7: "conversations" is of type string, must be array`,
				`element 8: no "value"`,
			}},
		},
		{
			name: "custom chat", kind: Custom, path: "testdata/custom.jsonl",
			want: []Prompt{
				{Text: "Plain", MaxTokens: 12},
				{Text: "As vLLM writes it", MaxTokens: 34},
				{Messages: []openai.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hello"}}, MaxTokens: 5},
				{Messages: []openai.Message{{Role: "user", Content: "Both, as chat"}}},
				{Text: "Null is none"},
			},
			count: runlog.DatasetCount{Prompts: 5, BadLine: 7, FirstBad: []string{
				`line 5: "max_tokens" is 1.5, must be a whole number from 1 to 1048576`,
				`line 6: "max_tokens" is 0, must be a whole number from 1 to 1048576`,
				`line 7: "messages" is empty`,
				`line 8: "messages.content" is of type array, must be string`,
				`line 9: message 1 has no "content"`,
			}},
		},
		{
			name: "custom completions", kind: Custom, path: "testdata/custom.jsonl", api: openai.Completions,
			want: []Prompt{
				{Text: "Plain", MaxTokens: 12},
				{Text: "As vLLM writes it", MaxTokens: 34},
				{Text: "Both"},
				{Text: "Null is none"},
			},
			count: runlog.DatasetCount{Prompts: 4, BadLine: 8, FirstBad: []string{
				`line 3: no "prompt": "messages" need the chat API`,
				`line 5: "max_tokens" is 1.5, must be a whole number from 1 to 1048576`,
				`line 6: "max_tokens" is 0, must be a whole number from 1 to 1048576`,
				`line 7: no "prompt": "messages" need the chat API`,
				`line 8: "messages.content" is of type array, must be string`,
			}},
		},
		{
			name: "plain text", kind: Lines, path: "testdata/prompts.txt",
			want: texts("First line", "[second] line", "Last"), count: runlog.DatasetCount{Prompts: 3},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := verbatim(tt.kind, tt.path)
			cfg.API = tt.api
			s := open(t, cfg)
			// One prompt more than the file has: the file is read to its end, and the
			// bad records are not told twice.
			got := take(t, s, len(tt.want)+1)
			if diff := cmp.Diff(append(tt.want, tt.want[0]), got); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			tt.count.Prompts++
			if tt.want[0].Estimated {
				tt.count.Estimated++
			}
			tt.count.Passes = 1
			if diff := cmp.Diff(tt.count, s.Count()); diff != "" {
				t.Errorf("count (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(runlog.DatasetCount{}, s.Count()); diff != "" {
				t.Errorf("counted twice:\n%s", diff)
			}
		})
	}
}

func TestFileIsBegunAgain(t *testing.T) {
	s := open(t, verbatim(OpenQA, "testdata/open_qa.jsonl"))
	got := take(t, s, 8)
	if diff := cmp.Diff(got[:3], got[3:6]); diff != "" {
		t.Errorf("second pass differs:\n%s", diff)
	}
	if c := s.Count(); c.Passes != 2 || c.Prompts != 8 || c.BadLine != 5 {
		t.Errorf("got %+v, want 8 prompts, begun again twice, 5 bad records", c)
	}
}

func TestPromptLengths(t *testing.T) {
	path := write(t, "q.jsonl", `{"question":"一二三四"}`+"\n"+`{"question":"123456"}`+"\n"+`{"question":"12"}`+"\n")
	cfg := verbatim(OpenQA, path)
	cfg.MinPromptLength, cfg.MaxPromptLength, cfg.OutputLen = 3, 5, 77
	s := open(t, cfg)
	want := Prompt{Text: "一二三四", MaxTokens: 77} // 4 characters, 12 bytes
	if diff := cmp.Diff([]Prompt{want, want, want}, take(t, s, 3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(runlog.DatasetCount{Prompts: 3, Passes: 2, TooLong: 1, Skipped: 1}, s.Count()); diff != "" {
		t.Error(diff)
	}
}

func TestLayouts(t *testing.T) {
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		w.Close()
		return b.String()
	}
	const lines = "{\"question\":\"a\"}\n{\"question\":\"b\"}\n"
	for name, text := range map[string]string{
		"byte order mark":          "\uFEFF" + lines,
		"CRLF and empty lines":     "\r\n\r\n{\"question\":\"a\"}\r\n \r\n{\"question\":\"b\"}\r\n\r\n",
		"array on one line":        `[{"question":"a"},{"question":"b"}]`,
		"array, mark, blanks":      "\uFEFF \r\n[ {\"question\":\"a\"} ,\n{\"question\":\"b\"}\n]\n\n",
		"gzip":                     packed(lines),
		"gzip, mark, array":        packed("\uFEFF[{\"question\":\"a\"},{\"question\":\"b\"}]"),
		"keys nobody knows, nests": `[{"question":"a","x":[[{"question":"no"}]]},{"x":{"question":"no"},"question":"b"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, verbatim(OpenQA, write(t, "q", text)))
			if diff := cmp.Diff(texts("a", "b", "a", "b"), take(t, s, 4)); diff != "" {
				t.Error(diff)
			}
			if c := s.Count(); c.BadLine != 0 || c.Passes != 1 {
				t.Errorf("got %+v, want no bad record", c)
			}
		})
	}
}

// What a user reads when nothing can be got from a data set.
func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, text string
		path       string // in place of text
		cfg        Config
		want       string // after the file's name
	}{
		{name: "missing", path: dir + "/none.jsonl", want: "no such file or directory"},
		{name: "directory", path: dir, want: "is a directory, must be a file"},
		{name: "device", path: "/dev/zero", want: "is not a regular file: it may have to be read more than once, so save it to one first"},
		{name: "empty", text: "", want: "is empty"},
		{name: "blank", text: "\n \n", want: "there is no record in it"},
		{name: "empty array", text: "[ ]\n", want: "there is no record in it"},
		{
			name: "another kind", text: `{"input":"a"}` + "\n" + `{"input":"b"}`,
			want: `no usable record among 2 lines: first problem: line 1: no "question"; it looks like kind codefuse, not openqa`,
		},
		{
			name: "all too long", text: `{"question":"abc"}`, cfg: Config{MaxPromptLength: 2},
			want: "no usable record among 1 line: first problem: line 1: 3 characters, the most to take is 2",
		},
		{
			name: "not UTF-8", text: "{\"question\":\"\xc4\xe3\xba\xc3\"}\n",
			want: "no usable record among 1 line: first problem: line 1: not UTF-8 text",
		},
		{
			name: "too many bad records", text: strings.Repeat("{}\n", 7), cfg: Config{MaxBadRecords: 6},
			want: `more than 6 bad records: line 1: no "question"; line 2: no "question"; line 3: no "question"; line 4: no "question"; line 5: no "question"`,
		},
		{
			name: "one bad record is too many", text: "{}\n{\"question\":\"a\"}\n", cfg: Config{MaxBadRecords: -1},
			want: `more than 0 bad records: line 1: no "question"`,
		},
		{
			name: "array cut off", text: `[{"question":1},{"question":"b"`,
			want: "element 2, which begins at byte 16: the file ends before the array does",
		},
		{
			name: "two arrays", text: `[{"question":1}] [{"question":2}]`,
			want: "byte 18: the array has ended, but something follows: one file holds one array",
		},
		{name: "gzip cut off", text: "\x1f\x8b\x08\x00\x00\x00\x00\x00", want: "unexpected EOF"},
		{
			name: "only a trace's end", cfg: Config{Kind: Replay}, text: `{"prompt":"a"}`,
			want: `no usable record among 1 line: first problem: line 1: no "timestamp"; it looks like kind custom, not replay`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			if cfg.ReusePrompts = true; cfg.Kind == "" {
				cfg.Kind = OpenQA
			}
			if cfg.Path = tt.path; cfg.Path == "" {
				cfg.Path = write(t, "d", tt.text)
			}
			s, err := Open(cfg)
			if err == nil {
				defer s.Close()
				_, err = s.Next(t.Context())
				if _, again := s.Next(t.Context()); !errors.Is(again, err) {
					t.Errorf("then got %v, want the same error for good", again)
				}
			}
			if err == nil || err.Error() != "reading data set "+cfg.Path+": "+tt.want {
				t.Errorf("got  %v\nwant reading data set %s: %s", err, cfg.Path, tt.want)
			}
		})
	}
}

// Bad records in the middle do not hide the good ones around them.
func TestOversizedRecordIsSkipped(t *testing.T) {
	huge := `{"question":"` + strings.Repeat("x", maxRecord) + `"}`
	for name, text := range map[string]string{
		"line":    "{\"question\":\"a\"}\n" + huge + "\n{\"question\":\"b\"}\n",
		"element": `[{"question":"a"},` + huge + `,{"question":"b"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, verbatim(OpenQA, write(t, "q", text)))
			if diff := cmp.Diff(texts("a", "b", "a"), take(t, s, 3)); diff != "" {
				t.Error(diff)
			}
			want := []string{fmt.Sprintf("%s 2: larger than %d bytes", name, maxRecord)}
			if diff := cmp.Diff(want, s.Count().FirstBad); diff != "" {
				t.Error(diff)
			}
			if had := cap(s.(*file).rec.buf); had > 2*maxRecord {
				t.Errorf("held %d bytes for a record", had)
			}
		})
	}
}

func TestNextAfterCancelAndClose(t *testing.T) {
	s := open(t, verbatim(OpenQA, "testdata/open_qa.jsonl"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	s.Close()
	if _, err := s.Next(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want closed", err)
	}
}
