// Package modeltest is what the tests of vendor packages share: golden files, and
// the checks that hold for every report whatever the output.
package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Parse is a vendor's parser of one command's output.
type Parse func(out []byte) (model.Report, error)

const (
	fixture = ".txt"
	golden  = ".golden.json"
)

// Golden reads every testdata/*.txt with the parser that its name asks for and
// compares the result with the .golden.json file beside it, which update writes
// anew. The text of a "not-…" fixture is another program's and must be refused.
// What is read goes to check too.
func Golden(t *testing.T, update bool, parserOf func(name string) Parse, check func(t *testing.T, name, text string, r model.Report)) {
	for _, file := range Glob(t, "testdata/*"+fixture) {
		name := strings.TrimSuffix(filepath.Base(file), fixture)
		t.Run(name, func(t *testing.T) {
			text := Read(t, file)
			report, err := parserOf(name)(text)
			if err == nil && strings.HasPrefix(name, "not-") {
				t.Errorf("another program's output gives %d cards", len(report.Devices))
			}
			got := render(t, report, err)
			want := strings.TrimSuffix(file, fixture) + golden
			if update {
				if err := os.WriteFile(want, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(Read(t, want)), got); diff != "" {
				t.Errorf("the golden file (-) and what is read (+) differ:\n%s", diff)
			}
			CheckReport(t, report)
			check(t, name, string(text), report)
		})
	}
}

// NoOrphans fails for a golden file without its fixture, for a file that is
// neither, and when there are fewer than least fixtures.
func NoOrphans(t *testing.T, least int) {
	t.Helper()
	for _, file := range Glob(t, "testdata/*") {
		base, isGolden := strings.CutSuffix(file, golden)
		if _, err := os.Stat(base + fixture); isGolden && err != nil {
			t.Errorf("%s has no fixture", file)
		}
		if !isGolden && !strings.HasSuffix(file, fixture) && filepath.Base(file) != "fuzz" {
			t.Errorf("%s is neither a fixture nor a golden file", file)
		}
	}
	if n := len(Glob(t, "testdata/*"+fixture)); n < least {
		t.Errorf("%d fixtures are left, want at least %d", n, least)
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

// render writes what a parser gave as JSON, without the fields that say nothing,
// and with readings by their names.
func render(t *testing.T, report model.Report, failed error) string {
	t.Helper()
	var v any = report
	if failed != nil {
		v = map[string]string{"Error": failed.Error(), "Reason": string(failure.ReasonOf(failed))}
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(prune(plain)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			x = prune(x)
			switch inner := x.(type) {
			case []any:
				if key == "Readings" {
					x = byName(inner)
				}
			case map[string]any:
				if key == "Warnings" {
					x = inner["Texts"]
				}
			}
			if v[key] = x; x == nil || x == "" {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}

// byName is a list of readings as an object, from metric and labels to value.
func byName(readings []any) any {
	all := map[string]any{}
	for _, r := range readings {
		r := r.(map[string]any)
		labels, _ := r["Labels"].([]any)
		all[strings.TrimSpace(fmt.Sprintln(append([]any{r["Metric"]}, labels...)...))] = r["Value"]
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
