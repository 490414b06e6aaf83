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
	fence      = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	codeSpan   = regexp.MustCompile("`[^`\n]+`")
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	headMarker = regexp.MustCompile(`(?m)^<!-- (\S+\.md)#([a-z-]+) -->$`)
)

// TestLinksLead fails when a document links to a file or a heading that is not there.
func TestLinksLead(t *testing.T) {
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
		names = append(names, anchor(m[1]))
	}
	return names
}

func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, title)
}

// section is the text below a heading of level 2, up to the next.
func section(markdown, name string) (string, bool) {
	at := 0
	for _, block := range strings.SplitAfter(markdown, "\n## ") {
		if at > 0 {
			title, body, _ := strings.Cut(block, "\n")
			if anchor(title) == name {
				return strings.TrimSuffix(body, "\n## "), true
			}
		}
		at++
	}
	return "", false
}

// code lists the commands, names and flags of a text: its code spans and the
// lines of its code blocks without their comments, each once.
func code(markdown string) []string {
	var all []string
	for _, block := range fence.FindAllString(markdown, -1) {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		for _, line := range lines[1 : len(lines)-1] {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				all = append(all, line)
			}
		}
	}
	all = append(all, codeSpan.FindAllString(fence.ReplaceAllString(markdown, ""), -1)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// TestChineseReadmeAgrees fails when a command, a metric, a flag or an alert
// stands only in a part of README.zh-CN.md, or only in the section of the English
// document that the part names.
func TestChineseReadmeAgrees(t *testing.T) {
	chinese := read(t, root+"/README.zh-CN.md")
	parts := headMarker.FindAllStringSubmatchIndex(chinese, -1)
	var seen []string
	for i, at := range parts {
		document, name := chinese[at[2]:at[3]], chinese[at[4]:at[5]]
		seen = append(seen, document+"#"+name)
		end := len(chinese)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		want, ok := section(read(t, filepath.Join(root, document)), name)
		if !ok {
			t.Errorf("%s has no section %q", document, name)
			continue
		}
		if diff := cmp.Diff(code(want), code(chinese[at[1]:end])); diff != "" {
			t.Errorf("section %q: %s - README.zh-CN.md +\n%s", name, document, diff)
		}
	}
	for _, needed := range []string{"README.md#try-it", "README.md#on-a-real-server", "README.md#metrics"} {
		if !slices.Contains(seen, needed) {
			t.Errorf("README.zh-CN.md has no part <!-- %s -->", needed)
		}
	}
}

// TestChineseReadmeListsEveryAlert fails when the table of alerts and the rules differ.
func TestChineseReadmeListsEveryAlert(t *testing.T) {
	shipped := alertNames(t)
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| \\[?`(Accelerator[A-Za-z]+)`").FindAllStringSubmatch(read(t, root+"/README.zh-CN.md"), -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(shipped)
	slices.Sort(listed)
	if diff := cmp.Diff(shipped, listed); diff != "" {
		t.Errorf("deploy/prometheus/rules/alerts.yml - README.zh-CN.md +\n%s", diff)
	}
}

// TestReadmeIsShort fails when the README grows over what is read in one sitting.
func TestReadmeIsShort(t *testing.T) {
	if size := len(read(t, root+"/README.md")); size > 10_000 {
		t.Errorf("README.md has %d bytes, more than 10000: move details to docs", size)
	}
}
