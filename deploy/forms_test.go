package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestVendorsInEveryForm: each vendor that the exporter knows is in each way to run it, in the alerts on heat, and in the
// documents that say what it needs.
func TestVendorsInEveryForm(t *testing.T) {
	help := programtest.Output(t, ".", nil, filepath.Join(programtest.Build(t), "accelerator_exporter"), "--help")
	known := regexp.MustCompile(`--collector\.(\w+)\.command=(?:"?)([\w-]+)`).FindAllStringSubmatch(help, -1)
	if len(known) < 2 {
		t.Fatalf("the exporter knows %d vendors\n%s", len(known), help)
	}
	for _, v := range known {
		vendor, tool := v[1], v[2]
		for file, want := range map[string]string{
			"deploy/compose/compose." + vendor + ".yml":          "--collector." + vendor,
			"deploy/container/README.md":                         "--collector." + vendor,
			"deploy/kubernetes/accelerator-exporter/values.yaml": "\n" + vendor + ":",
			"deploy/systemd/accelerator_exporter.default":        vendor,
			"deploy/prometheus/rules/alerts.yml":                 `accelerator_temperature_celsius{vendor="` + vendor + `",sensor="chip"}`,
			"deploy/collect.sh":                                  tool,
			"docs/vendors.md":                                    "`" + tool + "`",
			"docs/security.md":                                   "`" + tool + "`",
			"README.md":                                          "`" + tool + "`",
			"README.zh-CN.md":                                    "`" + tool + "`",
		} {
			text, err := os.ReadFile(filepath.Join(programtest.Root(t), file))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s of %s is not in %s (%v)", want, vendor, file, err)
			}
		}
	}
}
