package queries

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
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
	targets := map[string][]string{} // that the programs' series name
	for job, file := range goldenFiles() {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("reading exposition: %w", err)
		}
		if scrapes[job], err = readExposition(text); err != nil {
			return nil, fmt.Errorf("reading exposition %s: %w", file, err)
		}
		for _, s := range scrapes[job] {
			if target := s.labels.Get("target"); target != "" && !slices.Contains(targets[job], target) {
				targets[job] = append(targets[job], target)
			}
		}
	}
	if scrapes[VLLM], err = readExposition(vllmExposition()); err != nil {
		return nil, fmt.Errorf("reading the stated metrics of vLLM: %w", err)
	}
	scrapes[VLLM] = slices.DeleteFunc(scrapes[VLLM], func(s series) bool { return s.kind == Native })
	for _, s := range scrapes[Exporter] { // a library's, in every program
		if strings.HasPrefix(s.name(), "go_") || strings.HasPrefix(s.name(), "process_") {
			scrapes[Bench], scrapes[VLLM] = append(scrapes[Bench], s), append(scrapes[VLLM], s)
		}
	}
	for _, job := range jobs {
		for _, name := range []string{
			"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling", "scrape_series_added",
		} {
			scrapes[job.Name] = append(scrapes[job.Name], series{labels.FromStrings(model.MetricNameLabel, name), Gauge, 1})
		}
		scrapedBy := []string{""}
		if job.Name == Exporter && len(pods) > 0 {
			scrapedBy = pods
		}
		for i, at := range job.places(targets) {
			for _, pod := range scrapedBy {
				for _, s := range scrapes[job.Name] {
					g.add(s.scraped(at, pod, i == 1))
				}
			}
		}
	}
	g.addRenamed(scrapes[Exporter])
	return g, nil
}

// addRenamed adds what a scrape without honor_labels makes of a workload's labels where the exporter is in a pod itself:
// that pod's stand there, as at build_info, and ours are renamed.
func (g *Golden) addRenamed(all []series) {
	at := map[string]string{"job": Exporter, "instance": "host-4:10068", "namespace": "monitoring", "pod": "exporter", "container": "exporter"}
	for _, s := range all {
		if !s.labels.Has("pod") && s.name() != "accelerator_exporter_build_info" {
			continue
		}
		b := labels.NewBuilder(s.scraped(at, at["pod"], true).labels)
		for label := range at {
			if was := s.labels.Get(label); was != "" {
				b.Set("exported_"+label, was)
			}
		}
		g.add(series{b.Labels(), s.kind, s.value})
	}
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
// one of Prometheus before 3.0 keeps 1 as the boundary of a bucket where this has 1.0.
func (s series) scraped(at map[string]string, pod string, other bool) series {
	b := labels.NewBuilder(s.labels)
	s.labels.Range(func(l labels.Label) {
		switch {
		case l.Value == "" && other && !closed(s.name(), l.Name):
			b.Set(l.Name, "filled")
		case l.Value == "":
			b.Del(l.Name)
		case l.Name == labels.BucketLabel && other:
			b.Set(l.Name, strings.TrimSuffix(l.Value, ".0"))
		}
	})
	for label, value := range at {
		b.Set(label, value)
	}
	if !s.labels.Has("pod") { // honor_labels: the pod of a workload stays, and so does that there is none
		b.Set("pod", pod)
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

// readExposition reads the series of the text format, as what Prometheus makes of them.
func readExposition(text []byte) ([]series, error) {
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	var all []series
	var of model.MetricType
	for {
		switch entry, err := p.Next(); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case entry == textparse.EntryType:
			_, of = p.Type()
		case entry == textparse.EntrySeries:
			var l labels.Labels
			p.Labels(&l)
			all = append(all, seriesOf(l, of)...)
		}
	}
}

// seriesOf are what a line of an exposition becomes: the count of a histogram stands for the native one too.
func seriesOf(l labels.Labels, of model.MetricType) []series {
	const fastest = 1e6 // of all the buckets of a histogram
	name := l.Get(model.MetricNameLabel)
	le, err := strconv.ParseFloat(l.Get(labels.BucketLabel), 64)
	count, isCount := strings.CutSuffix(name, "_count")
	switch {
	case of == model.MetricTypeCounter:
		return []series{{l, Counter, 1}}
	case of == model.MetricTypeHistogram && err == nil:
		return []series{{l, Counter, 1 + min(le, fastest-1)}}
	case of == model.MetricTypeHistogram && isCount:
		return []series{{l, Counter, fastest}, {labels.NewBuilder(l).Set(model.MetricNameLabel, count).Labels(), Native, fastest}}
	case of == model.MetricTypeHistogram:
		return []series{{l, Counter, fastest}}
	case of == model.MetricTypeGauge && strings.HasSuffix(name, "_ratio"):
		return []series{{l, Gauge, ratio}}
	}
	return []series{{l, Gauge, 1}}
}

// isNative reports whether a metric is a native histogram.
func (g *Golden) isNative(name string) bool {
	return slices.ContainsFunc(g.metrics[name], func(s promql.Series) bool { return len(s.Histograms) > 0 })
}
