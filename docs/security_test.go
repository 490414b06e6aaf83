package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A reader of the table of attacks finds the test that it names.
func TestAttacksHaveTests(t *testing.T) {
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| attack | what happens | test |\n|---|---|---|\n")
	if !ok {
		t.Fatal("security.md has no table of attacks")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	named := regexp.MustCompile("`([a-z_/]+)` ((?:(?:Test|Fuzz)\\w+(?:, )?)+)")
	for _, row := range strings.Split(table, "\n") {
		tests := named.FindAllStringSubmatch(row[strings.LastIndex(strings.TrimSuffix(row, " |"), "|"):], -1)
		if tests == nil {
			t.Errorf("no test is named: %s", row)
		}
		for _, m := range tests {
			for name := range strings.SplitSeq(strings.TrimSuffix(m[2], ", "), ", ") {
				if !hasTest(t, m[1], name) {
					t.Errorf("%s has no test %s", m[1], name)
				}
			}
		}
	}
}

// hasTest reports whether a package of the project has a test of that name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
