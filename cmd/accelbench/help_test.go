package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// helpOf is what a command's help prints.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	app, _ := newApp(&invocation{}, &out, io.Discard)
	app.Terminate(func(int) { panic("over") })
	func() {
		defer func() { _ = recover() }() // help ends the program
		_, _ = app.Parse(args)
	}()
	return out.String()
}

// Every flag of run is in one of the five groups, in help and in its overview.
func TestHelpIsGrouped(t *testing.T) {
	commands := map[string]command{}
	groups := registerRun(kingpin.New("accelbench", ""), &invocation{}, commands)
	var titles []string
	for _, g := range groups {
		titles = append(titles, g.Title)
	}
	if diff := cmp.Diff([]string{"Server", "Load", "Data", "Sampling", "Output"}, titles); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	top, run := helpOf(t, "--help"), helpOf(t, "run", "--help")
	last := 0
	for _, title := range titles {
		at := strings.Index(run, "\n"+title+":\n")
		if at < last || !strings.Contains(top, "\n  "+title+" ") {
			t.Errorf("help has no group %s, or not in its place", title)
		}
		last = at
	}
	if strings.Contains(run, "--trust-remote-code") || strings.Contains(run, "--num-prompts=") {
		t.Error("help shows other tools' flags")
	}
}

// The flags of capacity are in groups too, and none of another tool is among them.
func TestHelpOfCapacity(t *testing.T) {
	help := helpOf(t, "capacity", "--help")
	last := 0
	for _, title := range []string{"Server", "Search", "Load", "Data", "Sampling", "Output"} {
		at := strings.Index(help, "\n"+title+":\n")
		if at < last {
			t.Errorf("help has no group %s, or not in its place:\n%s", title, help)
		}
		last = at
	}
	for _, other := range []string{"--save-result", "--goodput", "Also --"} {
		if strings.Contains(help, other) {
			t.Errorf("help of capacity has %s", other)
		}
	}
}

// The examples of help are commands that can be run, in lines of 80 columns at most.
func TestExamples(t *testing.T) {
	for line := range strings.Lines(examples) {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, help := range []string{helpOf(t, "--help"), helpOf(t, "run", "--help")} {
		n := 0
		for line := range strings.Lines(strings.ReplaceAll(help, "\\\n", "")) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "accelbench run ")
			if !ok || !strings.HasPrefix(line, "    ") {
				continue
			}
			n++
			// The files need not be there.
			if _, err := parsed(t, strings.ReplaceAll(command, "open_qa.jsonl", "open_qa.jsonl --dataset openqa")); err != nil {
				t.Errorf("%s: %v", command, err)
			}
		}
		if n != 3 {
			t.Errorf("%d examples:\n%s", n, help)
		}
	}
}

func TestCandidates(t *testing.T) {
	app, _ := newApp(&invocation{}, io.Discard, io.Discard)
	files := []string{filesHere}
	for line, want := range map[string][]string{
		"":                                  {"run", "capacity", "report", "compare", "placement", "completion", "version", "--help", "--version"},
		"re":                                {"report"},
		"run --api ":                        {"chat", "completions"},
		"run --api ch":                      {"chat"},
		"run --api=ch":                      {"--api=chat"},
		"run --dataset-path ":               files,
		"run --dataset-path=some":           files,
		"run --api-key-file k":              files,
		"run --requests ":                   nil,
		"run --insecure --max-co":           {"--max-concurrency"},
		"run --format vllm,ch":              {"vllm,checks"},
		"run --format=vllm,t":               {"--format=vllm,table"},
		"run http://h m ":                   files,
		"run --dataset ran":                 {"random"},
		"run --dataset-name ran":            {"random"},
		"run --n 5 http://h m ":             files,
		"run http://h ":                     nil,
		"report ":                           files,
		"report a b ":                       files,
		"capacity --slo ttft:p90<2s --prec": {"--precision"},
		"capacity --dataset ran":            {"random"},
		"report --outp":                     {"--output"},
		"compare --format j":                {"json"},
		"completion f":                      {"fish"},
	} {
		words := strings.Split(line, " ")
		got := candidates(app.Model(), words[:len(words)-1], words[len(words)-1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
	if all := candidates(app.Model(), []string{"run"}, "--"); slices.Contains(all, "--trust-remote-code") || !slices.Contains(all, "--url") {
		t.Errorf("flags offered: %v", all)
	}
}
