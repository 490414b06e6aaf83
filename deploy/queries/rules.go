package queries

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Rule is a recording or alerting rule.
type Rule struct {
	File, Group   string
	Record, Alert string // one of them is set
	Expr          string
	Labels        map[string]string
	Annotations   map[string]string
}

// Name is what the rule makes.
func (r Rule) Name() string { return r.Record + r.Alert }

// String tells where the rule stands.
func (r Rule) String() string { return fmt.Sprintf("%s group %q rule %s", r.File, r.Group, r.Name()) }

// Uses are the labels that the alert's texts take from the result.
func (r Rule) Uses() []string {
	var uses []string
	template := regexp.MustCompile(`\$labels\.(\w+)|\.Labels\.(\w+)`)
	for _, texts := range []map[string]string{r.Labels, r.Annotations} {
		for _, text := range texts {
			for _, m := range template.FindAllStringSubmatch(text, -1) {
				uses = append(uses, m[1]+m[2])
			}
		}
	}
	slices.Sort(uses)
	return slices.Compact(uses)
}

// Rules reads all rule files of a folder, which may have none.
func Rules(dir string) ([]Rule, error) {
	return fromFiles(dir, "*.yml", "rules", readRules)
}

func readRules(file string) ([]Rule, error) {
	var f struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Record, Alert, Expr string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := readYAML(file, &f); err != nil {
		return nil, err
	}
	var all []Rule
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			all = append(all, Rule{
				File: filepath.Base(file), Group: g.Name, Record: r.Record, Alert: r.Alert,
				Expr: r.Expr, Labels: r.Labels, Annotations: r.Annotations,
			})
		}
	}
	return all, nil
}

// AddRules adds what rules record, with the labels that their expressions give, and
// the names of their alerts.
func (c *Catalogue) AddRules(rules []Rule) {
	waiting := map[string][]Rule{}
	for _, r := range rules {
		if r.Alert != "" {
			c.alerts[r.Alert] = true
			continue
		}
		waiting[r.Record] = append(waiting[r.Record], r)
	}
	// A rule may build on another of any file: each round adds those that need none
	// that still waits.
	for len(waiting) > 0 {
		progress := false
		for _, name := range slices.Sorted(maps.Keys(waiting)) {
			if needs(waiting[name], waiting) {
				continue
			}
			c.record(name, waiting[name])
			delete(waiting, name)
			progress = true
		}
		if !progress { // a circle: nothing certain can be said of its labels
			for name := range waiting {
				c.metrics[name] = metric{open: true, labels: labelSet{}, kind: Gauge}
			}
			return
		}
	}
}

// needs tells whether one of the rules asks for one of the names.
func needs(rules []Rule, names map[string][]Rule) bool {
	for _, r := range rules {
		for _, name := range asked(r.Expr) {
			if _, ok := names[name]; ok {
				return true
			}
		}
	}
	return false
}

// asked are the names of the metrics in an expression, none of one that cannot be read.
func asked(expr string) []string {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil
	}
	var names []string
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			names = append(names, v.Name)
		}
		return nil
	})
	return names
}

func (c *Catalogue) record(name string, rules []Rule) {
	var all shape
	values := map[string]map[string]bool{}
	for i, r := range rules {
		s, _ := c.infer(r.Expr) // its problems are the rule's own
		if s.labels == nil {
			s.labels = labelSet{}
		}
		for label, value := range r.Labels {
			s.labels[label] = value != "" && !strings.Contains(value, "{{")
		}
		if i == 0 {
			all = s
		} else {
			all = either(all, s)
		}
	}
	kind := all.kind
	if kind == "" {
		kind = Gauge
	}
	if _, ok := all.labels["vendor"]; ok {
		for _, m := range c.metrics {
			if m.origin == Exporter {
				values["vendor"] = merged(values["vendor"], m.values["vendor"])
			}
		}
	}
	if strings.HasPrefix(name, thresholds) {
		for _, label := range []string{"instance", "target"} {
			if _, ok := all.labels[label]; !ok {
				all.labels[label] = false
			}
		}
	}
	c.metrics[name] = metric{kind: kind, labels: all.labels, open: all.open, values: values}
}

// thresholds begin the names of the rules to which an operator may add more, for one
// instance or one target.
const thresholds = "accelerator:threshold_"

func merged(a, b map[string]bool) map[string]bool {
	if a == nil {
		a = map[string]bool{}
	}
	maps.Copy(a, b)
	return a
}

// unmade are the labels that a rule's texts use and that the rule does not make itself.
func (r Rule) unmade() []string {
	return slices.DeleteFunc(r.Uses(), func(label string) bool {
		return r.Labels[label] != "" && !strings.Contains(r.Labels[label], "{{")
	})
}
