package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const (
	runbooks = root + "/docs/runbooks"
	ruleDir  = root + "/deploy/prometheus/rules"
)

// rule is a rule of Prometheus, as far as runbooks speak of it.
type rule struct {
	Record, Alert, Expr string
	Labels              map[string]string
}

func rulesIn(t *testing.T, file string) []rule {
	t.Helper()
	var parsed struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(ruleDir, file))), &parsed); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var all []rule
	for _, g := range parsed.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no rules", file)
	}
	return all
}

// alertNames are those of the alerts, in the order of their file.
func alertNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range rulesIn(t, "alerts.yml") {
		names = append(names, r.Alert)
	}
	return names
}

// TestRunbookForEachAlert fails when an alert has no page, or a page no alert, or
// not the sections that all pages have.
func TestRunbookForEachAlert(t *testing.T) {
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "README" {
			continue
		}
		pages = append(pages, name)
		want := []string{
			"# " + name, "## What it means", "## What users notice", "## Look first", "## Likely causes", "## What to do", "## When to silence", "## Dashboards",
		}
		if diff := cmp.Diff(want, headings.FindAllString(fence.ReplaceAllString(read(t, file), ""), -1)); diff != "" {
			t.Errorf("headings of %s.md (-want +got):\n%s", name, diff)
		}
	}
	slices.Sort(pages)
	if diff := cmp.Diff(slices.Sorted(slices.Values(alertNames(t))), pages); diff != "" {
		t.Errorf("alerts.yml - docs/runbooks +\n%s", diff)
	}
}

var (
	headings = regexp.MustCompile(`(?m)^##? .*$`)
	indexRow = regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \|.*\|$`)
)

// TestRunbookIndexAgrees fails when the index and the rules differ in an alert, its place or its severity.
func TestRunbookIndexAgrees(t *testing.T) {
	var want, got []string
	for _, r := range rulesIn(t, "alerts.yml") {
		want = append(want, r.Alert+" "+r.Labels["severity"])
	}
	for _, m := range indexRow.FindAllStringSubmatch(read(t, runbooks+"/README.md"), -1) {
		if m[1] != m[2] {
			t.Errorf("%s links to %s.md", m[1], m[2])
		}
		got = append(got, m[1]+" "+m[3])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules - docs/runbooks/README.md +\n%s", diff)
	}
}

var seriesName = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)

// TestRunbooksHelpAtOnce fails when a page has nothing to copy under Look first,
// or names another alert without a link to it.
func TestRunbooksHelpAtOnce(t *testing.T) {
	named := regexp.MustCompile(`\bAccelerator[A-Z]\w+`)
	links := regexp.MustCompile(`\[[^\]\n]*\]\([^()\n]*\)`)
	alerts := alertNames(t)
	for _, alert := range alerts {
		page := read(t, filepath.Join(runbooks, alert+".md"))
		first, _ := section(page, "look-first")
		for _, language := range []string{"promql", "sh"} {
			if !strings.Contains(first, "```"+language+"\n") {
				t.Errorf("%s.md has no %s block under Look first", alert, language)
			}
		}
		prose := links.ReplaceAllString(codeSpan.ReplaceAllString(fence.ReplaceAllString(page, ""), ""), "")
		for _, name := range named.FindAllString(prose, -1) {
			if name != alert && slices.Contains(alerts, name) {
				t.Errorf("%s.md names %s without a link", alert, name)
			}
		}
	}
}
