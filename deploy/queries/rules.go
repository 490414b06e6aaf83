package queries

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Rule is a recording or alerting rule.
type Rule struct {
	File, Group         string `yaml:"-"`
	Record, Alert       string // one of them is set
	Expr                string
	Labels, Annotations map[string]string
}

// String tells where the rule stands.
func (r Rule) String() string {
	return fmt.Sprintf("%s group %q rule %s", r.File, r.Group, r.Record+r.Alert)
}

// Rules reads all rule files of a folder, which may have none.
func Rules(dir string) ([]Rule, error) {
	return fromFiles(dir, "*.yml", "rules", func(file string) ([]Rule, error) {
		var f struct {
			Groups []struct {
				Name  string
				Rules []Rule
			}
		}
		err := readYAML(file, &f)
		var all []Rule
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				r.File, r.Group = filepath.Base(file), g.Name
				all = append(all, r)
			}
		}
		return all, err
	})
}

// AddRules adds what rules record, and a series of ALERTS for all that each alert may be about. A rule that has problems
// adds nothing.
func (g *Golden) AddRules(rules []Rule) {
	waiting := map[string][]Rule{}
	for _, r := range rules {
		if r.Record != "" {
			waiting[r.Record] = append(waiting[r.Record], r)
		}
	}
	exceptions := g.exceptionsTo(rules)
	// A rule may build on another of any file: each round adds those that need none that still waits.
	for progress := true; progress; {
		progress = false
		for _, name := range slices.Sorted(maps.Keys(waiting)) {
			if slices.ContainsFunc(waiting[name], func(r Rule) bool { return r.needs(waiting) }) {
				continue
			}
			for _, r := range waiting[name] {
				g.record(r, name)
				for _, labels := range exceptions[name] {
					g.record(r.with(labels), name)
				}
			}
			delete(waiting, name)
			progress = true
		}
	}
	for _, r := range rules {
		if r.Alert != "" {
			for _, state := range []string{"pending", "firing"} {
				g.record(r.with(map[string]string{"alertname": r.Alert, "alertstate": state}), "ALERTS")
			}
			g.alerts[r.Alert] = true
		}
	}
}

// needs reports whether the rule asks for one of the names.
func (r Rule) needs(names map[string][]Rule) bool {
	return slices.ContainsFunc(asked(r.Expr), func(name string) bool { return names[name] != nil })
}

// asked are the names of the metrics in an expression, none of one that cannot be read.
func asked(expr string) []string {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range selectors(e) {
		names = append(names, s.Name)
	}
	return names
}

// record adds what a rule makes, under a name.
func (g *Golden) record(r Rule, name string) {
	result, _ := g.evaluate(r.Expr) // its problems are the rule's own
	for _, s := range result {
		b := labels.NewBuilder(s.Metric).Set(model.MetricNameLabel, name)
		for label, value := range r.Labels {
			b.Set(label, value)
		}
		g.add(series{b.Labels(), Gauge, s.F})
		g.recorded[name] = true
	}
	clear(g.answers)
}

// with is the rule with more labels.
func (r Rule) with(more map[string]string) Rule {
	all := maps.Clone(more)
	maps.Copy(all, r.Labels)
	r.Labels = all
	return r
}

// exceptionsTo are the labels, by threshold, with which other rules look for exceptions that an operator may add: for
// one instance, one target, or both.
func (g *Golden) exceptionsTo(rules []Rule) map[string][]map[string]string {
	probes := last(g.metrics["accelerator_probe_success"])
	of := map[string]string{"instance": values(probes, "instance")[0], "target": values(probes, "target")[0]}
	found := map[string][]map[string]string{}
	for _, r := range rules {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		if err != nil {
			continue
		}
		for _, s := range selectors(e) {
			exception := map[string]string{}
			for _, m := range s.LabelMatchers {
				if m.Type == labels.MatchNotEqual && m.Value == "" && of[m.Name] != "" {
					exception[m.Name] = of[m.Name]
				}
			}
			if strings.HasPrefix(s.Name, "accelerator:threshold_") && len(exception) > 0 {
				found[s.Name] = append(found[s.Name], exception)
			}
		}
	}
	return found
}
