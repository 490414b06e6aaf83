package docs_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	// noProse are lines that are no text: headings, tables, comments, quotes, pictures.
	noProse  = regexp.MustCompile(`^\s*(#|\||<!--|>|!\[|$)`)
	listItem = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	// sentenceEnd is a full stop, with what may close behind it.
	sentenceEnd = regexp.MustCompile(`[.!?:]["')*_]*$`)
	// secondSentence is an end and more text. A word with another stop in it, or an
	// ellipsis, ends nothing.
	secondSentence = regexp.MustCompile(`[^.\s][.!?]["')*_]* +\S`)
	abbreviation   = regexp.MustCompile(`\b(e\.g|i\.e|etc|vs|cf)\.`)
)

// broken lists the lines of a document that hold more than one sentence, or less.
func broken(markdown string) []string {
	// Code and generated parts go, and their lines stay, so that numbers are right.
	blank := func(part string) string { return strings.Repeat("\n", strings.Count(part, "\n")) }
	markdown = generatedPart.ReplaceAllStringFunc(fence.ReplaceAllStringFunc(markdown, blank), blank)
	lines := strings.Split(markdown, "\n")
	var found []string
	for i, line := range lines {
		if noProse.MatchString(line) || strings.HasPrefix(line, "    ") && !listItem.MatchString(line) && i > 0 && lines[i-1] == "" {
			continue
		}
		text := codeSpan.ReplaceAllString(link.ReplaceAllString(line, "]"), "x")
		text = listItem.ReplaceAllString(abbreviation.ReplaceAllString(text, "$1"), "")
		if secondSentence.MatchString(text) {
			found = append(found, fmt.Sprintf("%d: two sentences: %s", i+1, line))
		}
		goesOn := i+1 < len(lines) && !noProse.MatchString(lines[i+1]) && !listItem.MatchString(lines[i+1])
		if goesOn && !sentenceEnd.MatchString(strings.TrimSpace(text)) {
			found = append(found, fmt.Sprintf("%d: goes on in the next line: %s", i+1, line))
		}
	}
	return found
}

var generatedPart = regexp.MustCompile(`(?s)(` + "`[a-z]+`: " + `)?<!-- (?:metrics|values|buckets).*?<!-- end -->`)

// TestOneSentenceALine fails when a line of an English document has two sentences,
// or a sentence goes on in the next line.
func TestOneSentenceALine(t *testing.T) {
	for _, path := range documents(t) {
		if name := filepath.Base(path); name == "README.zh-CN.md" || name == "CHANGELOG.md" {
			continue
		}
		for _, line := range broken(read(t, path)) {
			t.Errorf("%s:%s", path, line)
		}
	}
}

func TestBroken(t *testing.T) {
	const text = "# A title. Of two\n\nOne. Two.\nIt goes\non here.\n- An item `a. B` of v1.2, e.g. this (or that).\n  And (so on.) More.\n1. First.\n\n" +
		"| a. b | c. D |\n\n```\nx. Y\n```\nIs it? Yes.\n"
	var got []string
	for _, line := range broken(text) {
		number, _, _ := strings.Cut(line, ":")
		got = append(got, number)
	}
	if diff := cmp.Diff([]string{"3", "4", "7", "15"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestReasonsExplained fails when a reason of a failure has no row that says what
// happened and what to do, or a row is about a reason that is not there.
func TestReasonsExplained(t *testing.T) {
	families := newReference(t)
	text := read(t, "troubleshooting.md")
	for heading, metric := range map[string]string{
		"collector-failures-by-reason": "accelerator_collector_failures_total",
		"probe-failures-by-reason":     "accelerator_probe_failures_total",
	} {
		part, _ := section(text, heading)
		var explained []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(part, -1) {
			explained = append(explained, row[1])
		}
		slices.Sort(explained)
		want := strings.Split(strings.Trim(families.values(t, metric, "reason"), "`.\n"), "`, `")
		if diff := cmp.Diff(want, explained); diff != "" {
			t.Errorf("%s - %s +\n%s", metric, heading, diff)
		}
	}
}

// TestAlertNeeds fails when an alert compares a metric that some vendors or
// versions do not print, and the index does not say so.
func TestAlertNeeds(t *testing.T) {
	notByAll := map[string]bool{}
	for _, s := range newReference(t).sections {
		for _, m := range s.Metrics {
			if regexp.MustCompile(`(?:^|; )(?:Ascend|MetaX|(?:mx|npu)-smi before)`).MatchString(m.Absent) {
				notByAll[m.Name] = true
			}
		}
	}
	recorded := map[string]string{}
	for _, r := range rulesIn(t, "recording.yml") {
		recorded[r.Record] = r.Expr
	}
	told, _ := section(read(t, runbooks+"/README.md"), "what-an-alert-needs")
	found := 0
	for _, r := range rulesIn(t, "alerts.yml") {
		names := seriesName.FindAllString(r.Expr, -1)
		for _, name := range slices.Clone(names) {
			names = append(names, seriesName.FindAllString(recorded[name], -1)...)
		}
		for _, name := range names {
			if !notByAll[name] {
				continue
			}
			found++
			if row := regexp.MustCompile(`(?m)^\| \[` + r.Alert + `\].*$`).FindString(told); !strings.Contains(row, "`"+name+"`") {
				t.Errorf("What an alert needs: %s has no row with %s", r.Alert, name)
			}
		}
	}
	if found == 0 {
		t.Error("no alert needs what only some tools print")
	}
}
