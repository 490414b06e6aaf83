package prometheus

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

const runbookURL = "https://github.com/accelerator-exporter/accelerator_exporter/blob/main/docs/runbooks/"

func TestAlertsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range readRules(t, "alerts.yml") {
		t.Run(a.Alert, func(t *testing.T) {
			if !strings.HasPrefix(a.Alert, "Accelerator") || seen[a.Alert] {
				t.Errorf("alert %q: not Accelerator…, or twice", a.Alert)
			}
			seen[a.Alert] = true
			if s := a.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) {
				t.Errorf("severity %q", s)
			}
			if got, want := slices.Sorted(maps.Keys(a.Annotations)), []string{"description", "runbook_url", "summary"}; !slices.Equal(got, want) {
				t.Errorf("annotations %q, want %q", got, want)
			}
			if d := a.Annotations["description"]; !strings.HasSuffix(d, ".") || len(d) < 40 {
				t.Errorf("description is no sentence: %q", d)
			}
			if s := a.Annotations["summary"]; s == "" || strings.HasSuffix(s, ".") || len(s) > 120 {
				t.Errorf("summary is no headline: %q", s)
			}
			if got, want := a.Annotations["runbook_url"], runbookURL+a.Alert+".md"; got != want {
				t.Errorf("runbook_url %q, want %q", got, want)
			}
		})
	}
}

// Numbers stand in thresholds.yml; an alert itself knows yes, no and "more than none".
func TestAlertsDecideByThresholds(t *testing.T) {
	for _, a := range readRules(t, "alerts.yml") {
		parser.Inspect(parse(t, a.Expr), func(n parser.Node, _ []parser.Node) error {
			if number, ok := n.(*parser.NumberLiteral); ok && number.Val != 0 && number.Val != 1 {
				t.Errorf("%s decides by the number %v; make it a threshold", a.Alert, number.Val)
			}
			return nil
		})
	}
}

// A runbook for each alert and none for others, with the same sections, and
// queries that parse.
func TestRunbooks(t *testing.T) {
	want := []string{"README.md"}
	for _, a := range readRules(t, "alerts.yml") {
		want = append(want, a.Alert+".md")
		text := read(t, filepath.Join(runbooks, a.Alert+".md"))
		if title, _, _ := strings.Cut(text, "\n"); title != "# "+a.Alert {
			t.Errorf("the title of the runbook of %s is %q", a.Alert, title)
		}
		sections := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(text, -1)
		var got []string
		for _, s := range sections {
			got = append(got, s[1])
		}
		all := []string{"What it means", "What users notice", "Look first", "Likely causes", "What to do", "When to silence", "Dashboards"}
		if !slices.Equal(got, all) {
			t.Errorf("sections of the runbook of %s: %q", a.Alert, got)
		}
		for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for query := range strings.Lines(block[1]) {
				parse(t, query)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, filepath.Base(f))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("runbooks %q, want %q", got, want)
	}
}

// What a page says of a threshold must be of one that there is.
func TestRunbooksNameThresholds(t *testing.T) {
	defined := thresholds(t)
	for _, a := range readRules(t, "alerts.yml") {
		text := read(t, filepath.Join(runbooks, a.Alert+".md"))
		for _, m := range regexp.MustCompile(`accelerator:threshold_([a-z_]+)`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(defined, m[1]) {
				t.Errorf("the runbook of %s names the threshold %s, which is not there", a.Alert, m[1])
			}
		}
	}
}

// The index has a row for each alert, with its severity and all its thresholds.
func TestRunbookIndex(t *testing.T) {
	index := read(t, filepath.Join(runbooks, "README.md"))
	recorded := map[string]rule{}
	for _, r := range readRules(t, "recording.yml") {
		recorded[r.Record] = r
	}
	rows := regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \| (.+) \| (.*) \|$`).FindAllStringSubmatch(index, -1)
	alerts := readRules(t, "alerts.yml")
	if len(rows) != len(alerts) {
		t.Fatalf("%d rows for %d alerts", len(rows), len(alerts))
	}
	for i, a := range alerts {
		row := rows[i]
		if row[1] != a.Alert || row[2] != a.Alert || row[3] != a.Labels["severity"] {
			t.Errorf("row %q is not of %s, %s", row[0], a.Alert, a.Labels["severity"])
		}
		if a.Alert == missingAlert { // which is about all
			continue
		}
		want := map[string]bool{}
		for _, s := range series(t, a.Expr) {
			used := []string{s}
			if r, ok := recorded[s]; ok {
				used = series(t, r.Expr)
			}
			for _, s := range used {
				if threshold, ok := effectiveOf(s); ok {
					want[threshold] = true
				}
			}
		}
		var got []string
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[5], -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s: thresholds of its row %q, of its rule %q", a.Alert, got, slices.Sorted(maps.Keys(want)))
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
