package queries

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Kind says what may be done with the values of a metric.
type Kind string

// The kinds. A histogram is a native one under its own name, and a classic one under the
// names with _bucket, _sum and _count, of which the last two are counters.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
	Untyped Kind = "untyped"
	Bucket  Kind = "bucket"
	Native  Kind = "histogram"
	// Buckets are what a rate makes of a Bucket: no counter any more, and still good
	// for a quantile.
	Buckets Kind = "rate of buckets"
)

// metric is what is known of all series of one name.
type metric struct {
	kind   Kind
	origin string // the program that exports it, "" for a rule
	labels labelSet
	values map[string]map[string]bool // of labels with a closed set of values
	// together are the values of such labels, but le, that occur in one series.
	together []map[string]string
	open     bool // other labels may be there too
}

// labelSet holds the labels that a series may have: true for one that it always
// has, with a value that is not empty.
type labelSet map[string]bool

// Origins of metrics. Those that are scraped are called as their job is.
const (
	Exporter   = "accelerator_exporter"
	Bench      = "accelbench"
	VLLM       = "vllm"
	Prometheus = "prometheus"
)

// Catalogue is every metric that a query may ask for.
type Catalogue struct {
	metrics map[string]metric
	alerts  map[string]bool
	jobs    map[string]labelSet // what their target files add to each series
}

// NewCatalogue returns a catalogue of what Prometheus itself makes of every scrape of
// the jobs.
func NewCatalogue(jobs ...Job) *Catalogue {
	c := &Catalogue{metrics: map[string]metric{}, alerts: map[string]bool{}, jobs: map[string]labelSet{}}
	all := labelSet{}
	for _, job := range jobs {
		c.jobs[job.Name] = labelSet{}
		for _, label := range job.Labels {
			c.jobs[job.Name][label], all[label] = false, false // an operator may leave it out
		}
	}
	for _, name := range []string{
		"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling", "scrape_series_added",
	} {
		c.metrics[name] = c.scraped(Gauge, Prometheus)
		maps.Copy(c.metrics[name].labels, all)
	}
	for _, name := range []string{"ALERTS", "ALERTS_FOR_STATE"} {
		c.metrics[name] = metric{
			kind: Gauge, origin: Prometheus, open: true,
			labels: labelSet{"alertname": true, "alertstate": name == "ALERTS"},
			values: map[string]map[string]bool{"alertname": c.alerts, "alertstate": setOf("pending", "firing")},
		}
	}
	return c
}

// scraped is a metric with the labels that every series of a job has.
func (c *Catalogue) scraped(kind Kind, origin string) metric {
	jobs := setOf(slices.Collect(maps.Keys(c.jobs))...)
	if jobs[origin] {
		jobs = setOf(origin)
	}
	m := metric{
		kind: kind, origin: origin, labels: labelSet{"job": true, "instance": true},
		values: map[string]map[string]bool{"job": jobs},
	}
	maps.Copy(m.labels, c.jobs[origin])
	return m
}

// closed tells whether the values of a metric's label are a closed set, all of which
// the golden exposition holds.
func closed(name, label string) bool {
	switch label {
	case "vendor", "sensor", "type", "phase", "objective", "result", "collector", "finished_reason", "le", "tool":
		return true
	case "reason":
		return name != "accelerator_health_info" // whatever the tool prints
	}
	return false
}

// Load returns the catalogue of all programs of the repository whose root is given:
// their golden expositions and the list of vLLM's metrics.
func Load(root string) (*Catalogue, error) {
	jobs, err := Jobs(filepath.Join(root, "deploy/prometheus/prometheus.yml"))
	if err != nil {
		return nil, err
	}
	c := NewCatalogue(jobs...)
	c.AddVLLM()
	for _, of := range []struct{ origin, file string }{
		{Exporter, "cmd/accelerator_exporter/testdata/metrics.golden"},
		{Bench, "bench/live/testdata/metrics.golden"},
	} {
		if err := c.AddExposition(of.origin, filepath.Join(root, of.file)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// AddExposition reads a golden file in the text format, of a program's every series.
func (c *Catalogue) AddExposition(origin, file string) error {
	families, err := readExposition(file)
	if err != nil {
		return err
	}
	for name, f := range families {
		for _, s := range seriesOf(name, f) {
			c.addSeries(origin, s)
		}
	}
	return nil
}

func readExposition(file string) (map[string]*dto.MetricFamily, error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading exposition: %w", err)
	}
	defer text.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("reading exposition %s: %w", file, err)
	}
	return families, nil
}

// series is one name of a family, with the labels of one of its series.
type series struct {
	name   string
	kind   Kind
	labels map[string]string
}

// seriesOf lists the series that a family becomes in Prometheus.
func seriesOf(name string, f *dto.MetricFamily) []series {
	kinds := map[dto.MetricType]Kind{
		dto.MetricType_GAUGE: Gauge, dto.MetricType_COUNTER: Counter, dto.MetricType_UNTYPED: Untyped, dto.MetricType_HISTOGRAM: Native,
	}
	var all []series
	for _, m := range f.GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		all = append(all, series{name, kinds[f.GetType()], labels})
		if h := m.GetHistogram(); h != nil {
			all = append(all, series{name + "_sum", Counter, labels}, series{name + "_count", Counter, labels})
			for _, b := range h.GetBucket() {
				bucket := maps.Clone(labels)
				bucket["le"] = boundaryOf(b.GetUpperBound())
				all = append(all, series{name + "_bucket", Bucket, bucket})
			}
		}
	}
	return all
}

func (c *Catalogue) addSeries(origin string, s series) {
	m, known := c.metrics[s.name]
	if !known {
		m = c.scraped(s.kind, origin)
		if strings.HasPrefix(s.name, "go_") || strings.HasPrefix(s.name, "process_") {
			m.values["job"] = setOf(slices.Collect(maps.Keys(c.jobs))...) // a library's, in many programs
		}
		for label := range s.labels {
			m.labels[label] = true
		}
	}
	one := map[string]string{}
	for label, value := range s.labels {
		if value == "" {
			m.labels[label] = false
		}
		if !closed(s.name, label) {
			continue
		}
		if label != "le" {
			one[label] = value
		}
		if value != "" {
			if m.values[label] == nil {
				m.values[label] = map[string]bool{}
			}
			m.values[label][value] = true
		}
	}
	if !slices.ContainsFunc(m.together, func(seen map[string]string) bool { return maps.Equal(seen, one) }) {
		m.together = append(m.together, one)
	}
	c.metrics[s.name] = m
}

// occurs tells whether values of closed labels fit any series together.
func (m metric) occurs(fits func(label, value string) bool) bool {
	return len(m.together) == 0 || slices.ContainsFunc(m.together, func(one map[string]string) bool {
		for label, value := range one {
			if !fits(label, value) {
				return false
			}
		}
		return true
	})
}

// ratio tells whether values are of 0 to 1, as all exported ratios are.
func (m metric) ratio(name string) bool {
	return m.origin != "" && m.kind == Gauge && strings.HasSuffix(name, "_ratio")
}

// boundaryOf is the one way in which a catalogue writes a bucket's boundary.
func boundaryOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// hasBoundary tells whether a text, in whatever way it is written, is one of them.
func hasBoundary(boundaries map[string]bool, text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && boundaries[boundaryOf(v)]
}

// Names lists the metrics of one origin.
func (c *Catalogue) Names(origin string) []string {
	var names []string
	for name, m := range c.metrics {
		if m.origin == origin {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func setOf(values ...string) map[string]bool {
	set := map[string]bool{}
	for _, v := range values {
		set[v] = true
	}
	return set
}
