package queries

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// RuleTest is what a file for "promtool test rules" feeds and asks for.
type RuleTest struct {
	File   string `yaml:"-"`
	Name   string
	Series []struct{ Series string }    `yaml:"input_series"`
	Alerts []struct{ Alertname string } `yaml:"alert_rule_test"`
	Exprs  []struct{ Expr string }      `yaml:"promql_expr_test"`
}

// String tells where the test stands.
func (t RuleTest) String() string { return fmt.Sprintf("%s test %q", t.File, t.Name) }

// RuleTests reads the test files of a folder, which may have none.
func RuleTests(dir string) ([]RuleTest, error) {
	return fromFiles(dir, "*.yml", "rule tests", func(file string) ([]RuleTest, error) {
		var f struct{ Tests []RuleTest }
		err := readYAML(file, &f)
		for i := range f.Tests {
			f.Tests[i].File = filepath.Base(file)
			if f.Tests[i].Name == "" {
				f.Tests[i].Name = fmt.Sprintf("number %d", i+1)
			}
		}
		return f.Tests, err
	})
}

// SeriesProblems tells what is wrong with a series that is fed to a test: it must be one that a program exports.
func (g *Golden) SeriesProblems(text string) []string {
	fed, err := parser.NewParser(parser.Options{}).ParseMetric(text)
	if err != nil {
		return []string{fmt.Sprintf("not a series: %v", err)}
	}
	e := &parser.VectorSelector{Name: fed.Get(model.MetricNameLabel)}
	fed.Range(func(l labels.Label) {
		kind := labels.MatchEqual
		if l.Name == labels.BucketLabel {
			kind = labels.MatchRegexp // in any format
			l.Value = regexp.QuoteMeta(l.Value)
		}
		if l.Value != "" {
			e.LabelMatchers = append(e.LabelMatchers, labels.MustNewMatcher(kind, l.Name, l.Value))
		}
	})
	c := &check{golden: g}
	c.selector(e)
	return c.problems
}

// HasAlert reports whether one of the rules is an alert of that name.
func (g *Golden) HasAlert(name string) bool { return g.alerts[name] }

// Markdown reads the PromQL of a document: the blocks marked promql. What stands
// between blank lines or comments is one query, or one on each line.
func Markdown(file string) ([]Query, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading document: %w", err)
	}
	var all []Query
	for _, block := range regexp.MustCompile("(?ms)^\\s*```promql\\n(.*?)^\\s*```").FindAllStringSubmatch(string(text), -1) {
		for _, paragraph := range regexp.MustCompile(`(?m)^\s*(#.*)?$\n?`).Split(block[1], -1) {
			for _, expr := range apart(paragraph) {
				all = append(all, Query{File: filepath.Base(file), Panel: expr, Expr: expr})
			}
		}
	}
	return all, nil
}

// apart takes queries on lines of their own apart, if they are no single one.
func apart(paragraph string) []string {
	paragraph = strings.TrimSpace(paragraph)
	if _, err := parser.NewParser(parser.Options{}).ParseExpr(paragraph); err == nil || paragraph == "" {
		return slices.DeleteFunc([]string{paragraph}, func(s string) bool { return s == "" })
	}
	return strings.Split(paragraph, "\n")
}
