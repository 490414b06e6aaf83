package queries

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Kind says what the values of a metric do.
type Kind string

// The kinds. A histogram is a native one under its own name, and counters under the names with _bucket, _sum and _count.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
	Native  Kind = "histogram"
)

// Jobs of the programs, as the scrape configuration calls them.
const (
	Exporter = "accelerator_exporter"
	Bench    = "accelbench"
	VLLM     = "vllm"
)

// goldenFiles are the expositions of all metrics, by job, below the root of the repository.
func goldenFiles() map[string]string {
	return map[string]string{
		Exporter: "cmd/accelerator_exporter/testdata/metrics.golden",
		Bench:    "bench/live/testdata/metrics.golden",
		VLLM:     "bench/fakevllm/testdata/metrics.golden",
	}
}

// ratio is the value of every exported ratio. Averages, extremes and quantiles of ratios are the same number, and
// nothing else is.
const ratio = 0.8203125

// Golden is a fleet, as Prometheus sees it, whose programs export their golden expositions: two hosts in a cluster, and
// one whose target file names none. What rules record is added by [Golden.AddRules].
type Golden struct {
	metrics  map[string][]promql.Series
	recorded map[string]bool
	alerts   map[string]bool
	engine   *promql.Engine
	mu       sync.Mutex
	answers  map[string]answer // of the engine, by expression
}

// Load reads the golden expositions of the repository whose root is given. Each exporter is scraped once for each pod,
// which the label pod tells; without pods, once.
func Load(root string, pods ...string) (*Golden, error) {
	jobs, err := Jobs(filepath.Join(root, "deploy/prometheus/prometheus.yml"))
	if err != nil {
		return nil, err
	}
	g := &Golden{
		metrics: map[string][]promql.Series{}, recorded: map[string]bool{}, alerts: map[string]bool{}, answers: map[string]answer{},
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 10_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return step.Milliseconds() },
			Parser:                   parser.NewParser(parser.Options{}),
		}),
	}
	scrapes := map[string][]series{}
	for job, file := range goldenFiles() {
		if scrapes[job], err = readExposition(filepath.Join(root, file)); err != nil {
			return nil, err
		}
	}
	targets := targetsOf(scrapes)
	scrapes[VLLM] = vllmSeries()
	for _, s := range scrapes[Exporter] { // a library's, in every program
		if name := s.labels.Get(labels.MetricName); strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			scrapes[Bench], scrapes[VLLM] = append(scrapes[Bench], s), append(scrapes[VLLM], s)
		}
	}
	for _, job := range jobs {
		scrapes[job.Name] = append(scrapes[job.Name], ofScrape()...)
		for i, at := range job.places(targets) {
			podsHere := pods
			if job.Name != Exporter || len(pods) == 0 {
				podsHere = []string{""}
			}
			for _, pod := range podsHere {
				for _, s := range scrapes[job.Name] {
					g.add(s.scraped(at, pod, i == 1))
				}
			}
		}
	}
	return g, nil
}

// ofScrape are the series that Prometheus itself makes of every scrape.
func ofScrape() []series {
	var all []series
	for _, name := range []string{
		"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling", "scrape_series_added",
	} {
		all = append(all, series{labels: labels.FromStrings(labels.MetricName, name), kind: Gauge, value: 1})
	}
	return all
}

// targetsOf are the targets that the programs' series name.
func targetsOf(scrapes map[string][]series) map[string][]string {
	targets := map[string][]string{}
	for job, all := range scrapes {
		for _, s := range all {
			if target := s.labels.Get("target"); target != "" && !slices.Contains(targets[job], target) {
				targets[job] = append(targets[job], target)
			}
		}
		slices.Sort(targets[job])
	}
	return targets
}

// places are the labels of a job's targets. vLLM's servers are those that the exporters' probes and the benches ask: by
// the label target, with the exporter's address or their own, or by their address alone.
func (j Job) places(targets map[string][]string) []map[string]string {
	named := func(instance, target string) map[string]string {
		at := map[string]string{"instance": instance, "job": j.Name}
		for _, label := range j.Labels {
			at[label] = "demo"
		}
		if _, ok := at["target"]; ok && target != "" {
			at["target"] = target
		}
		return at
	}
	bare := func(instance string) map[string]string {
		return map[string]string{"instance": instance, "job": j.Name}
	}
	if j.Name != VLLM {
		return []map[string]string{named("host-1:10068", ""), named("host-2:10068", ""), bare("host-3:10068")}
	}
	all := []map[string]string{named("host-1:10068", targets[Exporter][0])}
	for i, target := range targets[Exporter] {
		all = append(all, named(fmt.Sprintf("server-%d:8000", i), target), bare(target))
	}
	for _, target := range targets[Bench] {
		all = append(all, bare(target))
	}
	return all
}

// scraped is the series with what a scrape adds. Another version of a program may fill labels that are empty here, and
// one of Prometheus before 3.0 keeps the boundary of a bucket as it is sent: 1.0 for a whole number in OpenMetrics.
func (s series) scraped(at map[string]string, pod string, other bool) series {
	b := labels.NewBuilder(s.labels)
	for _, label := range s.empty {
		if other && !closed(s.labels.Get(labels.MetricName), label) {
			b.Set(label, "filled")
		}
	}
	for label, value := range at {
		b.Set(label, value)
	}
	b.Set("pod", pod)
	if le := s.labels.Get(labels.BucketLabel); other && le != "" && !strings.ContainsAny(le, ".eI") {
		b.Set(labels.BucketLabel, le+".0")
	}
	s.labels = b.Labels()
	return s
}

// closed reports whether the golden exposition holds all values of a metric's label.
func closed(name, label string) bool {
	switch label {
	case "job", "vendor", "sensor", "type", "phase", "objective", "result", "collector", "finished_reason", "tool", "alertname", "alertstate":
		return true
	case labels.BucketLabel:
		return !strings.HasPrefix(name, "vllm:")
	case "reason":
		return name != "accelerator_health_info" // whatever the tool prints
	}
	return false
}

// readExposition reads the series of a file in the text format, as what Prometheus makes of them.
func readExposition(file string) ([]series, error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading exposition: %w", err)
	}
	defer text.Close()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("reading exposition %s: %w", file, err)
	}
	var all []series
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].GetMetric() {
			b := labels.NewBuilder(labels.EmptyLabels())
			var empty []string
			for _, l := range m.GetLabel() {
				b.Set(l.GetName(), l.GetValue())
				if l.GetValue() == "" {
					empty = append(empty, l.GetName())
				}
			}
			for _, s := range seriesOf(name, families[name].GetType(), b.Labels(), bounds(m)) {
				s.empty = empty
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func bounds(m *dto.Metric) []string {
	var all []string
	for _, b := range m.GetHistogram().GetBucket() {
		all = append(all, strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
	}
	return all
}

// seriesOf are what one metric of a family becomes in Prometheus.
func seriesOf(name string, of dto.MetricType, l labels.Labels, bounds []string) []series {
	as := func(suffix string, kind Kind, value float64, more ...string) series {
		b := labels.NewBuilder(l).Set(labels.MetricName, name+suffix)
		if len(more) == 2 {
			b.Set(more[0], more[1])
		}
		return series{labels: b.Labels(), kind: kind, value: value}
	}
	switch {
	case of == dto.MetricType_COUNTER:
		return []series{as("", Counter, 1)}
	case of == dto.MetricType_HISTOGRAM:
		n := float64(len(bounds))
		all := []series{as("", Native, n), as("_sum", Counter, n), as("_count", Counter, n)}
		for i, bound := range bounds {
			all = append(all, as("_bucket", Counter, float64(i+1), labels.BucketLabel, bound))
		}
		return all
	case of == dto.MetricType_GAUGE && strings.HasSuffix(name, "_ratio"):
		return []series{as("", Gauge, ratio)}
	}
	return []series{as("", Gauge, 1)}
}

// isNative reports whether a metric is a native histogram.
func (g *Golden) isNative(name string) bool {
	return slices.ContainsFunc(g.metrics[name], func(s promql.Series) bool { return len(s.Histograms) > 0 })
}
