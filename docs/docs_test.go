// Package docs_test holds the documents against each other and against the tree.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

const root = ".."

// documents are the Markdown files of the tree, as paths from its root.
func documents(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "deploy/*/*.md", "deploy/*/*/*.md", "dashboards/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) < 10 {
		t.Fatalf("found only %d documents", len(paths))
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	fence    = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	codeSpan = regexp.MustCompile("`[^`\n]+`")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
)

// TestLinks fails when a document links to a file or a heading that is not there.
func TestLinks(t *testing.T) {
	for _, path := range documents(t) {
		prose := codeSpan.ReplaceAllString(fence.ReplaceAllString(read(t, path), ""), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			info, err := os.Stat(to)
			if err != nil {
				t.Errorf("%s: link to %s: %v", path, m[1], err)
				continue
			}
			if anchor != "" && !info.IsDir() && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s: link to %s: no such heading", path, m[1])
			}
		}
	}
}

// anchors are the names that GitHub gives to the headings of a document.
func anchors(markdown string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(markdown, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, m[1]))
	}
	return names
}

// TestReasonsExplained fails when a failure's reason has no row that says what happened and what to do, or a row is about
// a reason that is not there.
func TestReasonsExplained(t *testing.T) {
	text := read(t, "troubleshooting.md")
	for title, metric := range map[string]string{
		"## Collector failures by reason\n": "accelerator_collector_failures_total",
		"## Probe failures by reason\n":     "accelerator_probe_failures_total",
	} {
		_, section, _ := strings.Cut(text, "\n"+title)
		section, _, _ = strings.Cut(section, "\n## ")
		var explained []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(section, -1) {
			explained = append(explained, row[1])
		}
		slices.Sort(explained)
		want := strings.Split(strings.Trim(newReference(t).values(t, metric, "reason"), "`.\n"), "`, `")
		if diff := cmp.Diff(want, explained); diff != "" {
			t.Errorf("%s (-exported +explained):\n%s", metric, diff)
		}
	}
}

// TestRunbookForEachAlert fails when an alert has no section, or a section no alert.
func TestRunbookForEachAlert(t *testing.T) {
	var alerts, sections []string
	for _, file := range []string{"rules/alerts.yml", "optional/idle.yml"} {
		for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, root+"/deploy/prometheus/"+file), -1) {
			alerts = append(alerts, m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(read(t, "runbooks.md"), -1) {
		sections = append(sections, m[1])
	}
	if diff := cmp.Diff(alerts, sections); diff != "" {
		t.Errorf("alerts.yml - runbooks.md +\n%s", diff)
	}
}
