// Package expositiontest holds a program's metrics against a golden file in
// Prometheus' text format, and other texts too. The files of metrics are what
// dashboards, rules and the metrics reference are checked against.
package expositiontest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Families reads the text format.
func Families(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Gather reads what a collector has now.
func Gather(t testing.TB, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*dto.MetricFamily, len(list))
	for _, f := range list {
		all[f.GetName()] = f
	}
	return all
}

// Text writes the text format, by name.
func Text(t testing.TB, all map[string]*dto.MetricFamily) string {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, err := expfmt.MetricFamilyToText(&b, all[name]); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Empty takes the observations out of a histogram and leaves its buckets.
func Empty(h *dto.Histogram) {
	h.SampleCount, h.SampleSum = new(uint64), new(float64)
	for _, b := range h.GetBucket() {
		b.CumulativeCount = new(uint64)
	}
}

// Compare holds metrics against the golden file, and writes that anew on update.
func Compare(t testing.TB, golden string, all map[string]*dto.MetricFamily, update bool) {
	t.Helper()
	Golden(t, golden, Text(t, all), update)
}

// Golden holds a text against its golden file, and writes that anew on update.
func Golden(t testing.TB, golden, got string, update bool) {
	t.Helper()
	if update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, golden), got); diff != "" {
		t.Errorf("not as in %s (-want +got); go test -update rewrites it:\n%s", golden, diff)
	}
}

func read(t testing.TB, golden string) string {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Complete holds that the golden file has every metric that c describes, with all
// labels, and no other, so that a new metric cannot be left out. Those that skip
// names are not looked at. It returns how many were.
func Complete(t testing.TB, golden string, c prometheus.Collector, skip func(name string) bool) int {
	t.Helper()
	shown := map[string][]string{}
	for name, f := range Families(t, read(t, golden)) {
		shown[name] = []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			shown[name] = append(shown[name], l.GetName())
		}
		slices.Sort(shown[name])
	}
	descs := make(chan *prometheus.Desc)
	go func() { c.Describe(descs); close(descs) }()
	described := map[string]bool{}
	for desc := range descs {
		name, labels := nameAndLabels(t, desc)
		if skip(name) {
			continue
		}
		described[name] = true
		if diff := cmp.Diff(labels, shown[name]); diff != "" {
			t.Errorf("labels of %s in %s (-described +shown):\n%s", name, golden, diff)
		}
	}
	for name := range shown {
		if !described[name] {
			t.Errorf("%s is in %s, and nothing describes it", name, golden)
		}
	}
	return len(described)
}

// nameAndLabels reads a description, which tells both in its text alone.
func nameAndLabels(t testing.TB, desc *prometheus.Desc) (name string, labels []string) {
	t.Helper()
	m := regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: .*, constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`).FindStringSubmatch(desc.String())
	if m == nil {
		t.Fatalf("cannot read %s", desc)
	}
	labels = []string{}
	for _, label := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(m[2], -1) {
		labels = append(labels, label[1])
	}
	if m[3] != "" {
		labels = append(labels, strings.Split(m[3], ",")...)
	}
	slices.Sort(labels)
	return m[1], labels
}
