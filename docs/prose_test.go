package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReasonsExplained fails when a reason of a failure has no row that says what
// happened and what to do, or a row is about a reason that is not there.
func TestReasonsExplained(t *testing.T) {
	families := newReference(t)
	text := read(t, "troubleshooting.md")
	for heading, metric := range map[string]string{
		"collector-failures-by-reason": "accelerator_collector_failures_total",
		"probe-failures-by-reason":     "accelerator_probe_failures_total",
	} {
		part, _ := section(text, heading)
		var explained []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(part, -1) {
			explained = append(explained, row[1])
		}
		slices.Sort(explained)
		want := strings.Split(strings.Trim(families.values(t, metric, "reason"), "`.\n"), "`, `")
		if diff := cmp.Diff(want, explained); diff != "" {
			t.Errorf("%s - %s +\n%s", metric, heading, diff)
		}
	}
}

// TestAlertNeeds fails when an alert compares a metric that some vendors or
// versions do not print, and the index does not say so.
func TestAlertNeeds(t *testing.T) {
	notByAll := map[string]bool{}
	for _, s := range newReference(t).sections {
		for _, m := range s.Metrics {
			if regexp.MustCompile(`(?:^|; )(?:Ascend|MetaX|(?:mx|npu)-smi before)`).MatchString(m.Absent) {
				notByAll[m.Name] = true
			}
		}
	}
	recorded := map[string]string{}
	for _, r := range rulesIn(t, "recording.yml") {
		recorded[r.Record] = r.Expr
	}
	told, _ := section(read(t, runbooks+"/README.md"), "what-an-alert-needs")
	found := 0
	for _, r := range rulesIn(t, "alerts.yml") {
		names := seriesName.FindAllString(r.Expr, -1)
		for _, name := range slices.Clone(names) {
			names = append(names, seriesName.FindAllString(recorded[name], -1)...)
		}
		for _, name := range names {
			if !notByAll[name] {
				continue
			}
			found++
			if row := regexp.MustCompile(`(?m)^\| \[` + r.Alert + `\].*$`).FindString(told); !strings.Contains(row, "`"+name+"`") {
				t.Errorf("What an alert needs: %s has no row with %s", r.Alert, name)
			}
		}
	}
	if found == 0 {
		t.Error("no alert needs what only some tools print")
	}
}
