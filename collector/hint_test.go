package collector

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// What the page and the log advise is what docs/troubleshooting.md says.
func TestHintsAreTheDocumented(t *testing.T) {
	_, part, _ := strings.Cut(readDocument(t, "troubleshooting.md"), "## Collector failures by reason")
	part, _, _ = strings.Cut(part, "\n## ")
	plain := regexp.MustCompile("`|\\]\\([^)]*\\)|\\[").ReplaceAllString(part, "")
	documented := map[string]map[failure.Reason]string{}
	put := func(collector, reason, text string) {
		if documented[collector] == nil {
			documented[collector] = map[failure.Reason]string{}
		}
		documented[collector][failure.Reason(reason)] = text
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z_]+) \|.*\| (.*) \|$`).FindAllStringSubmatch(plain, -1) {
		if row[1] == "reason" {
			continue // the head of the table
		}
		advice := strings.Split(row[2], "; for ")
		put(vendorTool, row[1], advice[0])
		for _, own := range advice[1:] {
			collector, text, _ := strings.Cut(own, ": ")
			put(collector, row[1], text)
		}
	}
	if diff := cmp.Diff(documented, hints); diff != "" {
		t.Errorf("docs/troubleshooting.md and the hints differ (-document +hints):\n%s", diff)
	}
}

// Whatever fails, the operator reads what to do.
func TestEveryFailureHasAHint(t *testing.T) {
	for _, collector := range everyCollector() {
		for _, r := range failure.Reasons() {
			text := hint(collector, r)
			if text == "" || strings.Contains(text, "…") {
				t.Errorf("%s: the hint for %s is %q", collector, r, text)
			}
		}
	}
	for collector := range hints {
		if collector != vendorTool && !slices.Contains(everyCollector(), collector) {
			t.Errorf("hints for %q, which is no collector", collector)
		}
	}
}

// everyCollector are the names of the collectors where everything is enabled.
func everyCollector() []string {
	o := Options{NUMA: true, Containers: true, Processes: true, PodResources: "kubelet.sock", Logger: log.NewNopLogger()}
	for _, v := range Vendors() {
		o.Vendors = append(o.Vendors, VendorOptions{Vendor: v, Command: v.Tools[0]})
	}
	var names []string
	for _, s := range New(o).Statuses() {
		names = append(names, s.Collector)
	}
	return names
}

// readDocument is the text of a file of docs.
func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
