package docs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPackages: somebody who reads the design finds every package there is, and how
// long it is.
func TestPackages(t *testing.T) {
	const file = "design.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := packageLines(t)
	total := 0
	for _, n := range lines {
		total += n
	}
	lines["together"] = total
	told := map[string]int{}
	written := regexp.MustCompile("(?m)^\\| `?([a-z_/0-9]+)`? \\| ([0-9,]+) \\|").ReplaceAllStringFunc(string(text), func(row string) string {
		cells := strings.Split(row, "|")
		name := strings.Trim(cells[1], " `")
		told[name], _ = strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(cells[2]), ",", ""))
		cells[2] = " " + rounded(lines[name]) + " "
		return strings.Join(cells, "|")
	})
	if *update {
		if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	about := func(a, b int) bool { return max(a, b)-min(a, b) <= max(a, b)/5+50 }
	if diff := cmp.Diff(lines, told, cmp.Comparer(about)); diff != "" {
		t.Errorf("packages with their lines; -update rewrites the numbers (-tree +design):\n%s", diff)
	}
}

// rounded is n to tens, or to hundreds where it is large.
func rounded(n int) string {
	step := 10
	if n >= 1000 {
		step = 100
	}
	n = (n + step/2) / step * step
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// packageLines counts the lines of Go outside tests, by folder.
func packageLines(t *testing.T) map[string]int {
	t.Helper()
	lines := map[string]int{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == "dist" || strings.HasPrefix(entry.Name(), ".") && name != "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		lines[path.Dir(name)] += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestPlacesExist: "where does a new … go" names no file that was moved.
func TestPlacesExist(t *testing.T) {
	text, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## 9. Where does a new")
	if !ok {
		t.Fatal("design.md has no section of places")
	}
	found := 0
	for _, m := range regexp.MustCompile("`((?:cmd|bench|collector|dashboards|deploy|docs)/[a-z_/.0-9]+)`").FindAllStringSubmatch(table, -1) {
		found++
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Error(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d places found", found)
	}
}
