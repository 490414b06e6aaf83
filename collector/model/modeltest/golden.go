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

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
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
// A golden file without its fixture is an error.
func Golden(t *testing.T, update bool, parserOf func(name string) Parse) {
	compareAll(t, update, "testdata", "testdata", parserOf)
}

// Captures does the same for the captures in a folder beside the checkout, whose golden files lie in testdata/captures. Where
// the folder is not there, the test is left out.
func Captures(t *testing.T, update bool, folder string, parserOf func(name string) Parse) {
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("captures not found beside the checkout (%s): this test needs them and is left out", folder)
	}
	compareAll(t, update, folder, "testdata/captures", parserOf)
}

func compareAll(t *testing.T, update bool, texts, goldens string, parserOf func(name string) Parse) {
	for _, file := range Glob(t, filepath.Join(texts, "*"+fixture)) {
		name := strings.TrimSuffix(filepath.Base(file), fixture)
		t.Run(name, func(t *testing.T) {
			report, err := parserOf(name)(Read(t, file))
			if err == nil && strings.HasPrefix(name, "not-") {
				t.Errorf("another program's output gives %d cards", len(report.Devices))
			}
			got := render(t, report, err)
			want := filepath.Join(goldens, name+golden)
			if update {
				if err := os.WriteFile(want, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(Read(t, want)), got); diff != "" {
				t.Errorf("the golden file (-) and what is read (+) differ:\n%s", diff)
			}
			CheckReport(t, report)
		})
	}
	for _, file := range Glob(t, filepath.Join(goldens, "*"+golden)) {
		if _, err := os.Stat(filepath.Join(texts, strings.TrimSuffix(filepath.Base(file), golden)+fixture)); err != nil {
			t.Errorf("%s has no fixture", file)
		}
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
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var view map[string]any
	if err := json.Unmarshal(text, &view); err != nil {
		t.Fatal(err)
	}
	view["Warnings"] = report.Warnings.Texts
	if failed != nil {
		view = map[string]any{"Error": failed.Error(), "Reason": string(failure.ReasonOf(failed))}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(prune(view)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// prune takes empty values out of decoded JSON.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if readings, ok := x.([]any); ok && key == "Readings" {
				x = byName(readings)
			}
			if x = prune(x); x == nil || x == "" {
				delete(v, key)
			} else {
				v[key] = x
			}
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	case []string:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// byName is decoded readings as an object, from metric and labels to value.
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
