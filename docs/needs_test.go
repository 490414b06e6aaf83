package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

const (
	needsEnglish = "what-an-alert-needs"
	needsChinese = "### 哪些告警有前提条件"
)

// fromDetails are the metrics that not every card, tool and level of detail tells.
func fromDetails() map[string]bool {
	metrics := map[string]bool{}
	for _, s := range collector.Metrics() {
		if slices.Contains([]string{"details", "errors", "links", "network", "optics"}, s.Name) {
			for _, m := range s.Metrics {
				metrics["accelerator_"+m.Name] = true
			}
		}
	}
	return metrics
}

// alertsOnDetails are the alerts that read such a metric, themselves or by what is recorded.
func alertsOnDetails(t *testing.T) []string {
	t.Helper()
	recorded, details := map[string]string{}, fromDetails()
	for _, r := range rulesIn(t, "recording.yml") {
		recorded[r.Record] = r.Expr
	}
	var reads func(expr string) bool
	reads = func(expr string) bool {
		return slices.ContainsFunc(seriesName.FindAllString(expr, -1), func(name string) bool { return details[name] || reads(recorded[name]) })
	}
	var all []string
	for _, r := range rulesIn(t, "alerts.yml") {
		if reads(r.Expr) {
			all = append(all, r.Alert)
		}
	}
	return all
}

// TestAlertsSayWhatTheyNeed fails when an alert that not every card can fire is not said to
// be one, or when the Chinese README says it of others than the runbooks.
func TestAlertsSayWhatTheyNeed(t *testing.T) {
	english, ok := section(read(t, runbooks+"/README.md"), needsEnglish)
	if !ok {
		t.Fatalf("docs/runbooks/README.md has no #%s", needsEnglish)
	}
	_, chinese, ok := strings.Cut(read(t, chineseReadme), "\n"+needsChinese+"\n")
	if !ok {
		t.Fatalf("README.zh-CN.md has no %s", needsChinese)
	}
	named := map[string]bool{}
	for row := range strings.Lines(english) {
		if cells := strings.Split(row, "|"); len(cells) > 1 {
			for _, m := range regexp.MustCompile(`\[(Accelerator\w+)\]`).FindAllStringSubmatch(cells[1], -1) {
				named[m[1]] = true
			}
		}
	}
	onDetails := alertsOnDetails(t)
	if len(onDetails) < 5 {
		t.Errorf("only %v read a detail", onDetails)
	}
	for _, alert := range onDetails {
		if !named[alert] {
			t.Errorf("docs/runbooks/README.md#%s lacks %s", needsEnglish, alert)
		}
	}
	got := map[string]bool{}
	for _, m := range regexp.MustCompile("`(Accelerator\\w+)`").FindAllStringSubmatch(upToHeading(chinese), -1) {
		got[m[1]] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("docs/runbooks/README.md#%s - README.zh-CN.md +\n%s", needsEnglish, diff)
	}
}
