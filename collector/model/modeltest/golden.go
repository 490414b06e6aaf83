// Package modeltest is what the tests of vendor packages share: golden files, and
// the checks that hold for every report whatever the output.
package modeltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Parse is a vendor's parser of one command's output.
type Parse func(out []byte) (model.Report, error)

// Parsers returns the parsers for a text with such a name, none where it is of something that is not asked.
type Parsers func(name string, text []byte) []Parse

// Golden reads every testdata/*.txt, own text in a layout that has been met or a way in which output goes wrong, and compares
// what a user gets of it with the .golden file beside it, which update writes anew: look at its diff before keeping it.
// The text of a "not-…" fixture is another program's and must be refused. A golden file without its fixture is an error.
func Golden(t *testing.T, update bool, parsers Parsers) {
	const fixture, golden = ".txt", ".golden"
	for _, file := range Glob(t, "testdata/*"+fixture) {
		name := strings.TrimSuffix(file, fixture)
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := read(t, file, parsers)
			Compare(t, update, name+golden, got)
			if strings.HasPrefix(filepath.Base(name), "not-") && !strings.HasPrefix(got, refused) {
				t.Error("another program's output is read")
			}
		})
	}
	for _, file := range Glob(t, "testdata/*-*"+golden) {
		if _, err := os.Stat(strings.TrimSuffix(file, golden) + fixture); err != nil {
			t.Errorf("%s has no fixture", file)
		}
	}
}

// Captures compares what is read of the captures in a folder beside the checkout with testdata/captures.golden, which was
// checked against what a person reads in them. Where the folder is not there, the test is left out.
func Captures(t *testing.T, update bool, folder string, parsers Parsers) {
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("captures not found beside the checkout (%s): this test needs them and is left out", folder)
	}
	var all strings.Builder
	for _, file := range Glob(t, filepath.Join(folder, "*-*")) { // all but SOURCES.md
		if got := read(t, file, parsers); got != "" {
			all.WriteString("== " + filepath.Base(file) + "\n" + got)
		}
	}
	Compare(t, update, "testdata/captures.golden", all.String())
}

// read returns what the parsers give of a file, after checking it.
func read(t *testing.T, file string, parsers Parsers) string {
	t.Helper()
	text, got := Read(t, file), ""
	for _, parse := range parsers(strings.TrimSuffix(filepath.Base(file), ".txt"), text) {
		report, err := parse(text)
		CheckReport(t, report, err)
		got += Text(report, err)
	}
	return got
}

// Compare holds a text against a golden file, which update writes anew.
func Compare(t *testing.T, update bool, golden, got string) {
	t.Helper()
	if update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Split(string(Read(t, golden)), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-) and what is read (+) differ:\n%s", golden, diff)
	}
}

// Glob returns the files that match.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Read returns a file's text.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
