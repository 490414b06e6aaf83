package docs_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the generated parts of metrics.md anew")

// metricLine is what metrics.yml, or the collector's table, tells of one metric.
type metricLine struct {
	Name    string `yaml:"name"`
	Unit    string `yaml:"unit"`
	Values  string `yaml:"values"`
	Source  string `yaml:"source"`
	Absent  string `yaml:"absent"`
	Counted string `yaml:"counted"`
}

// metricSection is one table.
type metricSection struct {
	Section string       `yaml:"section"`
	Labels  []string     `yaml:"labels"` // of all its metrics, told in the text above
	Metrics []metricLine `yaml:"metrics"`
}

// TestMetricsReference makes the tables of metrics.md from the programs' golden
// expositions, whose own tests prove that they have every metric.
func TestMetricsReference(t *testing.T) {
	text, err := os.ReadFile("metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	r := newReference(t)
	r.checkNames(t)
	got := r.fill(t, string(text))
	if *update {
		if err := os.WriteFile("metrics.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("metrics.md is not what the programs export; `make docs` rewrites it (-file +programs):\n%s", diff)
	}
}

// reference is all that the generated parts are made of.
type reference struct {
	families map[string]*dto.MetricFamily
	vllm     map[string]*dto.MetricFamily
	sections map[string]metricSection
}

func newReference(t *testing.T) *reference {
	t.Helper()
	golden := func(path string) map[string]*dto.MetricFamily {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return expositiontest.Families(t, string(text))
	}
	r := &reference{
		families: golden("../cmd/accelerator_exporter/testdata/metrics.golden"),
		vllm:     golden("../bench/fakevllm/testdata/metrics.golden"),
		sections: map[string]metricSection{},
	}
	vendors, err := filepath.Glob("../collector/testdata/scrape-*.golden.txt") // the machine has none of their cards
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range vendors {
		for name, f := range golden(path) {
			r.families[name].Metric = append(r.families[name].GetMetric(), f.GetMetric()...)
		}
	}
	maps.Copy(r.families, golden("../cmd/accelbench/testdata/metrics.golden"))
	maps.DeleteFunc(r.families, func(name string, _ *dto.MetricFamily) bool {
		return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_")
	})
	file, err := os.Open("metrics.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var sections []metricSection
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&sections); err != nil {
		t.Fatal(err)
	}
	for _, s := range append(sections, collectorSections()...) {
		r.sections[s.Section] = s
	}
	return r
}

// collectorSections are what the collector's own table tells.
func collectorSections() []metricSection {
	var sections []metricSection
	for _, from := range collector.Metrics() {
		s := metricSection{Section: from.Name, Labels: from.Labels}
		for _, m := range from.Metrics {
			s.Metrics = append(s.Metrics, metricLine{
				Name: "accelerator_" + m.Name, Unit: m.Unit, Values: m.Values, Source: m.Source, Absent: m.Absent,
			})
		}
		sections = append(sections, s)
	}
	return sections
}

// checkNames holds that metrics.yml has each metric once and no other.
func (r *reference) checkNames(t *testing.T) {
	t.Helper()
	var named []string
	for _, s := range r.sections {
		for _, m := range s.Metrics {
			named = append(named, m.Name)
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(r.families)), named); diff != "" {
		t.Fatalf("metrics.yml does not have each metric once (-programs +file):\n%s", diff)
	}
}

// fill replaces what stands between the markers.
func (r *reference) fill(t *testing.T, text string) string {
	t.Helper()
	generated := regexp.MustCompile(`(?s)(<!-- (metrics|values|buckets)(?:: ([^>]*))? -->)\n(.*?)(<!-- end -->)`)
	filled := map[string]bool{}
	text = generated.ReplaceAllStringFunc(text, func(found string) string {
		m := generated.FindStringSubmatch(found)
		kind, of := m[2], strings.Fields(m[3])
		filled[kind+" "+m[3]] = true
		var body string
		switch {
		case kind == "buckets":
			body = r.buckets(t)
		case kind == "metrics" && len(of) == 1:
			body = r.table(t, of[0])
		case kind == "values" && len(of) == 2:
			body = r.values(t, of[0], of[1])
		default:
			t.Fatalf("cannot read the marker %s", m[1])
		}
		return m[1] + "\n" + body + m[5]
	})
	for name := range r.sections {
		if !filled["metrics "+name] {
			t.Errorf("metrics.md has no place for the section %s", name)
		}
	}
	if !filled["buckets "] {
		t.Error("metrics.md has no place for the buckets")
	}
	return text
}

// table is one section's. A column that no metric fills is left out, and a metric of a
// load test that is the probe's is only named.
func (r *reference) table(t *testing.T, section string) string {
	t.Helper()
	s, ok := r.sections[section]
	if !ok {
		t.Fatalf("metrics.yml has no section %s", section)
	}
	labels := "labels"
	if len(s.Labels) > 0 {
		labels = "other labels"
	}
	rows := [][]string{{"metric", "unit", labels, "meaning", "source", "absent", "counted, or absent"}}
	var probes []string
	for _, m := range s.Metrics {
		if r.isProbes(m.Name) {
			probes = append(probes, "`"+m.Name+"`")
			continue
		}
		f := r.families[m.Name]
		rows = append(rows, []string{
			"`" + m.Name + "`", unitOf(t, f, m), labelsOf(f, s.Labels), meaning(f), m.Source, m.Absent, m.Counted,
		})
	}
	text := sourceOfAll(rows) + markdownTable(rows)
	if len(probes) > 0 {
		text += "\nAs the probe's: " + strings.Join(probes, ", ") + ".\n"
	}
	return text
}

// sourceOfAll takes the source out of the rows of a table where all have the same.
func sourceOfAll(rows [][]string) string {
	column := slices.Index(rows[0], "source")
	source := rows[1][column]
	if source == "" || len(rows) == 2 || slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != source }) {
		return ""
	}
	for _, row := range rows[1:] {
		row[column] = ""
	}
	return "All from " + source + ".\n\n"
}

// isProbes tells whether a load test's metric means the same as the probe's of that name.
func (r *reference) isProbes(name string) bool {
	probes := strings.Replace(name, "_bench_", "_probe_", 1)
	return probes != name && r.families[probes].GetHelp() == r.families[name].GetHelp()
}

// markdownTable leaves out a column without values. The first row is the head.
func markdownTable(rows [][]string) string {
	var kept []int
	for column := range rows[0] {
		if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "" }) {
			kept = append(kept, column)
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for _, column := range kept {
			fmt.Fprintf(&b, "| %s", row[column])
			if row[column] != "" {
				b.WriteByte(' ')
			}
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(kept)) + "|\n")
		}
	}
	return b.String()
}

// meaning is the help, without what the column of units says too.
func meaning(f *dto.MetricFamily) string {
	help := strings.TrimSuffix(f.GetHelp(), ".")
	return strings.TrimSuffix(strings.TrimSuffix(help, ", constant 1"), ", 0 to 1")
}

// labelsOf lists the labels beside those of the section, in the order of the alphabet.
func labelsOf(f *dto.MetricFamily, known []string) string {
	var labels []string
	for _, l := range f.GetMetric()[0].GetLabel() {
		if !slices.Contains(known, l.GetName()) {
			labels = append(labels, "`"+l.GetName()+"`")
		}
	}
	return strings.Join(labels, ", ")
}

// unitOf is the unit or the few values, and the type where the name does not tell it.
func unitOf(t *testing.T, f *dto.MetricFamily, m metricLine) string {
	t.Helper()
	unit := unitOfName(t, m)
	expected := dto.MetricType_GAUGE
	if strings.HasSuffix(m.Name, "_total") {
		expected = dto.MetricType_COUNTER
	}
	if f.GetType() != expected {
		return strings.ToLower(f.GetType().String()) + ", " + unit
	}
	return unit
}

// unitOfName tells the unit by the name's ending, unless metrics.yml does.
func unitOfName(t *testing.T, m metricLine) string {
	t.Helper()
	switch {
	case m.Values != "":
		return m.Values
	case m.Unit != "":
		return m.Unit
	}
	for _, known := range []struct{ ending, unit string }{
		{"_timestamp_seconds", "Unix time"},
		{"_seconds", "s"},
		{"_bytes", "B"},
		{"_bytes_total", "B"},
		{"_bytes_per_second", "B/s"},
		{"_watts", "W"},
		{"_volts", "V"},
		{"_amperes", "A"},
		{"_hertz", "Hz"},
		{"_decibels", "dB"},
		{"_celsius", "°C"},
		{"_ratio", "0 to 1"},
		{"_info", "1"},
	} {
		if strings.HasSuffix(m.Name, known.ending) {
			return known.unit
		}
	}
	t.Errorf("metrics.yml: %s needs a unit", m.Name)
	return ""
}

// values are those of a label with a closed set.
func (r *reference) values(t *testing.T, name, label string) string {
	t.Helper()
	found := map[string]bool{}
	for _, m := range r.families[name].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				found[l.GetValue()] = true
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no values of %s of %s", label, name)
	}
	return "`" + strings.Join(slices.Sorted(maps.Keys(found)), "`, `") + "`.\n"
}

// buckets lists the boundaries of the probe's histograms, those of vLLM's own in bold.
func (r *reference) buckets(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, h := range []struct{ title, name, vllm string }{
		{"first token", "time_to_first_token_seconds", "vllm:time_to_first_token_seconds"},
		{"per output token and between tokens", "inter_token_latency_seconds", "vllm:inter_token_latency_seconds"},
		{"whole answer", "request_duration_seconds", "vllm:e2e_request_latency_seconds"},
		{"client lag", "client_lag_seconds", ""},
		{"start delay", "start_delay_seconds", ""},
	} {
		own := boundaries(r.families["accelerator_probe_"+h.name])
		bench := boundaries(r.families["accelerator_bench_"+h.name])
		for _, v := range own {
			if !slices.Contains(bench, v) {
				t.Errorf("%s of the load test lacks the probe's boundary %s", h.name, v)
			}
		}
		for i := range max(0, len(bench)-1) {
			low, _ := strconv.ParseFloat(bench[i], 64)
			high, _ := strconv.ParseFloat(bench[i+1], 64)
			if h.vllm != "" && high > 1.3*low {
				t.Errorf("%s of the load test has no boundary between %v and %v", h.name, low, high)
			}
		}
		servers := boundaries(r.vllm[h.vllm])
		for _, v := range servers {
			if !slices.Contains(own, v) {
				t.Errorf("%s lacks the boundary %s of %s", h.name, v, h.vllm)
			}
		}
		if len(own) == 0 || h.vllm != "" && len(servers) == 0 {
			t.Errorf("%s has no buckets", h.name)
		}
		if h.vllm == "" {
			continue
		}
		for i, v := range own {
			if slices.Contains(servers, v) {
				own[i] = "**" + v + "**"
			}
		}
		fmt.Fprintf(&b, "- %s: %s\n", h.title, strings.Join(own, ", "))
	}
	return b.String()
}

// boundaries are a histogram's, but for the last, which is infinite.
func boundaries(f *dto.MetricFamily) []string {
	var all []string
	if len(f.GetMetric()) == 0 {
		return nil
	}
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		all = append(all, strconv.FormatFloat(b.GetUpperBound(), 'f', -1, 64))
	}
	return all[:len(all)-1]
}
