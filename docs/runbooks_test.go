package docs_test

import (
	"maps"
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

// aboutAll is the alert that names every threshold, as it watches over them.
const aboutAll = "AcceleratorThresholdsMissing"

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

// entry is what the index says of an alert.
type entry struct {
	Severity   string
	Thresholds []string
}

var (
	headings = regexp.MustCompile(`(?m)^##? .*$`)
	indexRow = regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \|.*\| ([^|]*) \|$`)
)

// entries are those of the rules, by alert.
func entries(t *testing.T) map[string]entry {
	t.Helper()
	recorded := map[string]string{}
	for _, r := range rulesIn(t, "recording.yml") {
		recorded[r.Record] = r.Expr
	}
	all := map[string]entry{}
	for _, r := range rulesIn(t, "alerts.yml") {
		e := entry{Severity: r.Labels["severity"]}
		if r.Alert != aboutAll {
			e.Thresholds = thresholdsOf(r.Expr, recorded)
		}
		all[r.Alert] = e
	}
	return all
}

// entryOf reads an alert's row: its severity, and the cell with the thresholds.
func entryOf(severity, thresholds string) entry {
	e := entry{Severity: severity}
	for _, span := range codeSpan.FindAllString(thresholds, -1) {
		e.Thresholds = append(e.Thresholds, strings.Trim(span, "`"))
	}
	slices.Sort(e.Thresholds)
	return e
}

// TestRunbookIndexAgrees fails when the index and the rules differ in an alert,
// its place, its severity, or the thresholds that it compares with.
func TestRunbookIndexAgrees(t *testing.T) {
	got := map[string]entry{}
	var rows []string
	for _, m := range indexRow.FindAllStringSubmatch(read(t, runbooks+"/README.md"), -1) {
		if m[1] != m[2] {
			t.Errorf("%s links to %s.md", m[1], m[2])
		}
		if _, twice := got[m[1]]; twice {
			t.Errorf("%s has two rows", m[1])
		}
		rows = append(rows, m[1])
		got[m[1]] = entryOf(m[3], m[4])
	}
	if diff := cmp.Diff(entries(t), got); diff != "" {
		t.Errorf("rules - docs/runbooks/README.md +\n%s", diff)
	}
	if diff := cmp.Diff(alertNames(t), rows); diff != "" {
		t.Errorf("order of alerts.yml - docs/runbooks/README.md +\n%s", diff)
	}
}

// TestRunbooksNameThresholds fails when a page speaks of a threshold that is not there.
func TestRunbooksNameThresholds(t *testing.T) {
	defined := map[string]bool{}
	for _, r := range rulesIn(t, "thresholds.yml") {
		defined[r.Record] = true
	}
	named := regexp.MustCompile(`accelerator:threshold_[a-z_]+`)
	found := 0
	for _, alert := range alertNames(t) {
		for _, name := range named.FindAllString(read(t, filepath.Join(runbooks, alert+".md")), -1) {
			if found++; !defined[name] {
				t.Errorf("%s.md names %s, which is no threshold", alert, name)
			}
		}
	}
	if found == 0 {
		t.Error("no page names a threshold")
	}
}

var (
	seriesName = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	effective  = regexp.MustCompile(`^(?:instance|target):threshold_(\w+):effective$`)
)

// thresholdsOf lists what an expression compares with, itself or in a recording
// rule that it names.
func thresholdsOf(expr string, recorded map[string]string) []string {
	names := seriesName.FindAllString(expr, -1)
	for _, name := range slices.Clone(names) {
		names = append(names, seriesName.FindAllString(recorded[name], -1)...)
	}
	found := map[string]bool{}
	for _, name := range names {
		if m := effective.FindStringSubmatch(name); m != nil {
			found[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

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
