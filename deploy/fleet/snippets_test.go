package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// snippet is a block of YAML in the document, with the line of text before it.
type snippet struct {
	before, text string
}

func snippets(t *testing.T) []snippet {
	t.Helper()
	text := programtest.Read(t, document)
	var found []snippet
	for _, match := range regexp.MustCompile("(?s)([^\n]+)\n\n```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, snippet{before: match[1], text: match[2]})
	}
	if n := strings.Count(text, "```yaml"); n != len(found) || n == 0 {
		t.Fatalf("%d of %d blocks of YAML in %s found", len(found), n, document)
	}
	return found
}

// TestSnippets wants every configuration of the document to be one.
func TestSnippets(t *testing.T) {
	for _, promtool := range programtest.FindAll(t, "bin/tools/promtool", "promtool") {
		old := !strings.Contains(promtool, "bin/tools") // Prometheus 2 does not know native histograms
		for i, s := range snippets(t) {
			if old && strings.Contains(s.text, "native_histograms") {
				continue
			}
			file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.yml", i))
			if err := os.WriteFile(file, []byte(s.text), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"check", "config", "--syntax-only", file}
			if strings.Contains(s.text, "\ngroups:") || strings.HasPrefix(s.text, "groups:") {
				args = []string{"check", "rules", file}
			}
			if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
				t.Errorf("%s of:\n%s\n%s", promtool, s.text, out)
			}
		}
	}
}

// checkDrops applies the document's relabelling to a real exposition and counts.
func checkDrops(t *testing.T, vendor string, families []*dto.MetricFamily) {
	claim := regexp.MustCompile(`(\d+) of (\d+) series on the MetaX host, (\d+) of (\d+) on the Ascend host`)
	claims := 0
	for _, s := range snippets(t) {
		match := claim.FindStringSubmatch(s.before)
		if match == nil {
			continue
		}
		claims++
		if vendor == "ascend" {
			match = match[2:]
		}
		var file struct {
			Jobs []struct {
				Relabel []*relabel.Config `yaml:"metric_relabel_configs"`
			} `yaml:"scrape_configs"`
		}
		if err := yaml.Unmarshal([]byte(s.text), &file); err != nil {
			t.Fatal(err)
		}
		configs := file.Jobs[0].Relabel
		for _, c := range configs {
			if err := c.Validate(model.UTF8Validation); err != nil {
				t.Fatal(err)
			}
		}
		dropped, all := 0, 0
		for _, series := range expand(families) {
			all++
			if !relabel.ProcessBuilder(labels.NewBuilder(series), configs...) {
				dropped++
			}
		}
		if got, want := fmt.Sprint(dropped, " of ", all), match[1]+" of "+match[2]; got != want {
			t.Errorf("%s: drops %s series, the document says %s:\n%s", vendor, got, want, s.text)
		}
	}
	if claims == 0 {
		t.Errorf("no snippet in %s says what it drops", document)
	}
}

// expand makes the series that Prometheus makes of families.
func expand(families []*dto.MetricFamily) []labels.Labels {
	var series []labels.Labels
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			add := func(suffix string, more ...string) {
				b := labels.NewBuilder(labels.FromStrings(more...))
				for _, label := range metric.GetLabel() {
					b.Set(label.GetName(), label.GetValue())
				}
				series = append(series, b.Set(model.MetricNameLabel, family.GetName()+suffix).Labels())
			}
			switch {
			case metric.Histogram != nil:
				for _, bucket := range metric.GetHistogram().GetBucket() {
					if bucket.GetUpperBound() < 1e300 {
						add("_bucket", "le", strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64))
					}
				}
				add("_bucket", "le", "+Inf")
				add("_sum")
				add("_count")
			case metric.Summary != nil:
				for _, quantile := range metric.GetSummary().GetQuantile() {
					add("", "quantile", strconv.FormatFloat(quantile.GetQuantile(), 'g', -1, 64))
				}
				add("_sum")
				add("_count")
			default:
				add("")
			}
		}
	}
	return series
}
