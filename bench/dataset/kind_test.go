package dataset

import (
	"strings"
	"testing"
)

func TestParseKind(t *testing.T) {
	for name, want := range map[string]Kind{
		"openqa": OpenQA, "OpenQA": OpenQA, "sharegpt": ShareGPT, "ShareGPT": ShareGPT, "custom": Custom,
		"random": Random, "prefix_repetition": Prefix, "shared-prefix": Prefix, "line_by_line": Lines,
		"codefuse": Codefuse, "replay": Replay, "timed_trace": Replay, "mooncake": Replay,
	} {
		if got, err := ParseKind(name); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, k := range Kinds() {
		if got, err := ParseKind(string(k)); err != nil || got != k {
			t.Errorf("%s is not read as itself: %q, %v", k, got, err)
		}
	}
	_, err := ParseKind("sonnet" + strings.Repeat("!", 500))
	if err == nil || !strings.Contains(err.Error(), "openqa, codefuse, sharegpt, custom, lines, random, prefix, replay") || len(err.Error()) > 250 {
		t.Errorf("got %v, want a short error that tells the kinds", err)
	}
}

func TestDetect(t *testing.T) {
	for path, want := range map[string]Kind{
		"testdata/open_qa.jsonl":          OpenQA,
		"testdata/codefuse.json":          Codefuse,
		"testdata/codefuse_renamed.jsonl": OpenQA,
		"testdata/sharegpt.json":          ShareGPT,
		"testdata/custom.jsonl":           Custom,
		"testdata/mooncake.jsonl":         Replay,
		"testdata/trace.jsonl":            Replay,
		"testdata/prompts.txt":            Lines,

		write(t, "first_line_bad.jsonl", "oops\n{\"question\":\"a\"}\n"): OpenQA,
		write(t, "json.txt", `{"prompt":"a"}`):                           Custom,
		write(t, "array.json", "\uFEFF\n[\n{\"x\":1,\"messages\":[]}]"):  Custom,
	} {
		if got, err := Detect(path); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"instruction":"x","input":"","output":"y"}`:    `its first record has "instruction", "input", "output"`,
		"id,question\n1,why\n":                           "no JSON object is among its first records",
		`{"` + strings.Repeat("k", 1<<20) + `":1,"b":2}`: `kkk…", "b";`,
		`{"` + strings.Repeat("🙂", 1<<18) + `":1,"b":2}`: `🙂…", "b";`,
	} {
		_, err := Detect(write(t, "x.csv", text))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A Source tells the kind by itself when none is asked for.
func TestOpenDetects(t *testing.T) {
	s := open(t, verbatim("", "testdata/codefuse.json"))
	if p := take(t, s, 1); !strings.HasPrefix(p[0].Text, "Write a function") {
		t.Errorf("got %+v", p)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"no file":         {Config{Kind: OpenQA, RunID: "r"}, "kind openqa needs a file"},
		"nothing":         {Config{RunID: "r"}, "no kind and no file is given: kinds are openqa"},
		"no run":          {Config{Kind: Random}, "without the id of the run"},
		"kind":            {Config{Kind: "sonnet", RunID: "r"}, "unknown kind"},
		"negative length": {Config{Kind: Random, RunID: "r", InputLen: -1}, "input length -1"},
		"huge length":     {Config{Kind: Random, RunID: "r", OutputLen: 1 << 40}, "output length"},
		"old ratio":       {Config{Kind: Random, RunID: "r", RangeRatio: 1}, "range ratio 1 must be at least 0 and below 1"},
		"vocabulary":      {Config{Kind: Random, RunID: "r", VocabularySize: 900}, "vocabulary size 900"},
		"prefixes":        {Config{Kind: Prefix, RunID: "r", NumPrefixes: -2}, "number of prefixes -2"},
	} {
		if _, err := Open(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}
