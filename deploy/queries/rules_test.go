package queries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// Rule is a recording or alerting rule.
type Rule struct {
	File, Group         string `yaml:"-"`
	Record, Alert       string // one of them is set
	Expr                string
	Labels, Annotations map[string]string

	parsed parser.Expr
}

// String says where the rule stands.
func (r Rule) String() string {
	return fmt.Sprintf("%s group %q rule %s", r.File, r.Group, r.Record+r.Alert)
}

// Rules reads the rule files that match a pattern.
func Rules(pattern string) (all []Rule, err error) {
	var parseErr error
	err = eachYAML(pattern, func(file string, f *struct {
		Groups []struct {
			Name  string
			Rules []Rule
		}
	},
	) {
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				r.File, r.Group = file, g.Name
				if r.parsed, err = parse(r.Expr); err != nil {
					parseErr = errors.Join(parseErr, fmt.Errorf("parsing %s: %w", r, err))
				}
				all = append(all, r)
			}
		}
	})
	return all, errors.Join(err, parseErr)
}

// TextLabels are the labels that the texts of an alert take from its result.
func (r Rule) TextLabels() []string {
	var names []string
	for _, text := range r.Annotations {
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
			if _, own := r.Labels[m[1]]; !own {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RuleTest is what a file for "promtool test rules" feeds and asks for.
type RuleTest struct {
	File   string `yaml:"-"`
	Name   string
	Series []struct{ Series string }    `yaml:"input_series"`
	Alerts []struct{ Alertname string } `yaml:"alert_rule_test"`
	Exprs  []struct{ Expr string }      `yaml:"promql_expr_test"`
}

// RuleTests reads the test files that match a pattern.
func RuleTests(pattern string) ([]RuleTest, error) {
	var all []RuleTest
	err := eachYAML(pattern, func(file string, f *struct{ Tests []RuleTest }) {
		for _, t := range f.Tests {
			t.File = file
			all = append(all, t)
		}
	})
	return all, err
}

// eachYAML decodes the files that match a pattern, of which there must be one.
func eachYAML[T any](pattern string, use func(file string, decoded *T)) error {
	files, err := filepath.Glob(pattern)
	if err == nil && len(files) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("listing %s: %w", pattern, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		decoded := new(T)
		if err := yaml.Unmarshal(text, decoded); err != nil {
			return fmt.Errorf("parsing %s: %w", file, err)
		}
		use(filepath.Base(file), decoded)
	}
	return nil
}

// Markdown reads the PromQL of a document: the blocks marked promql. What stands between blank lines or comments is one
// query, or one on each line.
func Markdown(file string) ([]Query, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading document: %w", err)
	}
	var all []Query
	for _, block := range regexp.MustCompile("(?ms)^\\s*```promql\\n(.*?)^\\s*```").FindAllStringSubmatch(string(text), -1) {
		for _, paragraph := range regexp.MustCompile(`(?m)^\s*(#.*)?$\n?`).Split(block[1], -1) {
			for _, expr := range splitQueries(strings.TrimSpace(paragraph)) {
				all = append(all, Query{File: filepath.Base(file), Panel: expr, Expr: expr})
			}
		}
	}
	return all, nil
}

func splitQueries(paragraph string) []string {
	if paragraph == "" {
		return nil
	}
	if _, err := parse(paragraph); err == nil {
		return []string{paragraph}
	}
	return strings.Split(paragraph, "\n")
}
