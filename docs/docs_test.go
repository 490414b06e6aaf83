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

// TestReadmeIsShort fails when the README grows over what is read in one sitting.
func TestReadmeIsShort(t *testing.T) {
	if size := len(read(t, root+"/README.md")); size > 10_000 {
		t.Errorf("README.md has %d bytes, more than 10000: move details to docs", size)
	}
}
