package collector

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// What the page and the log advise is what docs/troubleshooting.md says.
func TestHintsAreTheDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "## Collector failures by reason")
	part, _, _ = strings.Cut(part, "\n## ")
	plain := regexp.MustCompile("`|\\]\\([^)]*\\)|\\[").ReplaceAllString(part, "")
	for _, r := range failure.Reasons() {
		want := hints()[r]
		if numa := numaHints()[r]; numa != "" {
			want += "; for numa: " + numa
		}
		if containers := containersHints()[r]; containers != "" {
			want += "; for containers: " + containers
		}
		if kubelet := kubeletHints()[r]; kubelet != "" {
			want += "; for allocations: " + kubelet
		}
		row := regexp.MustCompile(`(?m)^\| ` + string(r) + ` \|.*\| (.*) \|$`).FindStringSubmatch(plain)
		if row == nil || row[1] != want {
			t.Errorf("%s: docs/troubleshooting.md says %q, the hint is %q", r, row, want)
		}
	}
	if got := hint("metax", failure.NotFound); got != "--collector.metax.command with the full path" {
		t.Errorf("metax: %s", got)
	}
	if got := hint("allocations", failure.Busy); got != "who else asks this kubelet so often?" {
		t.Errorf("allocations: %s", got)
	}
	if got := hint("numa", failure.NotFound); got != "--path.sysfs" {
		t.Errorf("numa: %s", got)
	}
	if got := hint("containers", failure.NotFound); got != "--path.procfs" {
		t.Errorf("containers: %s", got)
	}
}
