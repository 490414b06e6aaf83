package queries

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"
)

// values are those of a label in the golden expositions.
type values map[string]bool

// Metrics is what Prometheus holds when it scrapes this project's programs and vLLM: the labels of each metric by its
// name, and their values.
type Metrics map[string]map[string]values

// expositions are the golden files of all metrics.
var expositions = []string{
	"cmd/accelerator_exporter/testdata/metrics.golden",
	"collector/testdata/scrape-hygon.golden.txt",
	"collector/testdata/scrape-nvidia.golden.txt",
	"collector/testdata/scrape-iluvatar.golden.txt",
	"collector/testdata/scrape-kunlunxin.golden.txt",
	"collector/testdata/scrape-moorethreads.golden.txt",
	"collector/testdata/scrape-enflame.golden.txt",
	"cmd/accelbench/testdata/metrics.golden",
	"bench/fakevllm/testdata/metrics.golden",
	"deploy/queries/testdata/vllm.prom",
}

// scrapeLabels are those that the scrape configurations of deploy add to each series. The exported ones are a
// workload's where honor_labels is not set.
var scrapeLabels = []string{
	"instance", "job", "cluster", "target", "namespace", "pod", "container", "node",
	"exported_namespace", "exported_pod", "exported_container",
}

// closedLabels have all their values in the golden expositions.
var closedLabels = []string{"vendor", "sensor", "type", "phase", "objective", "result", "collector", "finished_reason", "tool"}

// Load reads the golden expositions of the repository at root, and adds the metrics of a scrape.
func Load(root string) (Metrics, error) {
	m := Metrics{}
	for _, name := range []string{"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_series_added", "scrape_samples_post_metric_relabeling"} {
		m.add(name, labels.EmptyLabels())
	}
	for _, file := range expositions {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("reading exposition: %w", err)
		}
		if err := m.addExposition(text); err != nil {
			return nil, fmt.Errorf("reading exposition %s: %w", file, err)
		}
	}
	return m, nil
}

func (m Metrics) add(name string, l labels.Labels) {
	if m[name] == nil {
		m[name] = map[string]values{}
		for _, label := range scrapeLabels {
			m[name][label] = values{}
		}
	}
	l.Range(func(l labels.Label) {
		if m[name][l.Name] == nil {
			m[name][l.Name] = values{}
		}
		m[name][l.Name][l.Value] = true
	})
}

func (m Metrics) addExposition(text []byte) error {
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry == textparse.EntrySeries {
			var l labels.Labels
			p.Labels(&l)
			name := l.Get(model.MetricNameLabel)
			m.add(name, l)
			if native, ok := strings.CutSuffix(name, "_bucket"); ok && strings.HasPrefix(name, "accelerator_") {
				m.add(native, l)
			}
		}
	}
}

// AddRules adds what rules record, ALERTS and ALERTS_FOR_STATE. A recorded series may have every label of the series that
// its rule selects.
func (m Metrics) AddRules(rules []Rule) {
	m.add("ALERTS", labels.FromStrings("alertname", "", "alertstate", ""))
	m.add("ALERTS_FOR_STATE", labels.FromStrings("alertname", ""))
	for added := true; added; { // a rule may build on one that stands below it
		added = false
		for _, r := range rules {
			names := []string{r.Record}
			if r.Alert != "" {
				names = []string{"ALERTS", "ALERTS_FOR_STATE"}
			}
			for _, name := range names {
				m.add(name, labels.FromMap(r.Labels))
				for label := range m.labelsOf(r.parsed) {
					if m[name][label] == nil {
						m[name][label] = values{}
						added = true
					}
				}
			}
		}
	}
}

func parse(expr string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(expr)
}

// labelsOf returns the labels that the series of an expression may have.
func (m Metrics) labelsOf(expr parser.Node) map[string]bool {
	all := map[string]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			for _, matcher := range n.LabelMatchers {
				if matcher.Name != model.MetricNameLabel {
					continue
				}
				for name := range strings.SplitSeq(matcher.Value, "|") { // of a variable that has two
					for label := range m[name] {
						all[label] = true
					}
				}
			}
		case *parser.Call:
			if n.Func.Name == "label_replace" || n.Func.Name == "label_join" {
				all[n.Args[1].(*parser.StringLiteral).Val] = true
			}
		case *parser.AggregateExpr:
			if literal, ok := n.Param.(*parser.StringLiteral); ok { // count_values
				all[literal.Val] = true
			}
		}
		return nil
	})
	return all
}

// Problems returns what is wrong with an expression: it cannot be parsed, or names a metric, a label or a label's value
// that no program exports. The labels are those that a legend or a text takes from the result.
func (m Metrics) Problems(text string, resultLabels ...string) []string {
	expr, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	problems := map[string]bool{}
	known := func(node parser.Node, names ...string) {
		has := m.labelsOf(node)
		for _, name := range names {
			if !has[name] {
				problems[fmt.Sprintf("no series of %s has the label %q", node, name)] = true
			}
		}
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			for _, p := range m.selectorProblems(n) {
				problems[p] = true
			}
		case *parser.AggregateExpr:
			known(n, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				known(n, n.VectorMatching.MatchingLabels...)
				known(n, n.VectorMatching.Include...)
			}
		}
		return nil
	})
	known(expr, resultLabels...)
	return slices.Sorted(maps.Keys(problems))
}

func (m Metrics) selectorProblems(s *parser.VectorSelector) []string {
	if s.Name == "" || s.Name == "ALERTS" || s.Name == "ALERTS_FOR_STATE" {
		return nil // matchers of names: a dashboard's own choice
	}
	exported, ok := m[s.Name]
	if !ok {
		return []string{"no program exports " + s.Name}
	}
	var problems []string
	for _, matcher := range s.LabelMatchers {
		known, ok := exported[matcher.Name]
		if !ok && matcher.Name != model.MetricNameLabel {
			problems = append(problems, fmt.Sprintf("%s has no label %q", s.Name, matcher.Name))
		}
		if !slices.Contains(closedLabels, matcher.Name) || len(known) == 0 {
			continue
		}
		for _, value := range wantedValues(matcher) {
			if !known[value] {
				problems = append(problems, fmt.Sprintf("%s has no %s=%q", s.Name, matcher.Name, value))
			}
		}
	}
	return problems
}

// wantedValues are the values that a matcher names, none where it excludes them or is a pattern.
func wantedValues(m *labels.Matcher) []string {
	if m.Type == labels.MatchEqual && m.Value != "" {
		return []string{m.Value}
	}
	if m.Type == labels.MatchRegexp {
		return m.SetMatches()
	}
	return nil
}
